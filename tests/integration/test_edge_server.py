"""The edge's server: time limits, rate limits, and fuzzed requests.

Nobody keeps the server waiting: a request has its time to arrive, and the slow make room for those who come.

What strangers cost: nothing is read that could not be authentic, and no caller asks for more than its share.

Whatever is sent to a route of the OpenAPI document, correctly signed, is answered; no answer is a server error.
"""

import asyncio
import json
import re
import socket
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from yarl import URL

from countersign.doctor.readiness import Readiness
from countersign.embedded.opa import OpaChild
from countersign.serve import make_edge, make_refusals
from edge import server as edge_server
from edge.server import Limits, Server
from edge.signing import WINDOW, headers
from runtime.clock import utc_now
from tests.bench import PUBLIC_URL
from tests.integration.program_stage import (
    SECRETS,
    Edge,
    composed,
    database,
    edge_of,
    is_problem,
    settings_of,
    signed_now,
)
from tests.patience import MINUTE

SOON = 0.2
HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n"
WHOLE = HEAD + b"0123456789"


@dataclass
class Site:
    """A server whose application reads the body, and waits with its answer if it is told to."""

    port: int = 0
    hold: asyncio.Event = field(default_factory=asyncio.Event)
    reading: asyncio.Event = field(default_factory=asyncio.Event)
    read: asyncio.Event = field(default_factory=asyncio.Event)
    refuses: bool = False

    async def __call__(self, _: Any, receive: Any, send: Any) -> None:
        self.reading.set()
        while not self.refuses and (message := await receive())["type"] == "http.request":
            if not message["more_body"]:
                self.read.set()
                await self.hold.wait()
                break
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})


class Caller:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def is_answered(self) -> bool:
        """Wait for an answer; return whether one came before the connection ended."""
        async with asyncio.timeout(MINUTE):
            try:
                return (await self.reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
            except (asyncio.IncompleteReadError, ConnectionResetError):
                return False

    async def is_cut_off_while_it_sends(self, piece: bytes, every: float) -> bool:
        """Send the piece again and again; return whether the connection ended."""
        try:
            async with asyncio.timeout(MINUTE):
                while not self.reader.at_eof():
                    await self.send(piece)
                    await asyncio.sleep(every)
        except ConnectionError:
            return True
        return self.reader.at_eof()


@asynccontextmanager
async def site(limits: Limits, *, hold: bool = False, refuses: bool = False) -> AsyncIterator[Site]:
    running = Site(refuses=refuses)
    if not hold:
        running.hold.set()
    listener = socket.create_server(("127.0.0.1", 0))
    running.port = listener.getsockname()[1]
    server = Server(running, limits, headers=[])
    task = asyncio.create_task(server.serve([listener]))
    try:
        yield running
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def caller(to: Site) -> AsyncIterator[Caller]:
    reader, writer = await asyncio.open_connection("127.0.0.1", to.port)
    try:
        yield Caller(reader, writer)
    finally:
        writer.transport.abort()


@pytest.mark.parametrize(
    "sent",
    [b"", b"POST / HT", HEAD[:-2], HEAD, WHOLE[:-1], WHOLE + HEAD],
    ids=["-", "line", "head", "-body", "body", "2nd"],
)
async def test_a_request_that_does_not_arrive_in_time_ends_its_connection(sent: bytes) -> None:
    async with site(Limits(connections=9, seconds=SOON)) as there, caller(there) as slow:
        await slow.send(sent)
        assert await slow.is_answered() is sent.startswith(WHOLE)
        assert not await slow.is_answered()


async def test_a_request_that_comes_in_drops_has_no_more_time_than_others() -> None:
    async with site(Limits(connections=9, seconds=SOON)) as there, caller(there) as slow:
        await slow.send(b"POST / HTTP/1.1\r\nX-Slow: ")
        assert await slow.is_cut_off_while_it_sends(b"x", every=0.01)


async def test_the_time_for_an_answer_is_not_counted() -> None:
    async with site(Limits(connections=9, seconds=SOON), hold=True) as there, caller(there) as patient:
        await patient.send(WHOLE)
        await asyncio.wait_for(there.read.wait(), MINUTE)
        async with caller(there) as slow:
            assert not await slow.is_answered()  # its time has passed, and the patient one's with it
        there.hold.set()
        assert await patient.is_answered()


async def test_many_requests_pass_on_one_connection_whole_or_in_pieces() -> None:
    async with site(Limits(connections=9, seconds=MINUTE)) as there, caller(there) as one:
        for pieces in ([WHOLE], [WHOLE[:7], WHOLE[7:]], [HEAD, WHOLE[len(HEAD) :]], [WHOLE + WHOLE[:30], WHOLE[30:]]):
            for piece in pieces:
                await one.send(piece)
            assert await one.is_answered()
        assert await one.is_answered()


async def test_who_waits_longest_makes_room_for_who_comes() -> None:
    async with site(Limits(connections=2, seconds=MINUTE)) as there, caller(there) as first, caller(there) as second:
        await first.send(HEAD)
        await asyncio.wait_for(there.reading.wait(), MINUTE)
        there.reading.clear()
        await second.send(HEAD)
        await asyncio.wait_for(there.reading.wait(), MINUTE)
        async with caller(there) as third:
            assert not await first.is_answered()
            await second.send(WHOLE[len(HEAD) :])
            await third.send(WHOLE)
            assert await second.is_answered()
            assert await third.is_answered()


async def test_who_is_being_served_makes_no_room() -> None:
    async with site(Limits(connections=1, seconds=MINUTE), hold=True) as there, caller(there) as first:
        await first.send(WHOLE)
        await asyncio.wait_for(there.read.wait(), MINUTE)
        async with caller(there) as second:
            assert not await second.is_answered()
        there.hold.set()
        assert await first.is_answered()


async def test_who_holds_most_makes_room_when_there_is_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge_server, "UNFINISHED_LIMIT", 1000)
    big = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n"
    async with site(Limits(connections=9, seconds=MINUTE)) as there, caller(there) as small, caller(there) as large:
        await small.send(HEAD)
        await large.send(big + b"x" * 2000)
        assert not await large.is_answered()
        await small.send(WHOLE[len(HEAD) :])
        assert await small.is_answered()


