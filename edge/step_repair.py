"""Step repair over HTTP: callers bring a person's decision; the messages and the route."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import FastAPI, Request
from pydantic import StringConstraints

from edge.callers import Requester, Signed
from edge.messages import Id, Message, StepPath, Word, parse_body
from edge.problems import Problem, problem_of
from runtime.model.commands import RepairStepPayload
from runtime.model.run import RepairAction
from runtime.model.states import NotificationStatus
from runtime.services.step_repair import StepRepairApi

_STATUS = {NotificationStatus.STALE: 409, NotificationStatus.REFUSED: 404}
_REFUSED = {"act.denied": 403, "act.unfit": 422}

Why = Annotated[str, StringConstraints(min_length=1, max_length=2000)]


class RepairIn(Message):
    """What a person says of a step as they saw it, by `version`. `id` is the sender's own: it is applied once."""

    id: Word
    on_behalf_of: Word
    reason: Why
    version: int


class SupplyIn(RepairIn):
    """The result that a person gives the step."""

    result: Any


class RepairOut(Message):
    """What was done."""

    run_id: str
    step: str
    act: str


def add_step_repair(app: FastAPI, desk: StepRepairApi, signed: Signed, requester: Requester) -> None:
    """Add the route; `signed` returns the caller and its body, `requester` the person for whom it speaks."""

    @app.post("/v1/runs/{run_id}/steps/{path}/{act}")
    async def repair(run_id: Id, path: StepPath, act: RepairAction, request: Request) -> RepairOut:
        caller, body = await signed(request)
        sent = parse_body(SupplyIn if act == RepairAction.SUPPLY else RepairIn, body)
        by = await requester(caller, sent.on_behalf_of)
        payload = RepairStepPayload(run_id=run_id, step=path, act=act, submitted_by=caller.id, **_said(sent))
        try:
            await desk.step(caller.grants.repairs, run_id, path)
            facts = await desk.repair(by, sent.id, payload)
        except LookupError as error:
            raise Problem(404, str(error)) from error
        return _out(facts, by.id)


def _said(sent: RepairIn) -> dict[str, Any]:
    return sent.model_dump(exclude={"id", "on_behalf_of"})


def _out(facts: Mapping[str, Any], by: str) -> RepairOut:
    status = NotificationStatus(facts["status"])
    if status is not NotificationStatus.APPLIED:
        rule = str(facts.get("code"))
        code = _REFUSED.get(rule, 409) if status is NotificationStatus.REFUSED else _STATUS.get(status)
        raise problem_of(code or 503, str(facts.get("reason", status)), rule, by)
    return RepairOut(**{name: facts[name] for name in RepairOut.model_fields})
