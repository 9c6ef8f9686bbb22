"""Canceling runs and taking back what they did: what callers send, what they get, and the routes."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Self

from fastapi import FastAPI, Request
from pydantic import Field, StringConstraints, model_validator

from edge.callers import Requester, Signed
from edge.messages import Id, Message, Word, parse_body
from edge.problems import Denied, Problem
from runtime.model.commands import CancelPayload, UndoPayload
from runtime.model.notification import ConflictError
from runtime.model.states import NotificationStatus, RunStatus
from runtime.model.undo import Item
from runtime.services.caller_acts import CompensationApi, Wish, Wisher
from runtime.services.compensation import Chosen

_STATUS = {NotificationStatus.REFUSED: 422, NotificationStatus.STALE: 409}

Why = Annotated[str, StringConstraints(min_length=1, max_length=2000)]


class _WishIn(Message):
    """Who wants it and why. `id` is the sender's own: the same id is applied once."""

    id: Word
    reason: Why
    on_behalf_of: Word | None = None


class CancelIn(_WishIn):
    """A wish that a run stops. `version` is that of the run as the sender saw it."""

    version: int | None = None


class CancelAllIn(_WishIn):
    """A wish that all runs stop that are meant. With `dry_run` they are only listed."""

    reference: Word | None = None
    definition: Word | None = None
    status: Annotated[RunStatus | None, Field(strict=False)] = None
    started_after: Annotated[datetime | None, Field(strict=False)] = None
    started_before: Annotated[datetime | None, Field(strict=False)] = None
    dry_run: bool

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if self.reference is None and self.definition is None:
            raise ValueError("name a reference or a definition")
        if any(moment and moment.tzinfo is None for moment in (self.started_after, self.started_before)):
            raise ValueError("a moment needs its offset from UTC")
        return self

    def chosen(self, types: Sequence[str]) -> Chosen:
        """Return which runs are meant, of types that the sender may cancel."""
        named = self.model_dump(include={"reference", "definition", "status"})
        return Chosen(**named, since=self.started_after, until=self.started_before, types=list(types))


class UndoIn(_WishIn):
    """A wish that what a run did is taken back, or one step of it. With `dry_run` it is only listed."""

    step: Word | None = None
    version: int | None = None
    dry_run: bool


class CancelOut(Message):
    """What became of a run; `withdrawn_in` is the run that tells those whom it had asked."""

    run_id: str
    status: str
    reason: str
    withdrawn_in: str | None


class CancelAllOut(Message):
    """The runs that are meant, the oldest first; with what became of each, unless they were only listed."""

    runs: list[CancelOut]


class ItemOut(Message):
    """One effect of a run, and how it stands as to being undone."""

    step: str
    what: str
    target: str
    standing: str
    why: str


class UndoOut(Message):
    """The run that undoes, None where it was only listed; what is undone, and what is left and why."""

    undone_in: str | None
    undone: list[ItemOut]
    left: list[ItemOut]


Note = Callable[[Request, Denied], None]


def add_undo(app: FastAPI, desk: CompensationApi, signed: Signed, requester: Requester, note: Note) -> None:
    """Add the routes; `signed` returns the caller and its body, `requester` who is behind a wish.

    `note` is told of each run of several that policy does not let the caller stop: such an answer is no 403.
    """

    @app.post("/v1/runs/cancel")
    async def cancel_all(request: Request) -> CancelAllOut:
        caller, body = await signed(request)
        sent = parse_body(CancelAllIn, body)
        wisher = Wisher(caller.id, await requester(caller, sent.on_behalf_of), caller.grants.cancels)
        runs = list[CancelOut]()
        for row in await desk.chosen(sent.chosen(wisher.types)):
            facts = await _cancel_one(desk, wisher, sent, row)
            if denied := _denied(facts, wisher):
                note(request, denied)
            runs.append(_canceled(row["run_id"], facts))
        return CancelAllOut(runs=runs)

    @app.post("/v1/runs/{run_id}/cancel")
    async def cancel(run_id: Id, request: Request) -> CancelOut:
        caller, body = await signed(request)
        sent = parse_body(CancelIn, body)
        wisher = Wisher(caller.id, await requester(caller, sent.on_behalf_of), caller.grants.cancels)
        payload = CancelPayload(run_id=run_id, reason=sent.reason, version=sent.version, submitted_by=caller.id)
        return _canceled(run_id, await _done(desk, wisher, sent.id, payload))

    @app.post("/v1/runs/{run_id}/undo")
    async def undo(run_id: Id, request: Request) -> UndoOut:
        caller, body = await signed(request)
        sent = parse_body(UndoIn, body)
        wisher = Wisher(caller.id, await requester(caller, sent.on_behalf_of), caller.grants.undoes)
        if sent.dry_run:
            return await _previewed(desk, wisher, run_id, sent.step)
        said = {"step": sent.step, "reason": sent.reason, "version": sent.version}
        payload = UndoPayload(run_id=run_id, submitted_by=caller.id, **said)
        facts = await _done(desk, wisher, sent.id, payload)
        return UndoOut(**{name: facts[name] for name in UndoOut.model_fields})


async def _cancel_one(
    desk: CompensationApi, wisher: Wisher, sent: CancelAllIn, row: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Have a run stopped, unless it is only listed; return the facts of what became of it."""
    if sent.dry_run:
        return {"status": row["status"]}
    payload = CancelPayload(run_id=row["run_id"], reason=sent.reason, submitted_by=wisher.caller)
    try:
        _, facts = await desk.wish(wisher, f"{sent.id}:{row['run_id']}", payload)
    except ConflictError as error:
        facts = {"status": NotificationStatus.REFUSED, "reason": str(error)}
    return facts


def _canceled(run_id: str, facts: Mapping[str, Any]) -> CancelOut:
    return CancelOut(
        run_id=run_id,
        status=str(facts["status"]),
        reason=str(facts.get("reason", "")),
        withdrawn_in=facts.get("withdrawn_in"),
    )


async def _done(desk: CompensationApi, wisher: Wisher, wish_id: str, wish: Wish) -> Mapping[str, Any]:
    """Have a wish recorded and applied; return the facts of what it did."""
    try:
        _, facts = await desk.wish(wisher, wish_id, wish)
    except LookupError as error:
        raise Problem(404, str(error)) from error
    if (status := facts["status"]) != NotificationStatus.APPLIED:
        denied = _denied(facts, wisher)
        raise denied or Problem(_STATUS.get(NotificationStatus(status), 503), str(facts.get("reason", status)))
    return facts


def _denied(facts: Mapping[str, Any], wisher: Wisher) -> Denied | None:
    """Return that policy denied a wish, None where it did not."""
    rule = facts.get("code")
    return Denied(rule, wisher.by.id, str(facts["reason"])) if rule == "act.denied" else None


async def _previewed(desk: CompensationApi, wisher: Wisher, run_id: str, step: str | None) -> UndoOut:
    try:
        items = await desk.preview(wisher, run_id, step)
    except LookupError:
        raise Problem(404, f"no run {run_id}") from None
    shown = [(item.is_possible, _item(item)) for item in items]
    return UndoOut(
        undone_in=None,
        undone=[one for can, one in shown if can],
        left=[one for can, one in shown if not can],
    )


def _item(item: Item) -> ItemOut:
    return ItemOut(**{name: getattr(item, name) for name in ItemOut.model_fields})
