"""The routes. Every call but the probes and Slack's is signed by a caller that the directory knows."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import Depends, FastAPI, Request
from pydantic import BaseModel
from starlette.routing import Route

from countersign.compose import System
from countersign.edge.body import parse, read_body
from countersign.edge.messages import NotificationIn, NotificationOut, RunOut, TriggerIn, TriggerOut
from countersign.edge.problems import Problem, handle_problems
from countersign.edge.signing import verified_caller
from runtime import inbox, triggers
from runtime.store import directory, runs
from runtime.store.inbox import Notification
from runtime.triggers import Trigger, TriggerConflictError, TriggerError

Ready = Callable[[], Awaitable[list[str]]]

_RUN_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")


class Caller(BaseModel):
    """A verified agent and what the directory lets it do."""

    id: str
    triggers: list[str] = []
    on_behalf: bool = False
    completes: list[str] = []


def build_edge(system: System, ready: Ready, *, with_api: bool, with_slack: bool) -> FastAPI:
    """Return the application; `ready` names the parts that are not in order."""
    app = FastAPI(title="Countersign", docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    handle_problems(app)

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/readyz")
    async def readyz() -> dict[str, str]:
        if missing := await ready():
            raise Problem(503, f"not in order: {', '.join(missing)}")
        return {"status": "ready"}

    if with_api:
        api = _Api(system)
        app.post("/v1/triggers/{type_}", status_code=202)(api.trigger)
        app.post("/v1/notifications", status_code=202)(api.notify)
        app.get("/v1/runs/{run_id}")(api.run)
    if with_slack:
        app.router.routes.append(Route("/slack/events", system.bot.asgi))
    return app


Body = Depends(read_body)


class _Api:
    def __init__(self, system: System) -> None:
        self.system = system
        self.engine = system.engine
        self.tenant = system.settings.tenant
        self.secrets = {name: secret.get_secret_value() for name, secret in system.settings.callers.items()}

    async def trigger(self, type_: str, request: Request, body: bytes = Body) -> TriggerOut:
        caller = await self._caller(request, body)
        if type_ not in caller.triggers:
            raise Problem(403, f"{caller.id} may not send triggers of type {type_}")
        wish = parse(TriggerIn, body)
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
        word = self._notification(caller, parse(NotificationIn, body))
        notification_id = await inbox.record(self.engine, word)
        facts = await inbox.apply(self.engine, notification_id)
        reason = str(facts.get("reason", ""))
        return NotificationOut(notification_id=notification_id, status=facts["status"], reason=reason)

    def _notification(self, caller: Caller, word: NotificationIn) -> Notification:
        return Notification(
            notification_id=self.engine.new_id("ntf"),
            tenant=self.tenant,
            kind="progress" if word.type == "progress" else "completion",
            dedupe_key=f"{self.tenant}:{caller.id}:{word.id}",
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

    async def run(self, run_id: str, request: Request, body: bytes = Body) -> RunOut:
        caller = await self._caller(request, body)
        found = await self._run(run_id) if _RUN_ID.fullmatch(run_id) else None
        if found is None or found["trigger_type"] not in caller.triggers:
            raise Problem(404, f"no run {run_id}")
        return RunOut.model_validate(found)

    async def _run(self, run_id: str) -> dict[str, Any] | None:
        async with self.engine.pool.connection() as conn:
            return await runs.run_summary(conn, self.tenant, run_id)

    async def _caller(self, request: Request, body: bytes) -> Caller:
        now = self.engine.clock().timestamp()
        sent = request.scope
        name = verified_caller(sent["headers"], self.secrets, now, sent["method"], sent["raw_path"], body)
        if name is None:
            raise Problem(401, "the signature is missing, wrong or older than five minutes")
        if sent["query_string"]:
            raise Problem(400, "nothing is taken from a query string")
        actor = await self._actor(name, "agent")
        if actor is None:
            raise Problem(403, f"the directory has no agent {name}")
        return Caller(id=name, **actor["grants"])

    async def _requester(self, caller: Caller, on_behalf_of: str | None) -> tuple[str, str]:
        if on_behalf_of is None and caller.on_behalf:
            raise Problem(422, f"on_behalf_of: missing; {caller.id} speaks for people")
        if on_behalf_of is None:
            return caller.id, "agent"
        if not caller.on_behalf:
            raise Problem(403, f"{caller.id} may not speak for others")
        if await self._actor(on_behalf_of, "person") is None:
            raise Problem(422, f"on_behalf_of: the directory has no person {on_behalf_of}")
        return on_behalf_of, "person"

    async def _actor(self, name: str, kind: str) -> dict[str, Any] | None:
        async with self.engine.pool.connection() as conn:
            found = await directory.actor(conn, self.tenant, name)
        return found if found is not None and found["kind"] == kind else None
