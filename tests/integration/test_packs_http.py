"""The connectors' HTTP client, and the command lines of the stand-ins.

The connectors' HTTP client against a server that misbehaves: what each outcome means for a write and for a read.

The command lines of the stand-ins.
"""

import asyncio
import re
import socket
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Literal

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from countersign_connector import http
from countersign_connector.http import NotFoundError, Request, Service
from countersign_connector.models import Remote

from runtime import handlers
from runtime.handlers import (
    BlockedError,
    HandlerError,
    Json,
    Metadata,
    NotTakenError,
    OutcomeUnknownError,
    RefusedError,
    TransientError,
    Usage,
)


class Answer(Remote):
    """What the client expects back."""

    ok: bool


def service(base: str, timeout: float) -> Service:
    def explain(body: Json) -> str:
        return str(body.get("why", "")) if isinstance(body, dict) else ""

    return Service("Thing", base, {"X-Token": "t"}, timeout, explain)


async def send(base: str, request: Request, patience: float = 5.0) -> Answer:
    async with service(base, patience).connect() as client:
        return await client.send(Answer, request)


@pytest.fixture
async def base() -> AsyncIterator[str]:
    """Serve whatever `/status/N` and `/body/NAME` ask for."""
    released = asyncio.Event()

    async def status(request: web.Request) -> web.Response:
        code = int(request.match_info["code"])
        headers = {"Retry-After": request.query["after"]} if "after" in request.query else {}
        headers |= {request.query["named"]: "req-7"} if "named" in request.query else {}
        if "challenge" in request.query:
            headers["WWW-Authenticate"] = 'Bearer error="invalid_token"'
        if code in {301, 302, 307, 308}:
            headers["Location"] = "/body/good"
        return web.json_response({"why": "because"}, status=code, headers=headers)

    async def body(request: web.Request) -> web.Response:
        return web.Response(body=BODIES[request.match_info["name"]], content_type="application/json")

    async def hang(request: web.Request) -> web.Response:
        await released.wait()
        return web.Response()

    async def drop(request: web.Request) -> web.Response:
        assert request.transport
        request.transport.abort()
        return web.Response()

    app = web.Application()
    routes = {"/status/{code}": status, "/body/{name}": body, "/hang": hang, "/drop": drop}
    app.add_routes([web.route("*", path, handler) for path, handler in routes.items()])

    async def release(_: web.Application) -> None:
        released.set()

    app.on_shutdown.append(release)
    async with TestServer(app) as server:
        yield str(server.make_url("")).rstrip("/")


BODIES = {
    "good": b'{"ok": true, "more": 1}',
    "html": b"<html>",
    "nan": b'{"ok": NaN}',
    "shape": b'{"ok": "yes"}',
    "latin": b'{"ok": "\xe9"}',
    "deep": b"[" * 200_000,
    "huge": b" " * (http.MAX_BODY + 1),
}
READ: Literal["GET"] = "GET"
WRITE: Literal["POST"] = "POST"


async def test_success_is_parsed_and_members_not_used_are_ignored(base: str) -> None:
    assert (await send(base, Request(READ, "/body/good"))).ok


@pytest.mark.parametrize(
    ("code", "read", "write"),
    [
        (301, RefusedError, OutcomeUnknownError),
        (303, RefusedError, OutcomeUnknownError),
        (307, RefusedError, OutcomeUnknownError),
        (400, RefusedError, RefusedError),
        (401, BlockedError, BlockedError),
        (403, RefusedError, RefusedError),
        (404, NotFoundError, NotFoundError),
        (408, TransientError, OutcomeUnknownError),
        (409, RefusedError, RefusedError),
        (422, RefusedError, RefusedError),
        (429, NotTakenError, NotTakenError),
        (500, TransientError, OutcomeUnknownError),
        (502, TransientError, OutcomeUnknownError),
        (503, TransientError, OutcomeUnknownError),
        (504, TransientError, OutcomeUnknownError),
        (599, TransientError, OutcomeUnknownError),
    ],
)
async def test_status_says_whether_anything_was_done(
    base: str, code: int, read: type[HandlerError], write: type[HandlerError]
) -> None:
    for request, expected in ((Request(READ, f"/status/{code}"), read), (Request(WRITE, f"/status/{code}"), write)):
        with pytest.raises(HandlerError) as caught:
            await send(base, request)
        assert type(caught.value) is expected
        assert str(caught.value) == f"Thing answered {code}: because"


async def test_a_403_that_asks_for_other_credentials_can_be_mended(base: str) -> None:
    with pytest.raises(BlockedError):
        await send(base, Request(READ, "/status/403", {"challenge": "1"}))
    with pytest.raises(BlockedError):
        await send(base, Request(WRITE, "/status/403", {"challenge": "1"}))


