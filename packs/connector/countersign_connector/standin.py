"""The base of stand-ins for other systems: counts what they did, and fails the ways real ones do, on request.

Stand-ins run under the demo and the tests only. `GET /__standin/actions` tells every side effect performed, and how
many faults are still to come. `POST /__standin/faults` with `{"next": KIND, "on": "write" | "read", "path": "",
"skip": 0}` makes the next such request fail whose path has that in it: `401`, `403`, `429`, `500` and `hang` before
anything is done; `408_after_commit` and so on, `garbage_after_commit`, `hang_after_commit` and
`drop_reply_after_commit` after it was; `late_commit` does it `after` seconds, and says nothing. `POST /__standin/keys`
with `{"honoured": false}` makes it act again under an idempotency key that it knows.
"""

import argparse
import asyncio
import json
import os
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

import aiohttp
from aiohttp import web
from pydantic import Field, ValidationError

from countersign_connector.models import Params, faults
from runtime.handlers import Json, JsonObject

Handling = Callable[[web.Request], Awaitable[web.StreamResponse]]
_CONTROL = "/__standin/"
_SILENT = ("hang", "hang_after_commit", "late_commit")
_STATUSES: dict[int, type[web.HTTPException]] = {
    400: web.HTTPBadRequest,
    401: web.HTTPUnauthorized,
    404: web.HTTPNotFound,
    409: web.HTTPConflict,
}


class Fault(Params):
    """A failure to come: the kind, and for which request it waits."""

    next: Literal[
        "401",
        "403",
        "429",
        "500",
        "hang",
        "408_after_commit",
        "500_after_commit",
        "502_after_commit",
        "503_after_commit",
        "504_after_commit",
        "garbage_after_commit",
        "hang_after_commit",
        "drop_reply_after_commit",
        "late_commit",
    ]
    on: Literal["read", "write"] = "write"
    path: str = ""  # what stands in the request's path
    skip: int = Field(default=0, ge=0)  # how many such requests pass first
    after: float = Field(default=0, ge=0)  # seconds, for `late_commit`


class Keys(Params):
    """Whether the stand-in acts once under an idempotency key, or each time that it is asked."""

    honoured: bool


@dataclass
class Ledger:
    """What a stand-in did, and how it is to fail next."""

    actions: list[JsonObject] = field(default_factory=list)
    faults: deque[Fault] = field(default_factory=deque)
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    honours_keys: bool = True

    def act(self, operation: str, **details: Json) -> None:
        """Count one side effect."""
        self.actions.append({"operation": operation, **details})

    def take(self, method: str, path: str) -> Fault | None:
        """Remove and return the first fault that waits for such a request, once as many as it skips have passed."""
        kind = "read" if method == "GET" else "write"
        fault = next((one for one in self.faults if one.on == kind and one.path in path), None)
        if fault is None:
            return None
        self.faults.remove(fault)
        if fault.skip:
            self.faults.appendleft(fault.model_copy(update={"skip": fault.skip - 1}))
            return None
        return fault


LEDGER = web.AppKey("LEDGER", Ledger)


def application(routes: Iterable[web.RouteDef]) -> web.Application:
    """Build a stand-in from its routes, with the ledger's own ones."""
    app = web.Application(middlewares=[_failing])
    app[LEDGER] = Ledger()
    app.add_routes([*routes, web.get(f"{_CONTROL}actions", _actions)])
    app.add_routes([web.post(f"{_CONTROL}faults", _faults), web.post(f"{_CONTROL}keys", _keys)])
    app.on_response_prepare.append(_show_start)
    app.on_shutdown.append(_release)
    return app


def serve(app: web.Application, argv: list[str] | None = None) -> None:
    """Serve a stand-in on this machine until interrupted, on the port of the command line, and say where."""
    parser = argparse.ArgumentParser(description="Serve the pack's stand-ins, for demos and tests only.")
    parser.add_argument("--port", type=int, required=True, help="port to listen on, on 127.0.0.1")
    web.run_app(app, host="127.0.0.1", port=parser.parse_args(argv).port)


async def ask(url: str, body: JsonObject | None = None) -> Json:
    """Ask a stand-in as its demo does: GET, or POST with a body; return the answer's JSON."""
    method = "GET" if body is None else "POST"
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, url, json=body, raise_for_status=True) as answer,
    ):
        return await answer.json()


def demand_token(request: web.Request, token: str) -> None:
    """Answer 401 unless the request carries the token."""
    if request.headers.get("Authorization") != f"Bearer {token}":
        raise problem(401, "the bearer token is missing or wrong")


def problem(status: int, detail: str) -> web.HTTPException:
    """Make an error answer of the register's and the portal's form."""
    answer = _STATUSES[status](content_type="application/problem+json")
    answer.text = json.dumps({"status": status, "detail": detail})
    return answer


@web.middleware
async def _failing(request: web.Request, handler: Handling) -> web.StreamResponse:
    ledger = request.app[LEDGER]
    fault = None if request.path.startswith(_CONTROL) else ledger.take(request.method, request.path)
    kind = fault.next if fault else ""
    status, _, after_commit = kind.partition("_")
    if status.isdigit() and not after_commit:
        headers = {"Retry-After": "1"} if kind == "429" else {}
        told = {"errors": [{"title": "stand-in was told to fail"}]}
        return web.json_response(told, status=int(status), headers=headers)
    if fault is not None and kind in _SILENT:
        return await _say_nothing(fault, request, handler)
    answer = await handler(request)
    match kind:
        case "drop_reply_after_commit":
            if request.transport:
                request.transport.abort()
            return web.json_response({})
        case "garbage_after_commit":
            return web.Response(text="<html>done, I think</html>")
    return web.json_response({}, status=int(status)) if after_commit else answer


async def _say_nothing(fault: Fault, request: web.Request, handler: Handling) -> web.StreamResponse:
    """Hang until the stand-in ends, for the client's own patience ends first; act at once, late, or never."""
    await request.read()  # the client may be gone when it is wanted
    if fault.next == "late_commit":
        await asyncio.sleep(fault.after)
    if fault.next != "hang":
        await handler(request)
    await request.app[LEDGER].closing.wait()
    return web.json_response({}, status=503)


async def _actions(request: web.Request) -> web.Response:
    ledger = request.app[LEDGER]
    return web.json_response(
        {"count": len(ledger.actions), "actions": ledger.actions, "faults_to_come": len(ledger.faults)}
    )


async def _faults(request: web.Request) -> web.Response:
    try:
        fault = Fault.model_validate_json(await request.text())
    except ValidationError as error:
        raise problem(400, faults(error)) from None
    request.app[LEDGER].faults.append(fault)
    return web.Response(status=204)


async def _show_start(request: web.Request, response: web.StreamResponse) -> None:
    """Show whose start this is, so that whoever started it knows its answers from those of others."""
    del request
    response.headers["Countersign-Start"] = os.environ.get("COUNTERSIGN_START", "")


async def _keys(request: web.Request) -> web.Response:
    try:
        request.app[LEDGER].honours_keys = Keys.model_validate_json(await request.text()).honoured
    except ValidationError as error:
        raise problem(400, faults(error)) from None
    return web.Response(status=204)


async def _release(app: web.Application) -> None:
    app[LEDGER].closing.set()
