"""A run's page: its graph, its time, what it did and why that was allowed, its chain, and cards as people saw them."""

import html
import re
from pathlib import Path
from typing import Any

import pytest

from receipts.canonical import digest
from runtime.services.signals import Signal, SignalService
from tests.bench import TENANT, Bench
from tests.browser import chromium
from tests.databases import superuser
from tests.integration.acts_stage import Opener, asked, edit
from tests.integration.console_stage import ConsoleStage, open_console
from tests.integration.packs_stage import Case
from tests.integration.policies_stage import filing

TREE = """
steps:
  - id: which
    switch:
      cases:
        - when: "'<script>alert(1)</script>' == 'x'"
          do: [{ id: never, verb: look, params: { what: never } }]
      else: [{ id: taken, verb: look, params: { what: taken } }]
  - id: each
    needs: [which]
    repeat:
      for_each: "${['a', 'b', 'c']}"
      do: [{ id: seen, verb: look, params: { what: "${item}" } }]
  - id: child
    needs: [each]
    run: { runbook: bench-note, trigger: { incident: I1, text: below, api_token: t }, timeout: P1D }
"""
HOSTILE = "<script>alert(1)</script>\u202eevil" + "x" * 10_000


def words(shown: str) -> str:
    """Return what a page says, without its markup."""
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", shown)))


def section(shown: str, name: str) -> str:
    found = re.search(rf'<section aria-labelledby="{name}">.*?</section>', shown, re.DOTALL)
    assert found, name
    return found[0]


async def test_the_graph_has_branches_rounds_and_children_with_their_states(opened: Opener, tmp_path: Path) -> None:
    async with opened(TREE) as bench, open_console(bench, tmp_path / "evidence") as console:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        shown = (await (await console.signed_in("ann")).get(f"/runs/{run_id}")).text
        graph = section(shown, "graph")
        for said in ("else", "never not reached", "taken succeeded", "each succeeded, 3 rounds", "seen 3 of 3 done"):
            assert said in words(graph), said
        (child,) = await bench.rows("SELECT run_id FROM runs WHERE parent ->> 'run_id' = %s", run_id)
        assert f'<a href="/console/runs/{child["run_id"]}">' in graph
        assert "<script" not in shown
        assert "if &#39;&lt;script&gt;alert(1)&lt;/script&gt;&#39; == &#39;x&#39;" in graph


async def test_the_graph_of_an_onboarding_has_all_its_nodes(case: Case, tmp_path: Path) -> None:
    run_id, _ = await case.to_filing()
    async with open_console(case.bench, tmp_path / "evidence") as console:
        shown = (await (await console.signed_in("ann")).get(f"/runs/{run_id}")).text
    graph = section(shown, "graph")
    for said in ("filing waits for people", "subsidiaries succeeded, 3 rounds", "look 3 of 3 done", "over pending"):
        assert said in words(graph), said
    assert len(shown.encode()) < 100_000
    async with case.bench.engine.pool.connection() as conn:
        version = (await case.bench.run(run_id))["definition_version"]
        definition = await case.bench.engine.definitions.get(conn, "kyc-onboarding", version)
    drawn = set(re.findall(r"<title>([a-z_.]+): ", graph))
    assert drawn == {address for address, node in definition.steps.items() if node.kind != "branch"}


async def test_the_time_tells_how_long_people_were_waited_for_and_who_did_what(console: ConsoleStage) -> None:
    ann = await console.signed_in("ann")
    run_id, approval = await filing(console.bench)
    console.bench.clock.move(hours=3)
    assert (await console.bench.click("ann", approval)).counted
    assert (await console.bench.click("ben", approval)).counted
    await console.bench.settle()
    time = words(section((await ann.get(f"/runs/{run_id}")).text, "when"))
    for said in ("waited for 3 h in all", "file waited for people 3 h", "compliance were asked", "Ben approved"):
        assert said in time, said
    assert "the action was done" in time


