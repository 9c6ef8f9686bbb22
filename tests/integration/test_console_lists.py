"""Saved lists of runs: what was found is kept and on record, and a page says what differs today."""

import hashlib
from typing import Any

import pytest

from receipts.list_acts import digest_of_ids
from runtime.model.search import Sought
from runtime.services.audit import audit
from runtime.services.people import UnknownPersonError
from runtime.services.run_lists import RunListError, RunLists
from tests.bench import TENANT
from tests.browser import chromium
from tests.databases import superuser
from tests.integration.console_stage import ConsoleStage, Visitor
from tests.integration.policies_stage import filing

ACTS = "SELECT leaf FROM tenant_leaves WHERE leaf ->> 'event' LIKE 'run_list.%%' ORDER BY seq"
HOSTILE = "<script>alert(1)</script>\u202e\"'"


async def saved(visitor: Visitor, name: str, **filters: str) -> str:
    """Save a list; return the path of its page."""
    answer = await visitor.post("/lists", name=name, **filters)
    assert answer.status == 303, answer.text
    return answer.headers["Location"].removeprefix("/console")


async def runs(console: ConsoleStage, *refs: str) -> list[str]:
    return [(await filing(console.bench, ref))[0] for ref in refs]


async def test_a_list_keeps_what_was_found_then_with_the_digest_on_record(console: ConsoleStage) -> None:
    alpha, beta = await runs(console, "case alpha", "case beta")
    await runs(console, "other")
    omar = await console.signed_in("omar")
    path = await saved(omar, "q3 cases", text="case", since="2026-01-01")
    shown = (await omar.get(path)).text
    digest = digest_of_ids([alpha, beta])
    for said in ("q3 cases", "reference or customer", "find the same 2 runs", digest, "case alpha", "case beta"):
        assert said in shown, said
    ids = await omar.get(f"{path}/ids")
    assert (hashlib.sha256(ids.data).hexdigest(), sorted(ids.text.split())) == (digest, sorted([alpha, beta]))
    (act,) = [row["leaf"] for row in await console.bench.rows(ACTS)]
    assert (act["event"], act["actor"]["id"]) == ("run_list.saved", "omar")
    assert act["data"] == {
        "list_id": path.rpartition("/")[2],
        "name": "q3 cases",
        "filters": {"text": "case", "since": "2026-01-01"},
        "runs": 2,
        "sha256": digest,
    }


async def test_a_list_says_which_runs_came_and_which_are_no_longer_found(console: ConsoleStage) -> None:
    omar = await console.signed_in("omar")
    run_id, approval = await filing(console.bench, "case alpha")
    await runs(console, "case beta")
    path = await saved(omar, "open cases", text="case", evidence="open")
    assert (await console.bench.click("ben", approval, "reject")).counted
    await console.bench.settle()
    await runs(console, "case gamma")
    shown = (await omar.get(path)).text
    assert "Found today: 2. Came since: 1. No longer found: 1." in shown
    came, gone = shown.partition('id="came"')[2].partition('id="gone"')[::2]
    assert ("case gamma" in came, "case alpha" in came) == (True, False)
    gone, _, sample = gone.partition('id="sample"')
    assert (f"/console/runs/{run_id}" in gone, "case gamma" in gone, "case beta" in gone) == (True, False, False)
    assert ("case alpha" in sample, "case beta" in sample, "case gamma" in sample) == (True, True, False)


async def test_a_list_that_was_deleted_is_gone_and_stays_on_record(console: ConsoleStage) -> None:
    omar = await console.signed_in("omar")
    path = await saved(omar, "all")
    assert "all runs" in (await omar.get("/lists")).text
    assert "all is no more" in (await omar.post(f"{path}/delete")).text
    assert (await omar.post(f"{path}/delete")).status == 404
    assert [(await omar.get(one)).status for one in (path, f"{path}/ids")] == [404, 404]
    assert "No list has been saved" in (await omar.get("/lists")).text
    again = await saved(omar, "all")
    assert again != path
    acts = [row["leaf"] for row in await console.bench.rows(ACTS)]
    assert [act["event"] for act in acts] == ["run_list.saved", "run_list.deleted", "run_list.saved"]
    assert {act["actor"]["id"] for act in acts} == {"omar"}


