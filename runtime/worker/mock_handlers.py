"""Handlers of a process that runs on mocks: mocked ones answer as the overlay says, and no other one may write."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from receipts.chain import Actor
from runtime.engine import Engine
from runtime.handlers import (
    Call,
    Done,
    Handler,
    HandlerError,
    HeldError,
    JsonObject,
    NotTakenError,
    OutcomeUnknownError,
    Reconciled,
    RefusedError,
    TransientError,
)
from runtime.inbox import inbox
from runtime.model.answers import CompletionPayload
from runtime.model.notification import Notification
from runtime.worker.mock_overlay import KEPT, Mock, Overlay

MOCK = Actor(id="mock", kind="system")
"""Who answers for the other side of a durable step."""

_ERRORS: Mapping[str, type[HandlerError]] = {
    "transient": TransientError,
    "not_taken": NotTakenError,
    "held": HeldError,
    "refused": RefusedError,
    "unknown": OutcomeUnknownError,
}

Complete = Callable[[Call, Mock], Awaitable[None]]


def overlaid(handlers: Mapping[str, Handler], overlay: Overlay, complete: Complete) -> dict[str, Handler]:
    """Return the handlers of a process with this overlay; `complete` gives the answer to a durable step."""
    return {name: _overlaid(name, handler, overlay.get(name), complete) for name, handler in handlers.items()}


def _overlaid(name: str, handler: Handler, mock: Mock | None, complete: Complete) -> Handler:
    if mock is not None:
        return _mocked(handler, mock, complete)
    if handler.writes and name.partition("::")[0] not in KEPT:
        return Handler(partial(_refuse, name), reconcile=handler.reconcile)
    return handler


async def _refuse(name: str, call: Call) -> JsonObject:
    del call
    raise RefusedError(f"this program runs on mocks, and {name} is none of them: nothing is written for real")


def _mocked(handler: Handler, mock: Mock, complete: Complete) -> Handler:
    """Return the mock of a handler: it reads where that reads, and can tell what became of a write where that can."""
    failed: dict[tuple[str, str], int] = {}

    async def run(call: Call) -> JsonObject:
        await asyncio.sleep(mock.delay.total_seconds())
        _fail(mock, call, failed)
        if call.token and mock.answer is not None:
            await complete(call, mock)
        return dict(mock.result)

    async def reconcile(call: Call) -> Reconciled:
        del call
        return Done(dict(mock.result))

    async def before(call: Call) -> JsonObject:
        del call
        return dict(mock.before or {})

    return Handler(
        run,
        reconcile=reconcile if handler.reconcile else None,
        before=before if mock.before is not None else None,
        writes=handler.writes,
    )


def _fail(mock: Mock, call: Call, failed: dict[tuple[str, str], int]) -> None:
    """Raise what the overlay wants of this call: so many in a row for a step, counted in this process."""
    step = (call.run_id, call.step)
    if mock.fails is None or (mock.fails.times is not None and failed.get(step, 0) >= mock.fails.times):
        return
    failed[step] = failed.get(step, 0) + 1
    raise _ERRORS[mock.fails.kind](mock.fails.message)


def completing(engine: Engine) -> Complete:
    """Return what answers for the other side, as its own notification would: on record, and applied once."""

    async def complete(call: Call, mock: Mock) -> None:
        notification = Notification(
            notification_id=engine.new_id("ntf"),
            tenant=call.tenant,
            dedupe_key=f"{call.tenant}:{MOCK.id}:{call.token}",
            correlation_key=call.correlation_key,
            payload=CompletionPayload(result=dict(mock.answer or {}), token=call.token, verbs=list(mock.verbs)),
            actor=MOCK,
            request_id=engine.new_id("req"),
        )
        await inbox.apply(engine, await inbox.record(engine, notification))

    return complete
