"""The console: who gets in, what they see, and what they are given; all else is refused, and changes nothing."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from countersign.doctor.readiness import Readiness
from countersign.embedded.opa import OpaChild
from countersign.parts import ServeError
from countersign.serve import make_edge, make_refusals
from policy.bundle import read_policy
from policy.keys import load_or_create
from runtime.services.console_sessions import LIFE
from tests.bench import Bench
from tests.browser import chromium
from tests.databases import superuser
from tests.integration.console_stage import ConsoleStage, open_console
from tests.integration.evidence_stage import FILE, noted, open_office
from tests.integration.first_version import install_first
from tests.integration.policies_stage import filing
from tests.integration.program_stage import composed, edge_of, settings_of
from tests.opa_server import SHIPPED

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
FETCHED = "SELECT leaf FROM tenant_leaves WHERE leaf ->> 'event' = 'bundle.fetched'"
PAGES = ("/", "/runs", "/runs/run_1", "/figures", "/figures.csv", "/rules", "/people", "/verify")


@pytest.fixture
async def console(bench: Bench, tmp_path: Path) -> AsyncIterator[ConsoleStage]:
    async with open_console(bench, tmp_path / "evidence") as stage:
        yield stage


async def test_a_link_opens_the_console_once(console: ConsoleStage) -> None:
    ann = await console.visitor()
    assert "Ann" in (await ann.get("/enter/the-link")).text
    assert (await ann.enter("the-link", "ann")).status == 303
    assert (await ann.get("/")).status == 200
    other = await console.visitor()
    assert (await other.get("/enter/the-link")).status == 410
    assert (await other.enter("the-link", "ben")).status == 410
    assert (await other.get("/")).status == 401


@pytest.mark.parametrize("link", ["the-lin", "the-link2", "THE-LINK"])
async def test_another_link_leads_nowhere(console: ConsoleStage, link: str) -> None:
    visitor = await console.visitor()
    assert (await visitor.get(f"/enter/{link}")).status == 404
    assert (await visitor.enter(link, "ann")).status == 404
    assert await console.bench.rows("SELECT * FROM console_sessions") == []


async def test_nobody_without_a_session_sees_a_page(console: ConsoleStage) -> None:
    visitor = await console.visitor()
    visitor.http.cookie_jar.update_cookies({"countersign_console": "made up"})
    for path in PAGES:
        shown = await visitor.get(path)
        assert (shown.status, "Please sign in" in shown.text) == (401, True)
    assert (await visitor.post("/runs/run_1/bundle")).status == 401


@pytest.mark.parametrize("person", ["rita", "nobody", "portal-bot", ""])
async def test_whoever_is_in_no_group_of_the_console_does_not_get_in(console: ConsoleStage, person: str) -> None:
    visitor = await console.visitor()
    assert "Rita" not in (await visitor.get("/enter/the-link")).text
    assert (await visitor.enter("the-link", person)).status in (403, 422)
    assert (await visitor.get("/")).status == 401
    assert (await visitor.get("/enter/the-link")).status == 200


@pytest.mark.parametrize("origin", [None, "null", "http://127.0.0.1", "https://evil.example"])
async def test_a_form_that_stands_elsewhere_does_nothing(console: ConsoleStage, origin: str | None) -> None:
    visitor, ann = await console.visitor(origin), await console.signed_in("ann")
    assert (await visitor.enter("the-link", "ann")).status == 403
    ann.origin = origin
    assert (await ann.post("/leave")).status == 403
    assert (await ann.post("/runs/run_1/bundle")).status == 403
    assert (await ann.get("/")).status == 200


async def test_a_session_ends_when_its_person_leaves_and_after_twelve_hours(console: ConsoleStage) -> None:
    ann, ben = await console.signed_in("ann"), await console.signed_in("ben")
    secret = {cookie.key: cookie.value for cookie in ann.http.cookie_jar}
    assert (await ann.post("/leave")).status == 200
    ann.http.cookie_jar.update_cookies(secret)
    assert (await ann.get("/")).status == 401
    console.bench.clock.move(seconds=LIFE.total_seconds() - 1)
    assert (await ben.get("/")).status == 200
    console.bench.clock.move(seconds=1)
    assert (await ben.get("/")).status == 401


async def test_rights_are_those_of_the_directory_at_each_request(console: ConsoleStage, dsn: str) -> None:
    ann = await console.signed_in("ann")
    assert (await ann.get("/")).status == 200
    with superuser(dsn) as conn:
        conn.execute("""UPDATE actors SET groups = '["onboarding"]' WHERE actor_id = 'ann'""")
    assert (await ann.get("/")).status == 401


async def test_of_secrets_and_links_only_digests_are_kept(console: ConsoleStage) -> None:
    secret = await console.sessions.open("a link", "ann")
    (row,) = await console.bench.rows("SELECT * FROM console_sessions")
    assert {secret, "a link"}.isdisjoint(str(value) for value in row.values())
    assert row["secret_digest"] == hashlib.sha256(secret.encode()).hexdigest()


async def test_what_waits_for_a_person_comes_first_and_says_for_whom_and_how_long(console: ConsoleStage) -> None:
    ann = await console.signed_in("ann")
    assert "Nothing waits for anybody" in (await ann.get("/")).text
    await filing(console.bench, "case 7")
    console.bench.clock.move(hours=2)
    shown = (await ann.get("/")).text
    for said in ("case 7", "compliance", "high", "2 h 0 min", "6 h 0 min"):
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
    assert "3.0 h / 3.0 h" in shown
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


async def test_every_page_forbids_scripts_frames_and_what_comes_from_elsewhere(console: ConsoleStage) -> None:
    ann, stranger = await console.signed_in("ann"), await console.visitor()
    shown = [await ann.get(path) for path in (*PAGES, "/console.css", "/nothing")]
    shown += [await stranger.get("/"), await stranger.get("/enter/the-link"), await stranger.post("/leave")]
    assert (await ann.get("/verify")).headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    for page in [one for one in shown if "Verify an evidence bundle" not in one.text]:
        rules = page.headers["Content-Security-Policy"]
        assert rules.startswith("default-src 'none'; style-src 'self'; form-action 'self'")
        assert "frame-ancestors 'none'" in rules
        assert page.headers["X-Frame-Options"] == "DENY"
        assert page.headers["X-Content-Type-Options"] == "nosniff"


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
    assert (await omar.post(f"/runs/{run_id}/bundle")).status == 500
    file.unlink()
    assert (await omar.post(f"/runs/{run_id}/bundle")).status == 503
    assert (await omar.post("/runs/run_nothing/bundle")).status == 404
    assert await console.bench.rows(FETCHED) == []


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


async def test_serve_has_a_console_where_there_is_a_link_to_it(dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    for more, status in (({"console_link": "a-long-enough-link"}, 401), ({}, 404)):
        settings = settings_of(dsn, opa.url, tmp_path, public_url="http://localhost:8080", **more)
        async with (
            composed(settings) as system,
            edge_of(system) as edge,
            edge.http.get(f"{edge.url}/console/") as answer,
        ):
            assert answer.status == status


async def test_serve_refuses_a_link_that_is_no_sandboxs(dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    for url in ("https://bot.example", None):
        settings = settings_of(dsn, opa.url, tmp_path, console_link="a-long-enough-link", public_url=url)
        async with composed(settings) as system:
            with pytest.raises(ServeError, match="COUNTERSIGN_PUBLIC_URL must be http://localhost"):
                make_edge(system, Readiness(system, list), make_refusals(system))
