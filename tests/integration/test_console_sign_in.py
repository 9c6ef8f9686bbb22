"""Who gets into the console: by a link, as somebody of its groups, by forms of its own; on pages that run nothing."""

import hashlib
from pathlib import Path

import pytest

from countersign.doctor.readiness import Readiness
from countersign.embedded.opa import OpaChild
from countersign.parts import ServeError
from countersign.serve import make_edge, make_refusals
from runtime.services.console_sessions import LIFE, end_sessions
from runtime.services.people import UnknownPersonError
from tests.bench import BENCH_PRIVACY, BENCH_SECRET, TENANT
from tests.databases import superuser
from tests.integration.console_stage import ConsoleStage
from tests.integration.program_stage import composed, edge_of, settings_of

PAGES = (
    "/",
    "/runs",
    "/runs/run_1",
    "/runs/run_1/trail",
    "/runs/run_1/cards/apr_1",
    "/figures",
    "/figures.csv",
    "/figures/weeks.csv",
    "/rules",
    "/people",
    "/verify",
)


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
async def test_who_is_in_no_group_of_the_console_does_not_get_in(console: ConsoleStage, person: str) -> None:
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


async def test_a_form_that_lacks_a_field_and_a_page_that_is_not_there_are_told(console: ConsoleStage) -> None:
    visitor = await console.visitor()
    shown = await visitor.post("/enter/the-link")
    assert (shown.status, "cannot be read" in shown.text) == (422, True)
    assert (await visitor.get("/nothing")).status == 404


async def test_a_person_is_signed_out_everywhere_on_record(console: ConsoleStage) -> None:
    first, second, ben = [await console.signed_in(person) for person in ("ann", "ann", "ben")]
    reason = f"lost laptop {BENCH_SECRET}"
    async with console.bench.engine.pool.connection() as conn:
        assert await end_sessions(conn, TENANT, "ann", "omar", reason, BENCH_PRIVACY, console.bench.clock()) == 2
        with pytest.raises(UnknownPersonError):
            await end_sessions(conn, TENANT, "ben", "nobody", "why", BENCH_PRIVACY, console.bench.clock())
    assert [(await one.get("/")).status for one in (first, second, ben)] == [401, 401, 200]
    (row,) = await console.bench.rows("SELECT leaf FROM tenant_leaves WHERE leaf ->> 'event' = 'sessions.ended'")
    assert row["leaf"]["data"] == {"person": "ann", "sessions": 2, "reason": BENCH_PRIVACY.text(reason)}
    assert BENCH_SECRET not in str(row)


async def test_serve_has_a_console_where_there_is_a_link_to_it(dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    signing_in = {"console_issuer": "https://login.example", "console_client_id": "c"}
    secret = {"console_client_secret": "a-long-enough-secret"}
    link = {"console_link": "a-long-enough-link"}
    for more, status in ((link, 401), ({**signing_in, **secret}, 401), (signing_in, 404), ({}, 404)):
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