async def test_an_effect_tells_before_and_after_and_why_it_was_allowed(console: ConsoleStage, dsn: str) -> None:
    ann = await console.signed_in("ann")
    run_id, approval = await filing(console.bench)
    effects = section((await ann.get(f"/runs/{run_id}")).text, "effects")
    assert "Policy: needs people" in words(effects)
    with superuser(dsn) as conn:
        conn.execute("""UPDATE effects SET before = '{"text": "what stood there"}' WHERE purpose = 'step'""")
    for person in ("ann", "ben"):
        assert (await console.bench.click(person, approval)).counted
    await console.bench.settle()
    effects = section((await ann.get(f"/runs/{run_id}")).text, "effects")
    (receipt,) = await console.bench.rows(
        "SELECT receipt_id FROM receipts WHERE run_id = %s AND outcome = 'success' AND document ->> 'step' = 'file'",
        run_id,
    )
    for said in ("the last of 2 answers", "approvals.fulfilled", receipt["receipt_id"], "Policy: allowed", "report"):
        assert said in words(effects), said


async def test_an_effect_that_people_edited_tells_what_it_became(editing: Bench, tmp_path: Path) -> None:
    first = await asked(editing)
    assert await edit(editing, "ann", first, {"copies": 3}) is None
    await editing.settle()
    (run,) = await editing.rows("SELECT run_id FROM runs")
    async with open_console(editing, tmp_path / "evidence") as console:
        shown = (await (await console.signed_in("ann")).get(f"/runs/{run['run_id']}")).text
    effects = section(shown, "effects")
    assert "copies 3" in words(effects).replace(" none", "")
    assert "Do not approve" not in effects


async def test_what_is_secret_is_on_no_page_of_a_run(console: ConsoleStage) -> None:
    bench = console.bench
    trigger = {"incident": "I1", "text": "a", "api_token": "tok-hunter-two"}
    run_id = (await bench.start("bench.note", trigger)).run_id
    await bench.settle()
    ann = await console.signed_in("ann")
    shown = (await ann.get(f"/runs/{run_id}")).text
    assert "[redacted" in section(shown, "effects")
    assert "tok-hunter-two" not in shown
    assert "tok-hunter-two" not in (await ann.get(f"/runs/{run_id}/trail")).text


