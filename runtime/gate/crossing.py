"""What the steps of the gate share: one effect on its way, its connector, and the writing of what became of it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from runtime.engine import Engine
from runtime.failpoints import Point, at
from runtime.gate import settlement
from runtime.handlers import (
    Call,
    Handler,
    HandlerError,
    HeldError,
    JsonObject,
    NotTakenError,
    RefusedError,
    TransientError,
)
from runtime.model.json_limits import error_text, fault
from runtime.outbox.attempt import Attempt
from runtime.planning.passage import Passage
from runtime.store.database.pool import AWAY

FINISH_PAUSES = (0.2, 1.0, 3.0, 5.0, 5.0, 5.0)
"""Seconds between tries to write an outcome while the database is away or takes no writes."""

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True)
class Void:
    """An approval that cannot count, and why: only a new one lets the effect pass."""

    approval_id: str
    reason: str


class Crossing:
    """One effect on its way through the gate."""

    def __init__(self, engine: Engine, attempt: Attempt) -> None:
        self.engine = engine
        self.attempt = attempt
        self.effect = attempt.effect
        self.void: Void | None = None
        self.before: JsonObject | None = None if self.effect.before is None else dict(self.effect.before)
        self.handler: Handler | None = engine.handlers.get(f"{self.effect.connector}::{self.effect.operation}")

    @asynccontextmanager
    async def passage(self) -> AsyncIterator[Passage]:
        """Lock the run in a transaction of its own."""
        async with self.engine.run_tx(self.effect.run_id) as tx:
            yield Passage(self.engine, tx, self.attempt)

    async def call(self, work: Callable[[Call], Awaitable[T]], seconds: float) -> T:
        """Call the connector, within a time."""
        async with asyncio.timeout(seconds):
            return await work(self._call())

    def _call(self) -> Call:
        effect, task = self.effect, self.attempt.task_id
        return Call(
            tenant=effect.tenant,
            run_id=effect.run_id,
            step=effect.step,
            operation=effect.operation,
            params={**effect.fields, **({"approval_id": task} if task else {})},
            target=effect.target,
            key=effect.idempotency_key,
            correlation_key=effect.correlation_key,
            token=self.attempt.token,
            before=self.before,
        )

    async def postpone(self, event: str, reason: str) -> None:
        """Begin nothing now; the first time in a row is on record."""
        async with self.passage() as passage:
            reason = (await passage.tx.privacy()).text(reason)
            if self.effect.postponed == 0:
                passage.note(event, {"error": reason})
            await settlement.postpone(passage, reason)
        at(Point.EFFECT_POSTPONED)

    async def finish(self, result: JsonObject | Exception) -> None:
        """Write what happened; a database that blinks must not turn it into doubt, so it is tried while fenced."""
        for pause in FINISH_PAUSES:
            try:
                await self._write(result)
            except AWAY as error:
                log.warning("outcome of effect %s not written yet: %s", self.effect.effect_id, error)
                await asyncio.sleep(pause)
            else:
                at(Point.ATTEMPT_ENDED)
                return
        await self._write(result)

    async def _write(self, result: JsonObject | Exception) -> None:
        async with self.passage() as passage:
            await self._settle(passage, result)
            at(Point.ATTEMPT_ENDING)

    @staticmethod
    async def _settle(passage: Passage, result: JsonObject | Exception) -> None:
        if not isinstance(result, Exception):
            await settlement.succeed(passage, result)
            return
        reason = error_text((await passage.tx.privacy()).text(describe(result)))
        match result:
            case HeldError():
                await settlement.hold(passage, reason)
            case RefusedError():
                await settlement.fail(passage, reason)
            case NotTakenError():
                await settlement.wait_until_taken(passage, reason, result.retry_after)
            case TransientError():
                await settlement.try_later(passage, reason, result.retry_after)
            case _:
                await settlement.doubt(passage, reason)


def recordable(result: JsonObject) -> JsonObject:
    """Return a connector's result, or a note in its place: it acted, whatever is wrong with its answer."""
    wrong = fault(result)
    return result if wrong is None else {"not_recorded": wrong}


def describe(error: Exception) -> str:
    """Return what an error says, uncleaned."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return str(error) if isinstance(error, HandlerError) else f"{type(error).__name__}: {error}"
