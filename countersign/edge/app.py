"""The edge's routes. Every call but the probes and Slack's is signed by a caller that the directory knows."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from countersign.compose import System
from countersign.edge.messages import NotificationIn, NotificationOut, RunOut, TriggerIn, TriggerOut
from countersign.edge.problems import Problem, on_problem
from countersign.edge.signing import verified_caller
from receipts.canonical import CanonicalError, dumps
from runtime import inbox, triggers
from runtime.store import directory, runs
from runtime.store.inbox import Notification
from runtime.triggers import Trigger, TriggerConflictError, TriggerError

BODY_LIMIT = 256 * 1024

M = TypeVar("M", bound=BaseModel)
Ready = Callable[[], Awaitable[list[str]]]


class Caller(BaseModel):
    """A verified agent and what the directory lets it do."""

    id: str
    triggers: list[str] = []
    on_behalf: bool = False
    completes: list[str] = []


def build_edge(system: System, ready: Ready, *, with_slack: bool) -> FastAPI:
    """Return the application; `ready` lists what is not in order."""
    app = FastAPI(title="Countersign", docs_url=None, redoc_url=None, openapi_url="/v1/openapi.json")
    for error in (Problem, RequestValidationError, HTTPException):
        app.add_exception_handler(error, on_problem)
    edge = _Edge(system)
    app.post("/v1/triggers/{type_}", status_code=202)(edge.trigger)
    app.post("/v1/notifications", status_code=202)(edge.notify)
    app.get("/v1/runs/{run_id}")(edge.run)

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/readyz")
    async def readyz() -> dict[str, str]:
        if missing := await ready():
            raise Problem(503, "; ".join(missing))
        return {"status": "ready"}

    if with_slack:
        app.mount("/", system.bot.asgi)
    return app


async def _body(request: Request) -> bytes:
    """Return the raw body; refuse one over the limit before it is read."""
    data = bytearray()
    try:
        async for chunk in request.stream():
            data += chunk
            if len(data) > BODY_LIMIT:
                raise Problem(413, f"a body may have {BODY_LIMIT} bytes")
    except ClientDisconnect as error:
        raise Problem(400, "the body ended early") from error
    return bytes(data)


Body = Depends(_body)


class _Edge:
    def __init__(self, system: System) -> None:
        self.system = system
        self.engine = system.engine
        self.tenant = system.settings.tenant
        self.secrets = {name: secret.get_secret_value() for name, secret in system.settings.callers.items()}

    async def trigger(self, type_: str, request: Request, body: bytes = Body) -> TriggerOut:
        caller = await self._caller(request, body)
        if type_ not in caller.triggers:
            raise Problem(403, f"{caller.id} may not send triggers of type {type_}")
        wish = _parse(TriggerIn, body)
        definition = self.system.catalog.for_trigger(type_)
        if definition is None:
            raise Problem(404, f"no available runbook takes triggers of type {type_}")
        by, kind = await self._requester(caller, wish.on_behalf_of)
        trigger = Trigger(self.tenant, type_, wish.ref, wish.payload, by, kind, caller.id, self.engine.new_id("req"))
        try:
            claim = await triggers.claim(self.engine, definition, trigger)
        except TriggerConflictError as error:
            raise Problem(409, str(error)) from error
        except TriggerError as error:
            raise Problem(422, str(error)) from error
        return TriggerOut(run_id=claim.run_id, is_new=claim.is_new)

    async def notify(self, request: Request, body: bytes = Body) -> NotificationOut:
        caller = await self._caller(request, body)
        word = _parse(NotificationIn, body)
        try:
            dumps(word.result)
        except CanonicalError as error:
            raise Problem(422, f"result: {error}") from error
        notification_id = await inbox.record(self.engine, self._notification(caller, word))
        facts = await inbox.apply(self.engine, notification_id)
        return NotificationOut(
            notification_id=notification_id, status=facts["status"], reason=str(facts.get("reason", ""))
        )

    def _notification(self, caller: Caller, word: NotificationIn) -> Notification:
        progress = word.type == "progress"
        return Notification(
            notification_id=self.engine.new_id("ntf"),
            tenant=self.tenant,
            kind="progress" if progress else "completion",
            dedupe_key=f"{caller.id}:{word.id}",
            correlation_key=word.correlation_key,
            payload={
                "outcome": "failed" if word.type == "failed" else "succeeded",
                "result": word.result,
                "error": word.error,
                "message": word.message,
                "token": word.token,
                "verbs": caller.completes,
            },
            actor={"id": caller.id, "kind": "agent"},
            request_id=self.engine.new_id("req"),
        )

    async def run(self, run_id: str, request: Request) -> RunOut:
        caller = await self._caller(request, b"")
        async with self.engine.pool.connection() as conn:
            found = await runs.run_summary(conn, self.tenant, run_id)
        if found is None or found["trigger_type"] not in caller.triggers:
            raise Problem(404, f"no run {run_id}")
        return RunOut.model_validate(found)

    async def _caller(self, request: Request, body: bytes) -> Caller:
        now = self.engine.clock().timestamp()
        name = verified_caller(request.headers, self.secrets, now, request.method, request.url.path, body)
        if name is None:
            raise Problem(401, "the signature is missing, wrong or older than five minutes")
        async with self.engine.pool.connection() as conn:
            row = await directory.actor(conn, self.tenant, name)
        if row is None or row["kind"] != "agent":
            raise Problem(403, f"the directory has no agent {name}")
        return Caller(id=name, **row["grants"])

    async def _requester(self, caller: Caller, on_behalf_of: str | None) -> tuple[str, str]:
        if on_behalf_of is None:
            return caller.id, "agent"
        if not caller.on_behalf:
            raise Problem(403, f"{caller.id} may not speak for others")
        async with self.engine.pool.connection() as conn:
            row: dict[str, Any] | None = await directory.actor(conn, self.tenant, on_behalf_of)
        if row is None or row["kind"] != "person":
            raise Problem(422, f"on_behalf_of: the directory has no person {on_behalf_of}")
        return on_behalf_of, "person"


def _parse(model: type[M], body: bytes) -> M:
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, one['loc'])) or 'body'}: {one['msg']}" for one in error.errors())
        raise Problem(422, faults) from error