async def test_every_record_of_the_chain_is_counted_and_can_be_reached(
    console: ConsoleStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.services.console_pages.LEAVES", 7)
    ann = await console.signed_in("ann")
    run_id, approval = await filing(console.bench)
    assert (await console.bench.click("ann", approval)).counted
    chain = await console.bench.chain(run_id)
    shown = (await ann.get(f"/runs/{run_id}")).text
    assert (
        f"{len(chain)} records of this run&#39;s chain" in shown or f"{len(chain)} records of this run's chain" in shown
    )
    assert f"The other {len(chain) - 7}" in shown
    found: dict[int, str] = {}
    after = 0
    while after < len(chain):
        page = (await ann.get(f"/runs/{run_id}/trail?after={after}")).text
        leaves = re.findall(r'<span class="mono soft">(\d+)</span> <strong>([a-z_.]+)</strong>', page)
        assert 0 < len(leaves) <= 7
        found |= {int(seq): event for seq, event in leaves}
        assert all(leaf.hash in page for leaf in chain[after : after + 7])
        after = max(found)
        assert ("Later records" in page) == (after < len(chain))
    assert found == {leaf.seq: leaf.event for leaf in chain}
    assert "no record behind" in (await ann.get(f"/runs/{run_id}/trail?after={len(chain)}")).text


@pytest.mark.parametrize("after", ["-1", "x", "9999999999", "1.5"])
async def test_a_place_in_the_chain_that_cannot_be_read_is_refused(console: ConsoleStage, after: str) -> None:
    run_id, _ = await filing(console.bench)
    ann = await console.signed_in("ann")
    assert (await ann.get(f"/runs/{run_id}/trail?after={after}")).status == 422


async def test_a_card_is_shown_as_its_voters_saw_it(console: ConsoleStage) -> None:
    ann = await console.signed_in("ann")
    run_id, approval = await filing(console.bench, "case 9")
    path = f"/runs/{run_id}/cards/{approval}"
    assert "No card has been shown yet" in (await ann.get(path)).text
    await console.bench.show(approval)
    assert (await console.bench.click("ben", approval)).counted
    await console.bench.show(approval)
    (row,) = await console.bench.rows("SELECT cards FROM approvals WHERE approval_id = %s", approval)
    said = words((await ann.get(path)).text)
    assert [digest(card) in said for card in row["cards"]] == [True, True]
    assert "Card 1 of 2, shown 2026-01-05 09:00:00 UTC . Seen by Ben when they voted" in said
    assert "Approval needed" in said
    assert said.count("Seen by") == 1
    assert "approved Ben 2026-01-05 09:00 UTC seen and checked" in said
    assert path in (await ann.get(f"/runs/{run_id}")).text


async def test_a_card_that_the_chain_does_not_have_is_told(console: ConsoleStage, dsn: str) -> None:
    run_id, approval = await filing(console.bench)
    await console.bench.show(approval)
    with superuser(dsn) as conn:
        conn.execute("SET session_replication_role = replica")
        forged = '[{"blocks": [{"type": "section", "text": {"type": "plain_text", "text": "<b>forged</b>"}},'
        forged += (
            ' {"type": "rich_text", "elements": ["unknown to us"]}, {"type": "table", "rows": [[{"text": "cell"}]]}]}]'
        )
        conn.execute("UPDATE approvals SET cards = %s", (forged,))
    shown = (await (await console.signed_in("ann")).get(f"/runs/{run_id}/cards/{approval}")).text
    for said in ("has no card of this digest", "&lt;b&gt;forged&lt;/b&gt;", "unknown to us", "cell"):
        assert said in shown, said


async def test_a_card_of_another_run_or_tenant_is_not_there(console: ConsoleStage, dsn: str) -> None:
    ann = await console.signed_in("ann")
    (one, own), (other, _) = [await filing(console.bench, ref) for ref in ("1", "2")]
    assert (await ann.get(f"/runs/{one}/cards/{own}")).status == 200
    for path in (f"/runs/{other}/cards/{own}", f"/runs/{one}/cards/apr_nothing", f"/runs/run_nothing/cards/{own}"):
        assert (await ann.get(path)).status == 404, path
    with superuser(dsn) as conn:
        conn.execute("SET session_replication_role = replica")
        conn.execute("UPDATE runs SET tenant = 'other' WHERE run_id = %s", (one,))
    for path in (f"/runs/{one}/cards/{own}", f"/runs/{one}/trail"):
        assert (await ann.get(path)).status == 404, path


async def test_of_many_steps_those_that_did_not_end_well_are_listed_first(
    opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.services.console_pages.STEPS", 2)
    text = "\nsteps:\n" + "".join(f"  - {{ id: s{n}, verb: look, params: {{ what: a }} }}\n" for n in range(3))
    text += "  - { id: asks, verb: file, needs: [s2], params: { company: A, text: b } }\n"
    async with opened(text) as bench, open_console(bench, tmp_path / "evidence") as console:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        steps = section((await (await console.signed_in("ann")).get(f"/runs/{run_id}")).text, "steps")
    assert re.findall(r'data-label="Step">(\w+)', steps) == ["s0", "asks"]
    assert "And 2 more, which" in steps


async def test_of_many_rounds_all_are_counted_and_few_are_listed(
    opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.services.console_pages.STEPS", 1)
    monkeypatch.setattr("console.app.STEPS", 1)
    text = """
steps:
  - id: each
    repeat:
      for_each: "${['a', 'b', 'c']}"
      do:
        - id: child
          run: { runbook: bench-note, trigger: { incident: I1, text: below, api_token: t }, timeout: P1D }
"""
    async with opened(text) as bench, open_console(bench, tmp_path / "evidence") as console:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        shown = (await (await console.signed_in("ann")).get(f"/runs/{run_id}")).text
    for said in ("child 3 of 3 done", "each succeeded, 3 rounds"):
        assert said in words(section(shown, "graph")), said
    steps, children = section(shown, "steps"), section(shown, "children")
    assert (steps.count("<tr>"), "And 6 more, which" in steps) == (2, True)
    assert (children.count("<li>"), "The first 1 are shown" in children) == (1, True)


async def test_signals_are_told_with_what_became_of_them(console: ConsoleStage) -> None:
    bench = console.bench
    run_id = (await bench.start("bench.signal", {"case": "1"})).run_id
    await bench.settle()
    for ref, data in (("1", {"closed_by": HOSTILE}), ("2", {"closed_by": 3, "password": "hunter-two"})):
        signal = Signal(ref=ref, run_id=run_id, reference=None, name="closed", data=data)
        await SignalService(bench.engine, TENANT).send("portal-bot", ["bench.signal"], signal)
    shown = (await (await console.signed_in("ann")).get(f"/runs/{run_id}")).text
    signals = section(shown, "signals")
    assert "portal-bot" in signals
    assert "hunter-two" not in shown
    assert "more characters" in signals
    assert "<script" not in shown
    assert "\u202e" not in signals
    assert len(signals) < 8_000


async def test_hostile_texts_are_data_everywhere_on_a_run(console: ConsoleStage) -> None:
    bench = console.bench
    run_id = (await bench.start("bench.file", {"company": "A", "text": HOSTILE}, "<script>ref</script>")).run_id
    await bench.settle()
    approval = await bench.approval_id()
    await bench.show(approval)
    assert (await bench.click("ben", approval, "reject", reason=HOSTILE)).counted
    await bench.settle()
    ann = await console.signed_in("ann")
    for path in (f"/runs/{run_id}", f"/runs/{run_id}/trail", f"/runs/{run_id}/cards/{approval}"):
        shown = await ann.get(path)
        assert (shown.status, "<script" in shown.text) == (200, False), path
        assert len(shown.data) < 100_000
    assert "more characters" in section((await ann.get(f"/runs/{run_id}")).text, "effects")


_CROWDED = """
() => [...document.querySelectorAll('.node')].filter(node => {
  const box = node.querySelector('rect').getBBox();
  return [...node.querySelectorAll('text')].some(text => {
    const own = text.getBBox();
    return own.x < box.x || own.x + own.width > box.x + box.width || own.y + own.height > box.y + box.height;
  });
}).map(node => node.textContent.trim())
"""


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
async def test_the_pictures_of_an_onboarding_fit_in_a_browser(
    case: Case, tmp_path: Path, width: int, scheme: Any
) -> None:
    run_id, approval = await case.to_filing()
    await case.bench.show(approval)
    async with open_console(case.bench, tmp_path / "evidence") as console, chromium() as browser:
        page = await browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
        wrong: list[str] = []
        page.on("console", lambda said: wrong.append(said.text))
        cookies: Any = (await console.signed_in("ann")).cookies
        await page.context.add_cookies(cookies)
        await page.goto(f"{console.url}/console/runs/{run_id}")
        assert await page.evaluate(_CROWDED) == []
        assert await page.locator(".node.waiting_approval").count() == 1
        assert await page.locator("pattern path").evaluate("path => getComputedStyle(path).stroke") != "none"
        await page.get_by_role("region", name="The picture of the graph").focus()
        for path in (f"/runs/{run_id}", f"/runs/{run_id}/trail", f"/runs/{run_id}/cards/{approval}"):
            await page.goto(f"{console.url}/console{path}")
            assert await page.evaluate("document.documentElement.scrollWidth") == width, path
    assert wrong == []
