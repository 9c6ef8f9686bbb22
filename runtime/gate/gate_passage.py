"""What the steps of the gate share: one effect on its way, its connector, and the writing of what became of it.

Circuit breakers are told how each call of a connector went; `model.circuit_breaker` says what they mean.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import psycopg

from runtime.engine import Engine
from runtime.evaluator import StoppedError
from runtime.failpoints import Point, at
from runtime.gate import settlement
from runtime.gate.beginning import ahead_or_not
from runtime.handlers import (
    BlockedError,
    Call,
    Handler,
    JsonObject,
    NotTakenError,
    OutcomeUnknownError,
    RefusedError,
    TransientError,
)
from runtime.model.circuit_breaker import BreakerState
from runtime.model.effect import ChainedLease, Effect, LeaseSlot, NewEffect
from runtime.model.limits import error_text, json_fault
from runtime.model.states import StepStatus
from runtime.model.steps import ResultError
from runtime.model.subscription import CONNECTOR as WEBHOOK
from runtime.outbox.attempts import Attempt
from runtime.planning.advance import looks_of
from runtime.planning.effect_tx import EffectTx
from runtime.planning.run_starts import Ahead
from runtime.planning.step_errors import describe, step_error
from runtime.planning.transition import StepMoved
from runtime.store import circuit_breakers
from runtime.store.database.pool import AWAY
from runtime.store.passage_facts import EndedEffect
from runtime.store.run_tx import RunSnapshot, RunTx
from runtime.store.transaction_batcher import Look

FINISH_PAUSES = (0.2, 1.0, 3.0, 5.0, 5.0, 5.0)
"""Seconds between tries to write an outcome while the database is away or takes no writes."""

log = logging.getLogger(__name__)

T = TypeVar("T")

MayChain = Callable[[NewEffect], bool]
"""Whether an effect that follows may have the slot of the one before it."""


@dataclass(frozen=True)
class Void:
    """An approval that cannot count, and why: only a new one lets the effect pass."""

    approval_id: str
    reason: str


class GatePassage:
    """One effect on its way through the gate."""

    def __init__(self, engine: Engine, attempt: Attempt, may_chain: MayChain, known: RunSnapshot | None = None) -> None:
        self.engine = engine
        self.attempt = attempt
        self.effect = attempt.effect
        self.chained: ChainedLease | None = None
        self._may_chain = may_chain
        self._known = known
        self.void: Void | None = None
        self.before: JsonObject | None = None if self.effect.before is None else dict(self.effect.before)
        self.handler: Handler | None = engine.handlers.get(f"{self.effect.connector}::{self.effect.operation}")

    async def write(
        self, work: Callable[[EffectTx], Awaitable[T]], looks: Sequence[Look] = (), *, alone: bool = False
    ) -> T:
        """Lock the run, write what is to be written of this passage, and commit, together with others or alone.

        `looks` is what the work is likely to read first. What a transaction that was undone had noted on the attempt is
        forgotten with it.
        """
        before = self.attempt

        async def on(tx: RunTx) -> T:
            self.attempt = replace(before)
            return await work(EffectTx(self.engine, tx, self.attempt))

        try:
            return await self.engine.on_run(self.effect.run_id, on, looks, self._known, alone=alone)
        except Exception:
            self.attempt = before
            raise

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

        async def work(passage: EffectTx) -> None:
            why = (await passage.tx.privacy()).text(reason)
            if self.effect.postponed == 0:
                passage.note(event, {"error": why})
            await settlement.postpone(passage, why)

        await self.write(work)
        at(Point.EFFECT_POSTPONED)

    async def finish(self, result: JsonObject | Exception) -> None:
        """Write what happened; a database that blinks must not turn it into doubt, so it is tried while fenced."""
        for pause in (*FINISH_PAUSES, None):
            try:
                self.chained = await ahead_or_not(
                    lambda ahead: self.write(partial(self._outcome, result, ahead), self._looks())
                )
                break
            except (*AWAY, StoppedError) as error:
                if pause is None:
                    raise
                log.warning("outcome of effect %s not written yet: %s", self.effect.effect_id, error)
                await asyncio.sleep(pause)
        at(Point.ATTEMPT_ENDED)

    def _looks(self) -> Sequence[Look]:
        """Return what the run's next move reads first if the effect succeeded."""
        effect, facts = self.effect, self.attempt.facts
        definition = self.engine.definitions.known(facts.definition_name, facts.definition_version)
        if definition is None or effect.is_message:
            return ()
        status = StepStatus.PARKED if effect.correlation_key else StepStatus.SUCCEEDED
        ended = EndedEffect(effect.tenant, effect.run_id, facts.requested_by, effect.effect_id)
        return [*looks_of(definition, effect.run_id, StepMoved(effect.step, status)), ended]

    async def _outcome(self, result: JsonObject | Exception, ahead: Ahead, passage: EffectTx) -> ChainedLease | None:
        engine, tx = self.engine, passage.tx
        slot = LeaseSlot(engine.worker, tx.now + engine.timing.lease, self._may_chain)
        with tx.chaining_into(slot):
            await _settle(passage, result)
        await ahead(engine, tx, slot.chained, self.effect.effect_id)
        at(Point.ATTEMPT_ENDING)
        return slot.chained