async def test_who_is_no_auditor_reads_lists_and_saves_and_deletes_none(console: ConsoleStage) -> None:
    omar, ann = await console.signed_in("omar"), await console.signed_in("ann")
    await runs(console, "case alpha")
    path = await saved(omar, "q3")
    for where in ("/runs", path):
        assert 'method="post" action="/console/lists' not in (await ann.get(where)).text
    assert "case alpha" in (await ann.get(path)).text
    assert (await ann.post("/lists", name="mine")).status == 403
    assert (await ann.post(f"{path}/delete")).status == 403
    assert len(await console.bench.rows(ACTS)) == 1


async def test_a_form_that_stands_elsewhere_saves_and_deletes_nothing(console: ConsoleStage) -> None:
    omar = await console.signed_in("omar")
    path = await saved(omar, "q3")
    omar.origin = "https://evil.example"
    assert (await omar.post("/lists", name="theirs")).status == 403
    assert (await omar.post(f"{path}/delete")).status == 403
    stranger = await console.visitor()
    assert [(await stranger.get(one)).status for one in ("/lists", path, f"{path}/ids")] == [401, 401, 401]
    assert (await stranger.post("/lists", name="theirs")).status == 401
    assert len(await console.bench.rows(ACTS)) == 1


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "A name has 1 to 80 characters"),
        ({"name": "   "}, "A name has 1 to 80 characters"),
        ({"name": "x" * 81}, "A name has 1 to 80 characters"),
        ({"name": "a\x00b"}, "none of which is a control character"),
        ({"name": "q3", "colour": "red"}, "colour: there is no such filter"),
        ({"name": "q3", "since": "soon"}, "no day such as"),
        ({"name": "q3", "evidence": "lost"}, "evidence: none of open"),
        ({"name": "taken"}, "There is a list of the name taken already"),
    ],
)
async def test_a_list_that_cannot_be_saved_says_why(console: ConsoleStage, fields: dict[str, str], says: str) -> None:
    omar = await console.signed_in("omar")
    await saved(omar, "taken")
    answer = await omar.post("/lists", **fields)
    assert (answer.status, says in answer.text) == (422, True), answer.text
    assert len(await console.bench.rows(ACTS)) == 1


