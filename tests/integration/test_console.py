"""Pages of the console: what they show, what filters do, and what auditors are given; nothing else changes."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from policy.bundle import read_policy
from policy.keys import load_or_create
from tests.browser import chromium
from tests.databases import superuser
from tests.integration.console_stage import ConsoleStage
from tests.integration.evidence_stage import FILE, noted, open_office
from tests.integration.first_version import install_first
from tests.integration.policies_stage import filing
from tests.opa_server import SHIPPED

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
FETCHED = "SELECT leaf FROM tenant_leaves WHERE leaf ->> 'event' = 'bundle.fetched'"


async def test_what_waits_for_a_person_comes_first_and_says_for_whom_and_how_long(console: ConsoleStage) -> None:
    ann = await console.signed_in("ann")
    assert "Nothing waits for anybody" in (await ann.get("/")).text
    await filing(console.bench, "case 7")
    console.bench.clock.move(hours=2)
    shown = (await ann.get("/")).text
    for said in ("case 7", "compliance", "high", ">2 h<", ">6 h<"):
        assert said in shown, said


async def test_doubts_and_steps_that_a_person_decides_are_told(console: ConsoleStage, dsn: str) -> None:
    ann = await console.signed_in("ann")
    run_id, _ = await filing(console.bench)
    with superuser(dsn) as conn:
        conn.execute("SET session_replication_role = replica")
        conn.execute("UPDATE effects SET status = 'in_doubt', error = 'the line broke' WHERE run_id = %s", (run_id,))
        conn.execute(
            "UPDATE steps SET status = 'needs_attention', error = 'nobody knows' WHERE run_id = %s AND verb <> ''",
            (run_id,),
        )
    shown = (await ann.get("/")).text
    assert "In doubt" in shown
    assert "the line broke" in shown
    assert "Steps that a person has to decide" in shown


async def test_filters_stand_in_the_address(console: ConsoleStage) -> None:
    ann = await console.signed_in("ann")
    for ref in ("alpha", "beta"):
        await filing(console.bench, ref)
    found = (await ann.get("/runs?text=alph&person=rita&runbook=bench-file&since=2026-01-05&until=2026-01-05")).text
    assert "alpha" in found
    assert ">beta<" not in found
    assert "No run fits" in (await ann.get("/runs?since=2026-01-06")).text
    assert "No run fits" in (await ann.get("/runs?evidence=sealed")).text


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("colour=red", "colour: there is no such filter"),
        ("since=yesterday", "since: &#39;yesterday&#39; is no day such as 2026-03-31"),
        ("until=9999-12-31", "until: "),
        ("evidence=lost", "evidence: none of open"),
        (f"text={'x' * 201}", "text: at most 200 characters"),
        ("text=a%00b", "text: at most 200 characters, none of which is a control character"),
        ("after=%00", "after: at most 200 characters"),
        ("after=run_1", "run_1"),
    ],
)
async def test_a_filter_that_cannot_be_read_is_named(console: ConsoleStage, query: str, says: str) -> None:
    shown = await (await console.signed_in("ann")).get(f"/runs?{query}")
    assert (shown.status, says in shown.text) == (422, True), shown.text


async def test_a_long_list_goes_on_behind_its_last_run(console: ConsoleStage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.runs.PAGE", 2)
    monkeypatch.setattr("console.app.PAGE", 2)
    ann = await console.signed_in("ann")
    for number in range(3):
        await filing(console.bench, f"case-{number}")
        console.bench.clock.move(minutes=1)
    first = (await ann.get("/runs?text=case")).text
    assert "case-0" not in first
    further = first.partition('href="/console/runs?')[2].partition('"')[0].replace("&amp;", "&")
    rest = (await ann.get(f"/runs?{further}")).text
    assert "case-0" in rest
    assert "case-2" not in rest


async def test_figures_are_those_of_the_days_in_the_address_as_a_page_and_as_csv(console: ConsoleStage) -> None:
    ann = await console.signed_in("ann")
    _, approval = await filing(console.bench)
    console.bench.clock.move(hours=3)
    for person in ("ann", "ben"):
        assert (await console.bench.click(person, approval)).counted
    shown = (await ann.get("/figures?since=2026-01-05&until=2026-01-05")).text
    assert "3 h (nine in ten within 3 h)" in shown
    csv = await ann.get("/figures.csv?since=2026-01-05&until=2026-01-05")
    assert csv.headers["Content-Disposition"] == 'attachment; filename="figures-2026-01-05.csv"'
    head, row = csv.text.splitlines()
    assert dict(zip(head.split(","), row.split(","), strict=True))["decision_p50"].startswith("10800")
    assert "Nobody was asked" in (await ann.get("/figures?since=2026-01-06&until=2026-01-07")).text


@pytest.mark.parametrize("query", ["since=2026-01-06&until=2026-01-05", "since=soon", "group=a"])
async def test_figures_of_no_period_are_refused(console: ConsoleStage, query: str) -> None:
    ann = await console.signed_in("ann")
    assert (await ann.get(f"/figures?{query}")).status == 422
    assert (await ann.get(f"/figures.csv?{query}")).status == 422


async def test_runbooks_and_people_are_listed(console: ConsoleStage) -> None:
    ann = await console.signed_in("ann")
    rules, people = (await ann.get("/rules")).text, (await ann.get("/people")).text
    assert "bench-file" in rules
    assert "No version is in force" in rules
    for said in ("Ann", "payments-owners, security", "UPAM"):
        assert said in people


async def test_a_policy_version_is_shown_with_its_author_and_since_when_it_is_in_force(
    console: ConsoleStage, tmp_path: Path
) -> None:
    engine = console.bench.engine
    async with engine.pool.connection() as conn:
        text, key = read_policy(SHIPPED), load_or_create(tmp_path / "policy.pem")
        await install_first(conn, text, key, engine.clock())
    shown = (await (await console.signed_in("ann")).get("/rules")).text
    for said in ("came with the installation", "active", "2026-01-05 09:00 UTC", text.digest[:12]):
        assert said in shown, said
    assert "No version is in force" not in shown


async def test_a_run_shows_its_requests_with_votes_and_reasons(console: ConsoleStage) -> None:
    ann = await console.signed_in("ann")
    run_id, approval = await filing(console.bench, "case 9")
    assert (await console.bench.click("ben", approval, reason="seen and checked")).counted
    shown = (await ann.get(f"/runs/{run_id}")).text
    for said in ("case 9", "register::file_report", "Ben", "seen and checked", "waits for people", "The run goes on"):
        assert said in shown, said


async def test_runs_of_others_and_of_nobody_are_not_there(console: ConsoleStage, dsn: str) -> None:
    ann = await console.signed_in("ann")
    run_id, _ = await filing(console.bench)
    with superuser(dsn) as conn:
        conn.execute("SET session_replication_role = replica")
        conn.execute("UPDATE runs SET tenant = 'other' WHERE run_id = %s", (run_id,))
        conn.execute("UPDATE approvals SET tenant = 'other' WHERE run_id = %s", (run_id,))
    assert (await ann.get(f"/runs/{run_id}")).status == 404
    assert (await ann.get("/runs/run_nothing")).status == 404
    for path in ("/runs/%00", "/runs/run_%00", "/runs/RUN_1", f"/runs/run_{'1' * 61}"):
        assert (await ann.get(path)).status == 422, path
    assert run_id not in (await ann.get("/runs")).text
    assert run_id not in (await ann.get("/")).text


async def test_hostile_texts_are_shown_as_texts(console: ConsoleStage) -> None:
    ann = await console.signed_in("ann")
    run_id = (await console.bench.start("bench.file", {**FILE, "text": HOSTILE}, HOSTILE)).run_id
    await console.bench.settle()
    assert (await console.bench.click("ben", await console.bench.approval_id(), reason=HOSTILE)).counted
    for path in ("/", "/runs", f"/runs/{run_id}", f"/runs?text={'%3Cscript%3E'}"):
        shown = (await ann.get(path)).text
        assert "<script" not in shown
        assert "<img" not in shown
    assert "&lt;script&gt;" in (await ann.get(f"/runs/{run_id}")).text


async def _sealed(console: ConsoleStage, dsn: str, tmp_path: Path) -> str:
    run_id = await noted(console.bench)
    office = open_office(console.bench, tmp_path, dsn)
    while await office.sealer():
        pass
    return run_id


async def test_an_auditor_is_given_a_bundle_and_that_is_on_record(
    console: ConsoleStage, dsn: str, tmp_path: Path
) -> None:
    run_id = await _sealed(console, dsn, tmp_path)
    omar = await console.signed_in("omar")
    (stored,) = await console.bench.rows("SELECT sha256 FROM evidence_bundles")
    assert stored["sha256"] in (await omar.get(f"/runs/{run_id}")).text
    given = await omar.post(f"/runs/{run_id}/bundle")
    assert hashlib.sha256(given.data).hexdigest() == stored["sha256"]
    assert given.headers["Content-Disposition"] == f'attachment; filename="{run_id}.zip"'
    (act,) = await console.bench.rows(FETCHED)
    assert (act["leaf"]["actor"]["id"], act["leaf"]["data"]["run_id"]) == ("omar", run_id)


async def test_a_viewer_is_given_no_bundle(console: ConsoleStage, dsn: str, tmp_path: Path) -> None:
    run_id = await _sealed(console, dsn, tmp_path)
    ann = await console.signed_in("ann")
    assert "Download" not in (await ann.get(f"/runs/{run_id}")).text
    assert (await ann.post(f"/runs/{run_id}/bundle")).status == 403
    assert await console.bench.rows(FETCHED) == []


async def test_what_is_not_the_stored_bundle_is_given_to_nobody(
    console: ConsoleStage, dsn: str, tmp_path: Path
) -> None:
    run_id = await _sealed(console, dsn, tmp_path)
    omar = await console.signed_in("omar")
    (file,) = list(console.folder.rglob("*.zip"))
    with superuser(dsn) as conn:
        conn.execute("SET session_replication_role = replica")
        conn.execute("UPDATE evidence_bundles SET sha256 = %s", ("0" * 64,))
    shown = await omar.post(f"/runs/{run_id}/bundle")
    assert (shown.status, "is not the bundle that was stored" in shown.text) == (503, True)
    file.unlink()
    assert (await omar.post(f"/runs/{run_id}/bundle")).status == 503
    assert (await omar.post("/runs/run_nothing/bundle")).status == 404
    assert await console.bench.rows(FETCHED) == []


async def test_a_fault_of_the_program_is_told_on_a_page_without_what_it_is(console: ConsoleStage, dsn: str) -> None:
    ann = await console.signed_in("ann")
    with superuser(dsn) as conn:
        conn.execute("DROP TABLE console_sessions")
    shown = await ann.get("/")
    assert (shown.status, "has a fault" in shown.text, "console_sessions" in shown.text) == (500, True, False)
    assert "default-src 'none'" in shown.headers["Content-Security-Policy"]


async def test_what_is_tried_again_is_told_however_much_waits_for_its_first_try(
    console: ConsoleStage, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.services.attention.LISTED", 1)
    ann = await console.signed_in("ann")
    first, _ = await filing(console.bench, "first")
    console.bench.clock.move(minutes=1)
    await filing(console.bench, "second")
    with superuser(dsn) as conn:
        conn.execute("SET session_replication_role = replica")
        conn.execute("UPDATE effects SET status = 'pending'")
        conn.execute("UPDATE effects SET tries = 2, error = 'it was away' WHERE run_id = %s", (first,))
    shown = (await ann.get("/")).text
    assert "Tried again" in shown
    assert "it was away" in shown


async def test_a_database_that_is_away_is_told_on_a_page(console: ConsoleStage) -> None:
    ann = await console.signed_in("ann")
    await console.bench.engine.pool.close()
    shown = await ann.get("/")
    assert shown.status == 503
    assert "default-src 'none'" in shown.headers["Content-Security-Policy"]
    assert "Traceback" not in shown.text


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
async def test_an_auditor_walks_from_the_link_to_a_bundle_in_a_browser(
    console: ConsoleStage, dsn: str, tmp_path: Path, width: int, scheme: Any
) -> None:
    await filing(console.bench, "case 7")
    run_id = await _sealed(console, dsn, tmp_path)
    async with chromium() as browser:
        page = await browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
        wrong: list[str] = []
        page.on("console", lambda said: wrong.append(said.text))
        await page.goto(f"{console.url}/console/enter/the-link")
        await page.get_by_label("Omar").check()
        await page.get_by_role("button", name="Open the console").click()
        await page.get_by_role("heading", name="Waits for a person").wait_for()
        assert await page.evaluate("document.documentElement.scrollWidth") == width
        await page.get_by_role("link", name="Runs").click()
        await page.get_by_label("Evidence").select_option(label="sealed")
        await page.get_by_role("button", name="Search").click()
        await page.locator(f"a[href='/console/runs/{run_id}']").click()
        async with page.expect_download() as download:
            await page.get_by_role("button", name="Download the bundle").click()
        data = Path(await (await download.value).path()).read_bytes()
        assert await page.evaluate("document.documentElement.scrollWidth") == width
        await page.get_by_role("link", name="Verify it in your browser").click()
        await page.get_by_label("Evidence bundle").set_input_files(await (await download.value).path())
        await page.get_by_label("Public key").set_input_files(tmp_path / "keys/evidence.pub.pem")
        await page.locator("#verdict.good").wait_for()
        await page.go_back()
        await page.get_by_role("button", name="Sign out").click()
        await page.get_by_role("heading", name="You have signed out").wait_for()
    (stored,) = await console.bench.rows("SELECT sha256 FROM evidence_bundles")
    assert hashlib.sha256(data).hexdigest() == stored["sha256"]
    assert wrong == []
