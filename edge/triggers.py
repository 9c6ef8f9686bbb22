"""Triggers: what callers send to have runs started, one by one or in batches, what they get, and the routes."""

import asyncio
import logging
from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Request
from pydantic import Field

from edge.callers import Caller, Requester, Signed
from edge.messages import BODY_LIMIT, Message, Name, Word, parse_body, parse_value
from edge.problems import TITLES, Denied, Problem, on_record, problem_for
from runtime.services.callers import Claim, TriggerApi, Wish

MOST = 1000
"""Triggers in a batch."""
BATCH_LIMIT = 4 * 1024 * 1024
"""Bytes of a batch."""
_AT_ONCE = 128
"""Triggers of a batch that wait for the database at a time: those of other callers come in between."""
_FAULT = 500

log = logging.getLogger(__name__)


class TriggerIn(Message):
    """A wish to start a run. `ref` names the event at its source: the same ref never starts a second run.

    `version` names one of the active versions of the runbook; without it the newest of them starts.
    """

    ref: Word
    payload: dict[str, Any]
    on_behalf_of: Word | None = None
    version: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None


class TypedTriggerIn(TriggerIn):
    """A trigger of a batch, with its type."""

    type: Annotated[Word, Field(max_length=200)]


class BatchIn(Message):
    """A batch of triggers. Each is read by itself: one that is wrong harms no other."""

    triggers: Annotated[list[Any], Field(min_length=1, max_length=MOST)]


class TriggerSignalOut(Message):
    """The signal that a trigger became, and what became of that: applied, early, refused, or received so far."""

    name: str
    status: str
    reason: str


class TriggerOut(Message):
    """The run that the trigger started, now or before.

    With `signal` it started none: that run is about the same, goes on, and was told.
    """

    run_id: str
    is_new: bool
    signal: TriggerSignalOut | None = None


class ProblemOut(Message):
    """Why a trigger of a batch started nothing: the status and sentence that it would have got alone."""

    status: int
    title: str
    detail: str


class OutcomeOut(Message):
    """What became of a trigger of a batch, in its place.

    `started` a run; `known`: the same trigger had started it before; `signaled` the run that is about the same;
    `refused` for good; `failed` for now: it may be sent again.
    """

    outcome: Literal["started", "known", "signaled", "refused", "failed"]
    ref: str | None = None
    run_id: str | None = None
    signal: TriggerSignalOut | None = None
    problem: ProblemOut | None = None


class BatchOut(Message):
    """What became of each trigger of a batch, in the order in which they were sent."""

    outcomes: list[OutcomeOut]


def add_triggers(
    app: FastAPI,
    desk: TriggerApi,
    signed: Signed,
    requester: Requester,
    charge: Callable[[str, int], None],
    note: Callable[[Request, Denied], None],
) -> None:
    """Add the routes of triggers; `charge` counts them against the caller's rate, `note` is told of refusals."""

    async def start(caller: Caller, type_: str, sent: TriggerIn) -> Claim:
        _expect_granted(caller, type_)
        by = await requester(caller, sent.on_behalf_of)
        return await desk.trigger(Wish(type_, sent.version, sent.ref, sent.payload), by, caller.id)

    @app.post("/v1/triggers/{type_}", status_code=202, response_model_exclude_none=True)
    async def trigger(type_: Name, request: Request) -> TriggerOut:
        caller, body = await signed(request)
        _expect_granted(caller, type_)  # before its body is read
        claim = await start(caller, type_, parse_body(TriggerIn, body))
        return TriggerOut(run_id=claim.run_id, is_new=claim.is_new and not claim.signal, signal=_signal(claim))

    @app.post("/v1/triggers:batch", status_code=202, response_model_exclude_none=True)
    async def batch(request: Request) -> BatchOut:
        caller, body = await signed(request, most=BATCH_LIMIT)
        sent = (await _read(body)).triggers
        charge(caller.id, len(sent) - 1)  # the request itself has counted as one

        async def outcome(value: Any) -> OutcomeOut:
            ref = value.get("ref") if isinstance(value, dict) else None
            try:
                one = parse_value(TypedTriggerIn, value)
                return _outcome(one.ref, await start(caller, one.type, one))
            except Exception as error:  # noqa: BLE001 - it is told in its place
                if denied := on_record(error, caller.id):
                    note(request, denied)
                return _problem(ref if isinstance(ref, str) else None, error)

        outcomes: list[OutcomeOut] = []
        for first in range(0, len(sent), _AT_ONCE):
            outcomes += await asyncio.gather(*map(outcome, sent[first : first + _AT_ONCE]))
        return BatchOut(outcomes=outcomes)


async def _read(body: bytes) -> BatchIn:
    """Return the batch in a body, or raise Problem; a large one takes up to a second, and is read beside the loop."""
    if len(body) <= BODY_LIMIT:
        return parse_body(BatchIn, body)
    return await asyncio.to_thread(parse_body, BatchIn, body)


def _expect_granted(caller: Caller, type_: str) -> None:
    if type_ not in caller.grants.triggers:
        raise Denied("caller.triggers", type_, f"{caller.id} may not send triggers of type {type_}")


def _signal(claim: Claim) -> TriggerSignalOut | None:
    sent = claim.signal
    return TriggerSignalOut(name=sent.name, status=sent.status, reason=sent.reason) if sent else None


def _outcome(ref: str, claim: Claim) -> OutcomeOut:
    outcome: Literal["signaled", "started", "known"]
    outcome = "signaled" if claim.signal else "started" if claim.is_new else "known"
    return OutcomeOut(outcome=outcome, ref=ref, run_id=claim.run_id, signal=_signal(claim))


def _problem(ref: str | None, error: Exception) -> OutcomeOut:
    problem: Problem = problem_for(error)
    if problem.status == _FAULT:
        log.error("a trigger of a batch could not be handled", exc_info=error)
    said = ProblemOut(status=problem.status, title=TITLES.get(problem.status, "Error"), detail=problem.detail)
    return OutcomeOut(outcome="failed" if problem.status >= _FAULT else "refused", ref=ref, problem=said)
