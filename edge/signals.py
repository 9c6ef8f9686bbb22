"""Signals to runs: what callers send, what they get, and the two routes."""

from typing import Annotated, Any

from fastapi import FastAPI, Request
from pydantic import Field, StringConstraints

from edge.callers import Caller, Signed
from edge.messages import Id, Message, WaitOut, Word, parse_body
from edge.problems import Problem
from runtime.model.states import NotificationStatus
from runtime.services.signals import Signal, SignalService

Name = Annotated[str, StringConstraints(max_length=100, pattern=r"^[a-z][a-z0-9_]*$")]


class SignalIn(Message):
    """Word to a run. `ref` is the sender's own: the same ref is applied once."""

    ref: Word
    name: Name
    data: dict[str, Any] = Field(default_factory=dict)


class ReferenceSignalIn(SignalIn):
    """Word to the one run that goes on under a business reference."""

    reference: Word


class SignalOut(Message):
    """What became of a signal, and why: applied, early, stale, or received and not applied yet."""

    notification_id: str
    run_id: str
    status: str
    reason: str
    waits: list[WaitOut]


def add_signals(app: FastAPI, desk: SignalService, signed: Signed) -> None:
    """Add the routes of signals; `signed` returns the caller and the body that it signed."""

    @app.post("/v1/runs/{run_id}/signals", status_code=202)
    async def to_run(run_id: Id, request: Request) -> SignalOut:
        caller, body = await signed(request)
        sent = parse_body(SignalIn, body)
        return await _send(desk, caller, Signal(sent.ref, run_id, None, sent.name, sent.data))

    @app.post("/v1/signals", status_code=202)
    async def by_reference(request: Request) -> SignalOut:
        caller, body = await signed(request)
        sent = parse_body(ReferenceSignalIn, body)
        return await _send(desk, caller, Signal(sent.ref, None, sent.reference, sent.name, sent.data))


async def _send(desk: SignalService, caller: Caller, signal: Signal) -> SignalOut:
    notification_id, run_id, facts = await desk.send(caller.id, caller.grants.signals, signal)
    reason = str(facts.get("reason", ""))
    if facts["status"] == NotificationStatus.REFUSED:
        raise Problem(422, reason)
    return SignalOut(
        notification_id=notification_id,
        run_id=run_id,
        status=facts["status"],
        reason=reason,
        waits=[WaitOut(**{name: one[name] for name in WaitOut.model_fields}) for one in facts.get("waits", ())],
    )