@pytest.mark.parametrize(("text", "seconds"), [("7", 7.0), ("Wed, 21 Oct 2015 07:28:00 GMT", None), ("-1", None)])
async def test_retry_after_is_passed_on_in_seconds(base: str, text: str, seconds: float | None) -> None:
    with pytest.raises(TransientError) as caught:
        await send(base, Request(WRITE, "/status/429", {"after": text}))
    assert caught.value.retry_after == seconds


@pytest.mark.parametrize("name", ["html", "nan", "shape", "latin", "deep", "huge"])
async def test_success_that_cannot_be_read_refuses_a_read_and_leaves_a_write_unknown(base: str, name: str) -> None:
    with pytest.raises(RefusedError, match="unexpected form"):
        await send(base, Request(READ, f"/body/{name}"))
    with pytest.raises(OutcomeUnknownError, match="unexpected form"):
        await send(base, Request(WRITE, f"/body/{name}"))


@pytest.mark.parametrize("path", ["/hang", "/drop"])
async def test_lost_reply_is_transient_for_a_read_and_unknown_for_a_write(base: str, path: str) -> None:
    with pytest.raises(TransientError):
        await send(base, Request(READ, path), patience=0.3)
    with pytest.raises(OutcomeUnknownError):
        await send(base, Request(WRITE, path), patience=0.3)


async def test_refused_connection_did_nothing() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        with pytest.raises(NotTakenError, match="cannot be reached"):
            await send(f"http://127.0.0.1:{taken.getsockname()[1]}", Request(WRITE, "/"))


async def told_of(base: str, *requests: Request, counted_as: str | None = None) -> HandlerError:
    """Return the error with which the last of some reads ends their operation."""

    async def operation() -> None:
        async with replace(service(base, 5.0), counted_as=counted_as).connect() as client:
            for request in requests:
                await client.send(Answer, request)

    with pytest.raises(HandlerError) as caught:
        await operation()
    return caught.value


@pytest.mark.parametrize("name", ["X-Request-Id", "x-request-id", "X-Transaction-ID"])
async def test_an_error_tells_the_status_and_the_id_of_the_last_answer_and_how_many_were_asked(
    base: str, name: str
) -> None:
    error = await told_of(base, Request(READ, "/body/good"), Request(READ, "/status/500", {"named": name}))
    assert (error.metadata, error.usage) == (Metadata(500, "req-7", 2), ())


async def test_an_answer_that_never_came_has_no_status(base: str) -> None:
    error = await told_of(base, Request(READ, "/body/good"), Request(READ, "/drop"))
    assert error.metadata == Metadata(requests=2)


async def test_a_result_is_told_with_what_its_answers_said(base: str) -> None:
    async with service(base, 5.0).connect() as client:
        assert client.answer({}).metadata is None, "nothing was asked yet"
        await client.send(Answer, Request(READ, "/body/good"))
        assert client.answer({"ok": True}) == handlers.Answer({"ok": True}, Metadata(200, None, 1))


async def test_requests_are_told_as_usage_where_somebody_counts_them(base: str) -> None:
    error = await told_of(base, Request(READ, "/body/good"), Request(READ, "/status/429"), counted_as="thing")
    assert error.usage == (Usage("thing", units={"requests": 2}),)


async def test_a_request_that_never_got_there_is_not_counted() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{taken.getsockname()[1]}"
        error = await told_of(base, Request(READ, "/"), counted_as="thing")
    assert (error.metadata, error.usage) == (None, ())


async def test_link_to_another_host_is_not_followed(base: str) -> None:
    with pytest.raises(RefusedError, match=r"another host: evil\.example"):
        await send(base, Request(READ, "http://evil.example/body/good"))


async def test_link_to_the_same_host_is_followed(base: str) -> None:
    assert (await send(base, Request(READ, f"{base}/body/good"))).ok


async def test_service_without_url_refuses_and_names_itself() -> None:
    with pytest.raises(RefusedError, match="Thing is not set up"):
        await send("", Request(WRITE, "/"))


@pytest.mark.parametrize(
    "module",
    ["countersign_access_request.standins", "countersign_kyc.standins", "countersign_incident_triage.standins"],
)
async def test_standins_serve_on_this_machine_until_ended(module: str) -> None:
    command = (sys.executable, "-u", "-m", module, "--port", "0")
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout
    try:
        said = re.search(r"http://127\.0\.0\.1:\d+", (await process.stdout.readline()).decode())
        assert said
        async with aiohttp.ClientSession() as session, session.get(f"{said[0]}/__standin/actions") as response:
            assert await response.json() == {"count": 0, "actions": [], "faults_to_come": 0}
    finally:
        process.terminate()
        await process.wait()
    assert process.returncode == 0