async def test_what_comes_after_an_early_answer_is_thrown_away_and_then_the_connection_is_as_new() -> None:
    big = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"
    async with site(Limits(connections=9, seconds=MINUTE), refuses=True) as there, caller(there) as one:
        for _ in range(3):
            await one.send(big)
            assert await one.is_answered()
            await one.send(b"x" * 100_000)


async def test_what_comes_after_an_early_answer_has_a_bound() -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    async with site(Limits(connections=9, seconds=MINUTE), refuses=True) as there, caller(there) as endless:
        await endless.send(head)
        assert await endless.is_answered()
        assert await endless.is_cut_off_while_it_sends(chunk, every=0)


TRIGGER = "/v1/triggers/kyc.onboarding"


async def test_a_caller_that_asks_for_too_much_is_told_when_to_come_back_and_others_are_not_affected(
    dsn: str, opa: OpaChild, tmp_path: Path
) -> None:
    settings = settings_of(dsn, opa.url, tmp_path, caller_rate=0.01, caller_burst=2)
    async with composed(settings) as system, edge_of(system) as edge:
        answers = [await edge.run("nobody") for _ in range(3)]
        assert [answer.status for answer in answers] == [404, 404, 429]
        assert is_problem(answers[-1], 429, "onboarding-portal sends too many requests")
        assert 90 <= int(answers[-1].headers["Retry-After"]) <= 100
        assert (await edge.run("nobody", by="servicenow")).status == 404


async def test_nobody_uses_up_what_another_may_ask_for_without_its_secret(
    dsn: str, opa: OpaChild, tmp_path: Path
) -> None:
    settings = settings_of(dsn, opa.url, tmp_path, caller_rate=0.01, caller_burst=1)
    async with composed(settings) as system, edge_of(system) as edge:
        forged = {**signed_now("GET", "/v1/runs/nobody", b""), "Countersign-Signature": f"v1={'0' * 64}"}
        assert {(await edge.send("GET", "/v1/runs/nobody", signed=forged)).status for _ in range(5)} == {401}
        assert (await edge.run("nobody")).status == 404