async def _settle(passage: EffectTx, result: JsonObject | Exception) -> None:
    if not isinstance(result, Exception):
        await settlement.succeed(passage, result)
        return
    reason = error_text((await passage.tx.privacy()).text(describe(result)))
    is_read = passage.effect.is_read
    match result:
        case BlockedError():
            await settlement.hold(passage, reason)
        case RefusedError():
            await settlement.fail(passage, reason, step_error(result).code)
        case NotTakenError():
            await settlement.wait_until_taken(passage, reason, result.retry_after)
        case TransientError():
            await settlement.try_later(passage, reason, result.retry_after)
        case TimeoutError() if is_read and not passage.attempt.is_spent:
            await settlement.try_later(passage, reason, None)
        case _ if is_read:
            await settlement.fail(passage, reason, step_error(result).code)
        case _:
            await settlement.doubt(passage, reason)


def kept(effect: Effect, result: JsonObject) -> JsonObject:
    """Return a result as it goes on record; raise ResultError where a read came back with what cannot be kept."""
    wrong = json_fault(result)
    if wrong and effect.is_read:
        raise ResultError(f"result: {wrong}")
    return recordable(result)


def recordable(result: JsonObject) -> JsonObject:
    """Return a connector's result, or a note in its place: it acted, whatever is wrong with its answer."""
    wrong = json_fault(result)
    return result if wrong is None else {"not_recorded": wrong}


def speaks_for_failure(result: JsonObject | Exception) -> bool:
    """Return whether a call's outcome says that the other side is away: no answer, or none that could be used.

    A refusal is an answer, and so is a word to come back later.
    """
    if isinstance(result, TransientError):
        return result.retry_after is None
    return isinstance(result, OutcomeUnknownError | TimeoutError | OSError)


def failed_scopes(connector: str, target: str) -> tuple[tuple[str, str], ...]:
    """Return what a failure of a target speaks for: for that target, and for the connector as a whole ("").

    Receivers of webhooks are systems of their own: one that is away says nothing of the others.
    """
    if connector == WEBHOOK:
        return ((connector, target),)
    return tuple(dict.fromkeys(((connector, ""), (connector, target))))


async def report(engine: Engine, connector: str, target: str, result: JsonObject | Exception) -> None:
    """Count a failure for all that it speaks for, or close both; never a reason for the work to fail."""
    try:
        if speaks_for_failure(result):
            await _count(engine, connector, target)
        elif engine.troubled & {(connector, ""), (connector, target)}:
            async with engine.pool.connection() as conn:
                await circuit_breakers.close_breakers(conn, engine.tenant, (connector, target))
            engine.troubled.difference_update({(connector, ""), (connector, target)})
    except (psycopg.Error, OSError) as error:
        log.warning("breaker of %s not told: %s", connector, type(error).__name__)


async def _count(engine: Engine, connector: str, target: str) -> None:
    now = engine.clock()
    async with engine.pool.connection() as conn:
        for scope in failed_scopes(connector, target):
            breaker = await circuit_breakers.record_failure(conn, engine.tenant, scope, now)
            engine.troubled.add(scope)
            if breaker.state(now) is BreakerState.OPEN:
                log.warning("%s is left alone until %s after %d failures", "/".join(scope), breaker.open_until,
                            breaker.failures)  # fmt: skip


async def refresh(engine: Engine) -> None:
    """Learn from the database which connectors and targets have failed in other processes."""
    async with engine.pool.connection() as conn:
        known = await circuit_breakers.failing_breakers(conn, engine.tenant)
    engine.troubled.clear()
    engine.troubled.update(known)