async def test_a_list_has_no_more_runs_than_its_bound(console: ConsoleStage, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("runtime.services.run_lists.MOST_RUNS", "console.lists.MOST_RUNS"):
        monkeypatch.setattr(name, 2)
    omar = await console.signed_in("omar")
    await runs(console, "case 1", "case 2")
    path = await saved(omar, "two")
    assert "find the same 2 runs" in (await omar.get(path)).text
    console.bench.clock.move(minutes=-1)
    await runs(console, "case 3")  # not among the newest
    assert "Found today: more than 2. Came since: at least 0. No longer found: 0." in (await omar.get(path)).text
    answer = await omar.post("/lists", name="three")
    assert (answer.status, "More than 2 runs fit, and a list has no more: set more filters." in answer.text) == (
        422,
        True,
    )
    console.bench.clock.move(minutes=2)
    await runs(console, "case 4")
    assert "Found today: more than 2. Came since: at least 1. No longer found: 0." in (await omar.get(path)).text
    assert len(await console.bench.rows(ACTS)) == 1


async def test_a_tenant_has_no_more_lists_than_may_be(console: ConsoleStage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.services.run_lists.MOST_LISTS", 1)
    omar = await console.signed_in("omar")
    path = await saved(omar, "one")
    answer = await omar.post("/lists", name="two")
    assert (answer.status, "delete one first" in answer.text) == (422, True)
    assert len(await console.bench.rows("SELECT * FROM run_lists")) == 1
    assert (await omar.post(f"{path}/delete")).status == 200
    await saved(omar, "two")


async def test_a_long_list_is_shown_in_pages(console: ConsoleStage, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("runtime.services.run_lists.SHOWN", "console.lists.SHOWN"):
        monkeypatch.setattr(name, 2)
    omar = await console.signed_in("omar")
    for number in range(3):
        await runs(console, f"case-{number}")
        console.bench.clock.move(minutes=1)
    path = await saved(omar, "three")
    first, rest = (await omar.get(path)).text, (await omar.get(f"{path}?first=2")).text
    assert [f"case-{number}" in first for number in range(3)] == [False, True, True]
    assert [f"case-{number}" in rest for number in range(3)] == [True, False, False]
    assert (f"{path}?first=2" in first, "?first=" in rest) == (True, False)
    for wrong in ("-1", "10000", "x"):
        assert (await omar.get(f"{path}?first={wrong}")).status == 422


async def test_lists_of_another_tenant_are_not_there(console: ConsoleStage) -> None:
    omar = await console.signed_in("omar")
    path = await saved(omar, "q3")
    theirs = RunLists(console.bench.engine, "other")
    list_id = path.rpartition("/")[2]
    assert await theirs.all() == []
    assert await theirs.find(list_id) is None
    with pytest.raises(RunListError, match="no such list"):
        await theirs.delete("omar", list_id)
    own = RunLists(console.bench.engine, TENANT)
    assert await own.find(list_id) is not None


async def test_hostile_names_and_filters_are_data(console: ConsoleStage) -> None:
    omar = await console.signed_in("omar")
    path = await saved(omar, HOSTILE, text=HOSTILE, person="x" * 200)
    for where in ("/lists", path, f"/runs?text={'%3Cscript%3E%22'}"):
        shown = (await omar.get(where)).text
        assert "<script" not in shown, where
        assert "\u202e" not in shown, where


async def test_a_list_that_somebody_changed_in_the_database_is_found_by_the_audit(
    console: ConsoleStage, dsn: str
) -> None:
    omar = await console.signed_in("omar")
    await runs(console, "case alpha")
    path, gone = await saved(omar, "q3"), await saved(omar, "q4")
    assert (await omar.post(f"{gone}/delete")).status == 200
    assert [one for one in audit(dsn, TENANT, []).findings if "run_list" in one.where] == []
    with superuser(dsn) as conn:
        conn.execute("SET session_replication_role = replica")
        conn.execute("UPDATE run_lists SET run_ids = '[]' WHERE name = 'q3'")
    found = [(one.rule, one.where) for one in audit(dsn, TENANT, []).findings if "run_list" in one.where]
    assert found == [("record.changed", f"run_list.saved {path.rpartition('/')[2]}")]


async def test_what_nobody_of_the_directory_saves_is_not_saved(console: ConsoleStage) -> None:
    with pytest.raises(UnknownPersonError):
        await RunLists(console.bench.engine, TENANT).save("nobody", "q3", {}, Sought())
    assert await console.bench.rows("SELECT * FROM run_lists") == []


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
async def test_an_auditor_saves_a_sample_and_deletes_it_in_a_browser(
    console: ConsoleStage, width: int, scheme: Any
) -> None:
    await runs(console, "case alpha")
    async with chromium() as browser:
        page = await browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
        wrong: list[str] = []
        page.on("console", lambda said: wrong.append(said.text))
        cookies: Any = (await console.signed_in("omar")).cookies
        await page.context.add_cookies(cookies)
        await page.goto(f"{console.url}/console/runs?text=case")
        await page.get_by_text("Save this list").click()
        await page.get_by_label("Name").fill(f"sample {'w' * 70}")
        await page.get_by_role("button", name="Save").click()
        await page.get_by_text("The filters find the same 1 runs").wait_for()
        assert await page.evaluate("document.documentElement.scrollWidth") == width
        await page.get_by_role("link", name="Saved lists").click()
        assert await page.evaluate("document.documentElement.scrollWidth") == width
        await page.get_by_role("link", name="sample").click()
        await page.get_by_text("Delete this list").click()
        await page.get_by_role("button", name="Delete sample").click()
        await page.get_by_role("heading", name="The list was deleted").wait_for()
    assert [row["leaf"]["event"] for row in await console.bench.rows(ACTS)] == ["run_list.saved", "run_list.deleted"]
    assert wrong == []