@pytest.mark.parametrize("path", [TRIGGER, "/v1/notifications", "/slack/events"])
@pytest.mark.parametrize("age", [None, WINDOW + 5], ids=["unsigned", "old"])
async def test_what_no_body_could_make_authentic_is_refused_before_its_body_comes(
    dsn: str, opa: OpaChild, tmp_path: Path, path: str, age: int | None
) -> None:
    signed = {} if age is None else signed_now("POST", path, b"{}", age)
    stamp = "" if age is None else f"X-Slack-Request-Timestamp: {int(utc_now().timestamp()) - age}\r\n"
    lines = "".join(f"{name}: {value}\r\n" for name, value in signed.items()) + stamp
    head = f"POST {path} HTTP/1.1\r\nHost: edge\r\nContent-Length: 2\r\n{lines}\r\n"
    async with composed(settings_of(dsn, opa.url, tmp_path)) as system, edge_of(system) as edge:
        parts = urlsplit(edge.url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        try:
            writer.write(head.encode())
            async with asyncio.timeout(MINUTE / 2):  # the stage's own limit is a minute
                assert (await reader.readline()).startswith(b"HTTP/1.1 401")
        finally:
            writer.close()
            await writer.wait_closed()


CALLER = "onboarding-portal"
PROBES = {"/healthz", "/readyz"}
ODD = st.sampled_from(
    ["\x00", "\x01", "a\x00", "..", "%", "\ud7ff", "é", "🙂", "a" * 2000, "run_none", "'", "{}", "\x7f", " "]
)
TEXT = ODD | st.text(st.characters(codec="utf-8"), max_size=20)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
WORD = st.just("1") | TEXT
SENT = {
    "id": WORD,
    "ref": WORD,
    "reason": WORD,
    "text": WORD,
    "token": WORD,
    "correlation_key": WORD,
    "step": WORD,
    "on_behalf_of": st.just("rita") | TEXT,
    "as": st.just("boris") | TEXT,
    "decision": st.just("approved") | TEXT,
    "version": st.just(1) | VALUE,
    "payload": VALUE,
    "result": VALUE,
    "data": VALUE,
    "dry_run": st.booleans(),
    "name": WORD,
    "reference": WORD,
    "definition": WORD,
    "stamp": WORD,
    "type": st.just("completed"),
    "limit": VALUE,
}
"""Members of messages, most of them as they may be."""
SAID = {"id": "1", "on_behalf_of": "rita", "reason": "seen", "version": 1, "result": {}}


@pytest.fixture(scope="module")
async def stage(
    postgres: str, opa: OpaChild, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Edge, dict[str, Any], str]]:
    """Return an edge, its OpenAPI document, and a run."""
    home = tmp_path_factory.mktemp("edge")
    with database(postgres, "fuzzed") as dsn:
        given_ = settings_of(dsn, opa.url, home, public_url=PUBLIC_URL, caller_rate=1e6, caller_burst=1_000_000)
        async with composed(given_) as system, edge_of(system) as edge:
            document = make_edge(system, Readiness(system, list), make_refusals(system)).openapi()
            yield edge, document, (await edge.trigger("fuzzed")).body["run_id"]


async def ask(edge: Edge, method: str, path: str, body: bytes) -> int:
    """Send a signed request, each byte as it is; return the status."""
    signed = headers(CALLER, SECRETS[CALLER], int(utc_now().timestamp()), method, path, body)
    to = URL(f"{edge.url}{path}", encoded=True)
    async with edge.http.request(method, to, data=body or None, headers=signed) as response:
        await response.read()
        return response.status


def test_the_api_is_version_1(stage: tuple[Edge, dict[str, Any], str]) -> None:
    assert stage[1]["info"]["version"] == "1"


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
async def test_no_route_answers_with_a_server_error(
    stage: tuple[Edge, dict[str, Any], str], data: st.DataObject
) -> None:
    edge, document, run_id = stage
    path = data.draw(st.sampled_from(sorted(document["paths"].keys() - PROBES)))
    method = data.draw(st.sampled_from(sorted(document["paths"][path])))
    here = {"run_id": st.just(run_id) | TEXT, "act": st.sampled_from(["supply", "retry", "skip"]) | TEXT}
    here["type_"] = st.just("kyc.onboarding") | TEXT
    whole = re.sub(r"\{(\w+)\}", lambda name: quote(data.draw(here.get(name[1], TEXT)) or "a", safe=""), path)
    query = "&".join(
        f"{quote(name)}={quote(text)}" for name, text in data.draw(st.lists(st.tuples(TEXT, TEXT), max_size=2))
    )
    said = data.draw(st.fixed_dictionaries({}, optional=SENT) | st.just(SAID) | VALUE)
    body = b"" if method == "get" else json.dumps(said).encode()
    status = await ask(edge, method.upper(), f"{whole}?{query}" if query and data.draw(st.booleans()) else whole, body)
    assert status < 500, (method, whole, body)


@pytest.mark.parametrize("odd", ["%00", "a%00", "%01", "%7F", "%C3%28", "%FF", "%2E%2E", "a" * 2000])
async def test_each_parameter_of_each_path_may_hold_anything(stage: tuple[Edge, dict[str, Any], str], odd: str) -> None:
    edge, document, run_id = stage
    for path, methods in document["paths"].items():
        for parameter in re.findall(r"\{(\w+)\}", path):
            others = {"run_id": run_id, "act": "supply", "type_": "kyc.onboarding", "path": "a"} | {parameter: odd}
            whole = path.format_map(defaultdict(lambda: "a", others))
            for method in methods:
                status = await ask(edge, method.upper(), whole, b"" if method == "get" else json.dumps(SAID).encode())
                assert status < 500, whole


async def test_each_parameter_of_each_path_of_the_api_has_a_type(stage: tuple[Edge, dict[str, Any], str]) -> None:
    _, document, _ = stage
    found = [
        (path, one["name"], one["schema"])
        for path, methods in document["paths"].items()
        if path.startswith("/v1/")  # pages for people say of any link alike that it leads nowhere
        for operation in methods.values()
        for one in operation.get("parameters", ())
    ]
    assert len(found) > 10
    assert [(path, name) for path, name, schema in found if not {"pattern", "$ref", "enum"} & schema.keys()] == []
