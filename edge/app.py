"""The routes. Callers that the directory knows sign every call but probes, Slack's and OPA's downloads."""

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request
from starlette.routing import Route
from starlette.types import ASGIApp

from edge.callers import Caller, Refusals, granted
from edge.evidence import EvidenceIn, EvidencePage
from edge.links import LinkPage, add_links
from edge.messages import BODY_LIMIT, Id, NotificationIn, NotificationOut, RunOut, WaitOut, parse_body, read_body
from edge.passkeys import add_passkeys
from edge.policy_bundle import BundleDownloads, add_policy_bundle
from edge.policy_preview import add_policy_preview
from edge.problems import Denied, Problem, handle_problems, problem_of
from edge.questions import add_questions
from edge.signals import add_signals
from edge.signing import claimed, is_signed
from edge.step_repair import add_step_repair
from edge.tasks import add_tasks
from edge.triggers import add_triggers
from edge.undo import add_undo
from receipts.chain import Actor
from runtime.model.limits import Rate, TokenBuckets
from runtime.model.payloads import AnswerCode
from runtime.model.states import NotificationStatus
from runtime.services.caller_acts import CompensationApi, QuestionApi
from runtime.services.callers import Answer, TriggerApi
from runtime.services.passkey_ceremonies import PasskeyCeremonies
from runtime.services.policy_previews import PolicyPreviews
from runtime.services.signals import SignalService
from runtime.services.step_repair import StepRepairApi
from runtime.services.tasks import TaskService

Ready = Callable[[], Awaitable[list[str]]]
Counts = Callable[[], Mapping[str, int]]

_REFUSED = {
    AnswerCode.NOT_YOURS: 403,
    AnswerCode.NO_TOKEN: 403,
    AnswerCode.OTHER_TOKEN: 409,
    AnswerCode.BY_PEOPLE: 409,
    AnswerCode.BY_CLOCK: 409,
    AnswerCode.BY_SIGNAL: 409,
    AnswerCode.INVALID: 422,
}
"""The status of an answer that is refused, and recorded."""


@dataclass(frozen=True)
class Api:
    """What the API needs: the runtime's services, the secret of each caller, how much each may ask for.

    `refusals` is told of each request that its caller may not make. `previews` are there where an `opa` is.
    """

    desk: TriggerApi
    signals: SignalService
    tasks: TaskService
    taking_back: CompensationApi
    secrets: Mapping[str, str]
    rate: Rate
    refusals: Refusals
    previews: PolicyPreviews | None = None


def build_edge(
    ready: Ready,
    *,
    api: Api | None,
    slack: ASGIApp | None,
    install: ASGIApp | None = None,
    passkeys: PasskeyCeremonies | None = None,
    links: LinkPage | None = None,
    bundles: BundleDownloads | None = None,
    counts: Counts = dict,
) -> FastAPI:
    """Return the application; `ready` names the parts that are not in order, `slack` takes what Slack sends.

    `counts` says how often the Slack side was limited or has turned somebody away: it is ready nevertheless.

    `install` shows browsers the pages by which the Slack app is installed; `passkeys` and `links` are
    there where they reach it. From `bundles` OPA downloads the policy in force.
    """
    app = FastAPI(
        title="Countersign", version="1", docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False
    )
    handle_problems(app, api.refusals.note if api is not None else None)

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/readyz")
    async def readyz() -> dict[str, Any]:
        if missing := await ready():
            raise Problem(503, f"not in order: {', '.join(missing)}")
        told = counts()
        return {"status": "ready", **({"counts": told} if told else {})}

    if api is not None:
        routes = _Routes(api)
        add_triggers(app, api.desk, routes.signed, routes.requester, routes.charge, api.refusals.note)
        app.post("/v1/notifications", status_code=202)(routes.notify)
        app.get("/v1/runs/{run_id}")(routes.run)
        app.post("/v1/evidence/search")(routes.search)
        add_signals(app, api.signals, routes.signed)
        add_tasks(app, api.tasks, routes.signed, routes.verified)
        add_questions(app, QuestionApi(api.desk.engine, api.desk.tenant), routes.signed)
        add_step_repair(app, StepRepairApi(api.desk.engine, api.desk.tenant), routes.signed, routes.speaker)
        add_policy_preview(app, api.desk.tenant, api.previews, routes.signed)
        add_undo(app, api.taking_back, routes.signed, routes.speaker, api.refusals.note)
    if bundles is not None:
        add_policy_bundle(app, bundles)
    if passkeys is not None:
        add_passkeys(app, passkeys)
    if links is not None:
        add_links(app, links)
    if slack is not None:
        app.router.routes.append(Route("/slack/events", slack))
    if install is not None:
        app.router.routes += [Route("/slack/install", install), Route("/slack/oauth_redirect", install)]
    return app


