"""The edge over real HTTP: who may call, what may be sent, and that every error is a problem that tells no more."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.signature import sign as slack_sign
from countersign.embedded.opa import OpaChild
from countersign.logs import formatter
from countersign.system import System
from edge.messages import BODY_LIMIT, RunOut
from edge.signing import WINDOW
from runtime.clock import utc_now
from tests.bench import PUBLIC_URL
from tests.integration.program_stage import (
    CASE,
    SLACK_SECRET,
    Answer,
    Edge,
    composed,
    database,
    edge_of,
    is_problem,
    rows,
    settings_of,
    signed_now,
)
from tests.patience import MINUTE
from tests.unit.evidence_variants import TOLD

CANARY = "canary-77b1"
TRIGGER = "/v1/triggers/kyc.onboarding"


@dataclass
class Stage:
    """A system and its edge."""

    system: System
    edge: Edge
    dsn: str


@pytest.fixture(scope="module")
async def stage(postgres: str, opa: OpaChild, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    home = tmp_path_factory.mktemp("edge")
    with database(postgres, "edge") as dsn:
        async with composed(settings_of(dsn, opa.url, home, public_url=PUBLIC_URL)) as system, edge_of(system) as edge:
            yield Stage(system, edge, dsn)


@pytest.fixture
def edge(stage: Stage) -> Edge:
    return stage.edge


async def raw(edge: Edge, request: bytes) -> bytes:
    """Send bytes that no client would; return the answer."""
    parts = urlsplit(edge.url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        writer.write(request)
        await writer.drain()
        async with asyncio.timeout(MINUTE):
            return await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()


async def test_a_signed_trigger_starts_one_run(edge: Edge) -> None:
    first, again = await edge.trigger("one"), await edge.trigger("one")
    assert (first.status, first.body["is_new"]) == (202, True)
    assert (again.status, again.body) == (202, {**first.body, "is_new": False})


async def test_one_ref_cannot_mean_two_things(edge: Edge) -> None:
    await edge.trigger("two")
    assert is_problem(await edge.trigger("two", payload={**CASE, "legal_name": "Another"}), 409, "claimed before")
    assert is_problem(await edge.trigger("two", on_behalf_of="anna"), 409, "claimed before")


async def test_a_run_is_shown_to_callers_of_its_trigger_type_alone(edge: Edge) -> None:
    run_id = (await edge.trigger("three")).body["run_id"]
    seen = await edge.run(run_id)
    assert (seen.status, seen.body["trigger_ref"], seen.body["requested_by"]) == (200, "three", "rita")
    assert {step["status"] for step in seen.body["steps"]} == {"pending"}
    assert seen.body["costs"] == []
    assert is_problem(await edge.run(run_id, by="servicenow"), 404, f"no run {run_id}")


async def test_a_run_shows_what_it_cost_so_far(stage: Stage) -> None:
    run_id = (await stage.edge.trigger("costly")).body["run_id"]
    with psycopg.connect(stage.dsn) as conn:
        conn.execute(
            "INSERT INTO reads VALUES (%s, 2, 'hierarchy', 1, 'success', %s)",
            (run_id, json.dumps({"told": TOLD})),
        )
    (costs,) = (await stage.edge.run(run_id)).body["costs"]
    assert costs == {
        "provider": "openai",
        "model": "gpt-5",
        "calls": 1,
        "calls_without_cost": 0,
        "units": {"input_tokens": "812"},
        "amounts": {"USD": "0.00123"},
    }


async def test_another_tenant_sees_and_resolves_nothing(
    stage: Stage, postgres: str, opa: OpaChild, tmp_path: Path
) -> None:
    run_id = (await stage.edge.trigger("four")).body["run_id"]
    word = {"id": "n-4", "type": "completed", "correlation_key": "nobody-waits"}
    ours = await stage.edge.notify(**word)
    other = settings_of(stage.dsn, opa.url, tmp_path, tenant="other")
    async with composed(other) as system, edge_of(system) as edge:
        assert is_problem(await edge.run(run_id), 404)
        assert (await edge.trigger("four")).body["is_new"]
        assert (await edge.notify(**word)).body["notification_id"] != ours.body["notification_id"]


async def test_a_notification_is_applied_once_and_told_what_became_of_it(edge: Edge) -> None:
    word: dict[str, Any] = {"id": "n-1", "type": "completed", "correlation_key": "nobody-waits", "result": {}}
    first, again = await edge.notify(**word), await edge.notify(**word)
    assert (first.status, first.body["status"]) == (202, "early")
    assert again.body == first.body


@pytest.mark.parametrize("change", [{"by": "servicenow"}, {"by": "stranger"}])
async def test_a_caller_sends_what_the_directory_lets_it(edge: Edge, change: dict[str, Any]) -> None:
    assert is_problem(await edge.trigger("five", **change), 403)


async def test_only_some_callers_speak_for_others_and_only_for_people(edge: Edge) -> None:
    incident = {"ref": "1", "payload": {}, "on_behalf_of": "rita"}
    path = "/v1/triggers/servicenow.incident"
    assert is_problem(await edge.send("POST", path, json.dumps(incident).encode(), by="servicenow"), 403, "speak for")
    assert is_problem(await edge.trigger("six", on_behalf_of="nobody"), 422, "no person nobody")
    assert is_problem(await edge.trigger("six", on_behalf_of="servicenow"), 422, "no person servicenow")


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b"", 400, "not JSON"),
        (b"{", 400, "not JSON"),
        (b"\xff\xfe{\x00}\x00", 400, "not JSON"),
        (b"\xef\xbb\xbf{}", 400, "not JSON"),
        (b'{"ref": NaN}', 400, "NaN is no JSON number"),
        (b'{"ref": "1", "ref": "2", "payload": {}}', 400, "'ref' stands twice"),
        (b'{"ref": "1", "payload": {"a": 1, "a": 2}}', 400, "'a' stands twice"),
        (b"[" * 50_000, 400, "not JSON"),
        (b'{"ref": "1", "payload": ' + b'{"a": ' * 200 + b"1" + b"}" * 201, 422, "nested deeper"),
        (b'{"ref": "1", "payload": {"n": 1' + b"0" * 30 + b"}}", 422, "write it as text"),
        (b'{"ref": "1", "payload": {"n": 1' + b"0" * 5000 + b"}}", 400, "not JSON"),
        (b'{"ref": "1", "payload": {"n": 1e999}}', 422, "not a JSON number"),
        (b'{"ref": "1", "payload": {"a": "\\ud800"}}', 422, "lone surrogate"),
        (b'{"ref": "\\udfff", "payload": {}}', 422, "lone surrogate"),
        (b'{"ref": "1", "payload": {"a": ["x\\u0000"]}}', 422, "/payload/a/0: holds the control character U+0000"),
        (b'{"ref": "1", "payload": {"a\\u0000": 1}}', 422, "/payload: holds the control character U+0000"),
        (b'{"ref": "1\\u0000", "payload": {}}', 422, "/ref: holds the control character U+0000"),
        (b'{"ref": "a\\nb", "payload": {}}', 422, "ref: String should match pattern"),
        (b'{"ref": "", "payload": {}}', 422, "ref: String should have at least 1"),
        (b'{"ref": "' + b"x" * 201 + b'", "payload": {}}', 422, "ref: String should have at most 200"),
        (b'{"ref": 7, "payload": {}}', 422, "ref: Input should be a valid string"),
        (b'{"ref": "1"}', 422, "payload: Field required"),
        (b'{"ref": "1", "payload": []}', 422, "payload: Input should be a valid dictionary"),
        (b'{"ref": "1", "payload": {}, "tenant": "other"}', 422, "tenant: Extra inputs are not permitted"),
        (b'{"ref": "1", "payload": {}, "on_behalf_of": "rita"}', 422, "payload: /: "),
        (b'{"ref": "1", "payload": {}}', 422, "on_behalf_of: missing"),
        (b"[]", 422, "it is no JSON object"),
    ],
)
async def test_a_malformed_trigger_is_refused_and_says_where(edge: Edge, body: bytes, status: int, says: str) -> None:
    assert is_problem(await edge.send("POST", TRIGGER, body), status, says)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"correlation_key": "k\x00"}, "/correlation_key: holds the control character"),
        ({"correlation_key": ""}, "correlation_key: "),
        ({"type": "done"}, "type: Input should be"),
        ({"error": "\x00"}, "/error: holds"),
        ({"message": "x" * 2001}, "message: "),
        ({"result": {"a": "\x07"}}, "/result/a: holds"),
        ({"token": "\x1b"}, "/token: holds"),
        ({"verbs": ["any"]}, "verbs: Extra"),
    ],
)
async def test_a_malformed_notification_is_refused_and_says_where(
    edge: Edge, change: dict[str, Any], says: str
) -> None:
    word = {"id": "n-2", "type": "completed", "correlation_key": "k", **change}
    assert is_problem(await edge.notify(**word), 422, says)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FUZZ = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FUZZ
@given(
    st.dictionaries(st.sampled_from(["ref", "payload", "on_behalf_of", "id", "type", "x"]), JSON),
    st.sampled_from([TRIGGER, "/v1/notifications"]),
)
async def test_no_signed_json_is_an_error_of_ours(edge: Edge, value: dict[str, Any], path: str) -> None:
    answer = await edge.send("POST", path, json.dumps(value).encode())
    assert 400 <= answer.status < 500


@FUZZ
@given(ref=st.text(min_size=1, max_size=30), name=st.text(min_size=1, max_size=30))
async def test_any_text_is_kept_as_it_is_or_refused(edge: Edge, ref: str, name: str) -> None:
    answer = await edge.trigger(f"any {ref}", payload={**CASE, "legal_name": name})
    assert answer.status in (202, 409, 422)
    if answer.status == 202:
        assert (await edge.run(answer.body["run_id"])).body["trigger_ref"] == f"any {ref}"


HEADER_TEXT = st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_categories=["Cc"]), max_size=80)


@FUZZ
@given(st.lists(st.tuples(st.sampled_from(["Caller", "Timestamp", "Signature"]), HEADER_TEXT), max_size=5))
async def test_no_made_up_signature_is_anything_but_401(edge: Edge, made_up: list[tuple[str, str]]) -> None:
    lines = "".join(f"Countersign-{name}: {value.strip()}\r\n" for name, value in made_up)
    request = f"POST {TRIGGER} HTTP/1.1\r\nHost: edge\r\nConnection: close\r\nContent-Length: 2\r\n{lines}\r\n{{}}"
    assert (await raw(edge, request.encode("latin-1"))).startswith(b"HTTP/1.1 401")


@pytest.mark.parametrize("name", ["Countersign-Caller", "Countersign-Timestamp", "Countersign-Signature"])
@pytest.mark.parametrize("value", [None, "", "0", "yesterday", "v1=0", "ünïcode", "١٢٣", "9" * 40, "1e9", "-5"])
async def test_a_wrong_or_missing_header_is_401_and_nothing_of_the_body_is_logged(
    edge: Edge, caplog: pytest.LogCaptureFixture, name: str, value: str | None
) -> None:
    caplog.set_level(logging.DEBUG)
    body = json.dumps({"ref": CANARY, "payload": {**CASE, "legal_name": CANARY}}).encode()
    right = signed_now("POST", TRIGGER, body)
    del right[name]
    changed = right if value is None else {**right, name: value}
    assert is_problem(await edge.send("POST", TRIGGER, body, signed=changed), 401)
    assert CANARY not in caplog.text


@pytest.mark.parametrize("age", [WINDOW + 5, -WINDOW - 5])
async def test_an_old_or_future_signature_is_401(edge: Edge, age: int) -> None:
    signed = signed_now("POST", TRIGGER, b"{}", age)
    assert is_problem(await edge.send("POST", TRIGGER, b"{}", signed=signed), 401)


async def test_a_signature_given_twice_is_401(edge: Edge) -> None:
    signed = signed_now("POST", TRIGGER, b"{}")
    lines = "".join(f"{name}: {value}\r\n" for name, value in [*signed.items(), *signed.items()])
    request = f"POST {TRIGGER} HTTP/1.1\r\nHost: edge\r\nConnection: close\r\nContent-Length: 2\r\n{lines}\r\n{{}}"
    assert (await raw(edge, request.encode())).startswith(b"HTTP/1.1 401")


@pytest.mark.parametrize("announced", ["a length", "chunks"])
async def test_a_body_over_the_limit_is_413_whatever_length_it_announces(edge: Edge, announced: str) -> None:
    body = b'{"ref": "' + b"x" * BODY_LIMIT + b'"}'
    signed = signed_now("POST", TRIGGER, body)

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 65536):
            yield body[start : start + 65536]

    data = pieces() if announced == "chunks" else body
    async with edge.http.post(f"{edge.url}{TRIGGER}", data=data, headers=signed) as response:
        assert ("Content-Length" in response.request_info.headers) is (announced == "a length")
        answer = Answer(response.status, response.headers, await response.json(content_type=None))
    assert is_problem(answer, 413, str(BODY_LIMIT))


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/v1/runs", 404),
        ("GET", "/v1/runs/", 404),
        ("POST", "/v1/triggers/a/b", 404),
        ("GET", "/docs", 404),
        ("GET", "/openapi.json", 404),
        ("GET", "/slack/events/", 404),
        ("GET", "/%00", 404),
        ("PUT", TRIGGER, 405),
        ("DELETE", "/healthz", 405),
        ("GET", "/v1/notifications", 405),
    ],
)
async def test_what_the_framework_refuses_is_a_problem_too(edge: Edge, method: str, path: str, status: int) -> None:
    answer = await edge.send(method, path)
    assert is_problem(answer, status)
    assert ("Allow" in answer.headers) is (status == 405)


@pytest.mark.parametrize("run_id", ["run_0", "a%00b", "%F0%9F%92%A5", "x" * 129, "run%20or%201=1", "..%2Fhealthz"])
async def test_a_run_that_cannot_be_is_404(edge: Edge, run_id: str) -> None:
    parts = urlsplit(edge.url)
    path = f"/v1/runs/{run_id}"
    signed = signed_now("GET", path, b"")
    lines = "".join(f"{name}: {value}\r\n" for name, value in signed.items())
    request = f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n{lines}\r\n"
    assert (await raw(edge, request.encode())).startswith(b"HTTP/1.1 404")


async def test_a_run_is_answered_with_a_link_that_opens_a_page_for_anybody(edge: Edge) -> None:
    run_id = (await edge.trigger("linked")).body["run_id"]
    run = (await edge.run(run_id)).body
    assert run["link"] == f"{PUBLIC_URL}/runs/{run_id}"
    assert "link" not in RunOut.model_validate({**run, "link": None}, strict=False).model_dump()
    for path in (f"/runs/{run_id}", "/runs/run_none", f"/requests/{run_id}"):
        assert (await raw(edge, f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())).startswith(
            b"HTTP/1.1 200"
        )


@pytest.mark.parametrize("over", ["/v1/runs/r", "/v1/runs/r?tenant=other"])
async def test_query_string_is_named_where_a_route_takes_none_signed_or_not(edge: Edge, over: str) -> None:
    signed = signed_now("GET", over, b"")
    asked = await edge.send("GET", "/v1/runs/r?tenant=other", signed=signed)
    assert is_problem(asked, 400, "this route takes no query string")


async def test_query_string_of_another_signature_is_signed_by_nobody(edge: Edge) -> None:
    signed = signed_now("GET", "/v1/runs/r?tenant=mine", b"")
    assert is_problem(await edge.send("GET", "/v1/runs/r?tenant=other", signed=signed), 401)


async def test_slacks_callbacks_have_slacks_own_signature(edge: Edge) -> None:
    body = b'{"type": "url_verification", "challenge": "c-1"}'
    stamp = str(int(utc_now().timestamp()))
    signed = {
        "X-Slack-Request-Timestamp": stamp,
        "X-Slack-Signature": slack_sign(SLACK_SECRET, stamp.encode(), body).decode(),
    }
    answer = await edge.send("POST", "/slack/events", body, signed={**signed, "Content-Type": "application/json"})
    assert (answer.status, answer.body) == (200, {"challenge": "c-1"})
    async with edge.http.post(f"{edge.url}/slack/events", data=body) as response:
        assert response.status == 401


async def test_probes_need_no_signature_and_tell_no_details(edge: Edge) -> None:
    assert (await edge.send("GET", "/healthz", signed={})).body == {"status": "ok"}
    assert (await edge.send("GET", "/readyz", signed={})).body == {"status": "ready"}


async def test_roles_that_are_not_wanted_are_not_there(stage: Stage) -> None:
    async with edge_of(replace(stage.system, roles=frozenset(), bot=None)) as edge:
        assert is_problem(await edge.trigger("eight"), 404)
        assert is_problem(await edge.send("POST", "/slack/events", b"{}"), 404)
        assert (await edge.send("GET", "/healthz")).status == 200


async def test_a_database_that_is_away_is_503_and_can_be_tried_again(
    dsn: str, postgres: str, opa: OpaChild, tmp_path: Path
) -> None:
    async with composed(settings_of(dsn, opa.url, tmp_path)) as system, edge_of(system) as edge:
        name = urlsplit(dsn).path.removeprefix("/")
        rows(postgres, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", name)
        answer = await edge.trigger("nine")
        assert is_problem(answer, 503, "try again")
        assert answer.headers["Retry-After"]


async def test_an_error_of_ours_is_500_logged_once_and_tells_nothing(
    dsn: str, opa: OpaChild, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with composed(settings_of(dsn, opa.url, tmp_path)) as system, edge_of(system) as edge:
        with psycopg.connect(dsn) as conn:
            conn.execute("ALTER TABLE runs RENAME COLUMN salt TO pepper")
        caplog.clear()
        answer = await edge.trigger("ten", payload={**CASE, "legal_name": CANARY})
    assert is_problem(answer, 500)
    assert answer.body["detail"] == "the request could not be handled"
    errors = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(errors) == 1
    line = formatter("json").format(errors[0])
    assert "UndefinedColumn" in line
    assert CANARY not in line
    assert "\n" not in line