class _Routes:
    def __init__(self, api: Api) -> None:
        self.desk = api.desk
        self.secrets = api.secrets
        self.buckets = TokenBuckets(api.rate)

    async def notify(self, request: Request) -> NotificationOut:
        caller, body = await self.signed(request)
        answer = _answer(parse_body(NotificationIn, body))
        notification_id, facts = await self.desk.notify(caller.id, caller.grants, answer)
        reason = str(facts.get("reason", ""))
        if facts["status"] == NotificationStatus.REFUSED:
            code = AnswerCode(facts["code"])
            raise problem_of(_REFUSED[code], reason, code, answer.correlation_key)
        waits = [WaitOut(**{name: one[name] for name in WaitOut.model_fields}) for one in facts.get("waits", ())]
        outcomes = Counter(wait.status for wait in waits)
        return NotificationOut(
            notification_id=notification_id, status=facts["status"], reason=reason, waits=waits, outcomes=outcomes
        )

    async def run(self, run_id: Id, request: Request) -> RunOut:
        caller, _ = await self.signed(request)
        summary = await self.desk.run(run_id)
        if summary is None or await self.desk.type_of(summary) not in caller.grants.triggers:
            raise Problem(404, f"no run {run_id}")
        return RunOut.model_validate({**summary, "link": self.desk.link_to(run_id) or None})

    async def search(self, request: Request) -> EvidencePage:
        """Return evidence of runs of the types that the caller may trigger; more than that it may not see."""
        caller, body = await self.signed(request)
        asked = parse_body(EvidenceIn, body)
        try:
            found = await self.desk.find(asked.sought(caller.grants.triggers))
        except LookupError as error:
            raise Problem(422, f"after: {error}") from error
        return EvidencePage.of(found, asked.limit)

    async def signed(self, request: Request, *, query: bool = False, most: int = BODY_LIMIT) -> tuple[Caller, bytes]:
        """Return the caller, whom the directory has, and the body that it signed, of at most so many bytes."""
        caller, body = await self.verified(request, query=query, most=most)
        return granted(caller, await self.desk.grants(caller)), body

    async def verified(self, request: Request, *, query: bool = False, most: int = BODY_LIMIT) -> tuple[str, bytes]:
        """Return who signed, and the body. What cannot be signed is refused before its body is read.

        A query string is part of the path that is signed. Most routes take none, and say so to whoever signed.
        """
        sent = request.scope
        paths = [b"?".join(filter(None, (sent["raw_path"], sent["query_string"])))]
        if not query:
            paths.append(sent["raw_path"])
        claim = claimed(sent["headers"], self.secrets, self.desk.now().timestamp())
        if claim is None:
            raise _not_signed()
        body = await read_body(request, most)
        if not any(is_signed(claim, self.secrets[claim.caller], sent["method"], path, body) for path in paths):
            raise _not_signed()
        request.state.caller = claim.caller
        self.charge(claim.caller, 1)
        if sent["query_string"] and not query:
            raise Problem(400, "this route takes no query string: remove it")
        return claim.caller, body

    def charge(self, caller: str, count: int) -> None:
        """Count requests against the caller's rate; raise Problem where they are too many."""
        if wait := self.buckets.take(caller, asyncio.get_running_loop().time(), count):
            raise Problem(429, f"{caller} sends too many requests", {"Retry-After": str(math.ceil(wait))})

    async def requester(self, caller: Caller, on_behalf_of: str | None) -> Actor:
        """Return who is behind what a caller wants: itself, or the person for whom it speaks."""
        if on_behalf_of is None and caller.grants.on_behalf:
            raise Problem(422, f"on_behalf_of: missing; {caller.id} speaks for people")
        if on_behalf_of is None:
            return Actor(id=caller.id, kind="agent")
        if not caller.grants.on_behalf:
            raise Denied("caller.on_behalf", on_behalf_of, f"{caller.id} may not speak for others")
        if not await self.desk.knows_person(on_behalf_of):
            raise Problem(422, f"on_behalf_of: the directory has no person {on_behalf_of}")
        return Actor(id=on_behalf_of, kind="person")

    async def speaker(self, caller: Caller, on_behalf_of: str | None) -> Actor:
        """Return who acts on a run that there is: a person only if the caller may answer for that one."""
        by = await self.requester(caller, on_behalf_of)
        if by.kind == "person" and by.id not in caller.grants.answers_for:
            raise Denied("caller.answers_for", by.id, f"{caller.id} may not answer for {by.id}")
        return by


def _not_signed() -> Problem:
    return Problem(401, "the signature is missing, wrong or older than five minutes")


def _answer(sent: NotificationIn) -> Answer:
    return Answer(
        answer_id=sent.id,
        is_progress=sent.type == "progress",
        outcome="failed" if sent.type == "failed" else "succeeded",
        correlation_key=sent.correlation_key,
        result=sent.result,
        error=sent.error,
        message=sent.message,
        data=sent.data,
        token=sent.token,
    )
