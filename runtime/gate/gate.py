"""The gate: the only function that performs effects. Design, section 9; the numbers are its steps.

1. Make the action canonical and take its digest.
2. Look for a receipt under the idempotency key: a success is returned and nothing acts a second time; the same key
   with another fingerprint is refused.
3. Ask policy. No usable answer: nothing is performed, tried again with back-off, failed at the deadline.
4. `deny`: the effect is rejected, the step fails for good, the refusal gets a receipt.
5. `needs_approval`: the effect is deferred; approval, wait and card in one transaction.
6. `allow`: the decision is recorded and the approval consumed in the transaction that starts the attempt.
7. The connector is called, with the key and a timeout.
8. The receipt is written and the run advances in one transaction.
9. An attempt without an outcome is in doubt: retried, reconciled or asked about, as the verb declares.

Every write names the lease and its attempt: a worker that lost its lease writes nothing.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg

from policy.model import Outcome, PolicyUnavailableError, Question, Verdict
from receipts.redaction import redact
from runtime.approvals import requests
from runtime.engine import Engine
from runtime.gate import breakers, settlement
from runtime.handlers import (
    Call,
    Handler,
    HeldError,
    JsonObject,
    OutcomeUnknownError,
    RefusedError,
    TransientError,
)
from runtime.model.effect import Effect, KeyInUseError, LeaseLostError, OnDoubt
from runtime.model.json_limits import error_text, fault
from runtime.model.states import STEP, EffectStatus, StepStatus, WaitStatus, is_final
from runtime.outbox.attempt import Attempt, make_attempt, make_question
from runtime.planning.passage import Passage
from runtime.store import approvals, effects, records, waits
from runtime.store.passages import count_writes, read_facts

FINISH_PAUSES = (0.2, 1.0, 3.0)
"""Seconds between tries to write an outcome while the database is away."""

log = logging.getLogger(__name__)


async def perform(engine: Engine, effect: Effect) -> None:
    """Take a leased effect through the gate: its lease ends one way or another, unless it was lost meanwhile."""
    try:
        async with engine.pool.connection() as conn:
            facts = await read_facts(conn, effect)
        await _Gate(engine, make_attempt(effect, facts)).go()  # 1
    except LeaseLostError:
        log.info("lease lost on effect %s, attempt %d", effect.effect_id, effect.attempt)


class _Gate:
    """One passage of one effect. A method that returns False has settled the effect."""

    def __init__(self, engine: Engine, attempt: Attempt) -> None:
        self.engine = engine
        self.attempt = attempt
        self.effect = attempt.effect
        self.void: str | None = None  # an approval that was for another action: only a new one lets this one pass
        self.handler: Handler | None = engine.handlers.get(f"{self.effect.connector}::{self.effect.operation}")

    async def go(self) -> None:
        if not await self._look_for_receipt():  # 2
            return
        if self.attempt.is_doubtful and not await self._clear_doubt():  # 9
            return
        if not await self._refuse_unwanted():
            return
        question = make_question(self.attempt, self.engine.clock())
        verdict = await self._ask(question)  # 3
        if verdict is None:
            return
        outcome = verdict.answer.outcome
        if outcome is Outcome.DENY or self._cannot_be(outcome):
            await self._deny(question, verdict)  # 4
        elif outcome is Outcome.NEEDS_APPROVAL:
            await self._defer(question, verdict)  # 5
        elif await self._begin(question, verdict):  # 6
            await self._act()  # 7

    def _cannot_be(self, outcome: Outcome) -> bool:
        """Refuse what must not follow: acting after a void approval, and a card that asks for a card, and so on."""
        if outcome is Outcome.ALLOW:
            return self.void is not None
        return outcome is Outcome.NEEDS_APPROVAL and self.effect.is_message

    @asynccontextmanager
    async def _passage(self) -> AsyncIterator[Passage]:
        async with self.engine.run_tx(self.effect.run_id) as tx:
            yield Passage(self.engine, tx, self.attempt)

    # 2
    async def _look_for_receipt(self) -> bool:
        """Settle what succeeded before under the same key; False if that is so."""
        done = self.attempt.facts.done
        if done is None:
            return True
        async with self._passage() as passage:
            if done.fingerprint == self.attempt.action.digest:
                await settlement.repeat(passage, done.response)
            else:
                await settlement.reject(passage, "this idempotency key was used for another action")
        return False

    async def _refuse_unwanted(self) -> bool:
        """Settle what the run no longer wants, and what is not what was proposed; void what was approved otherwise."""
        attempt = self.attempt
        if attempt.facts.step_status is not None and is_final(STEP, attempt.facts.step_status):
            async with self._passage() as passage:
                return not await settlement.settle_if_step_ended(passage)
        if attempt.is_changed and attempt.approval_id is None:
            async with self._passage() as passage:
                await settlement.reject(passage, "the action is not the one that was proposed")
            return False
        if attempt.is_changed:
            self.void, attempt.approval_id = attempt.approval_id, None
        return True

    # 3
    async def _ask(self, question: Question) -> Verdict | None:
        try:
            verdict = await self.engine.policy.ask(question)
            if verdict.answer.obligations:
                raise PolicyUnavailableError(f"unknown obligations: {', '.join(verdict.answer.obligations)}")
        except PolicyUnavailableError as error:
            await self._postpone("policy.unavailable", str(error))
            return None
        await self._keep_text(verdict.policy_digest)
        return verdict

    async def _postpone(self, event: str, reason: str) -> None:
        async with self._passage() as passage:
            reason = (await passage.tx.privacy()).text(reason)
            if self.effect.postponed == 0:
                passage.note(event, {"error": reason})
            await settlement.postpone(passage, reason)

    async def _keep_text(self, digest: str) -> None:
        """Keep the exact text that gave the answer, before anything refers to it; once per process and digest."""
        engine = self.engine
        if digest in engine.kept_texts:
            return
        async with engine.pool.connection() as conn:
            await records.keep_policy_text(conn, engine.policy.text(digest), engine.clock())
        engine.kept_texts.add(digest)

    # 4
    async def _deny(self, question: Question, verdict: Verdict) -> None:
        async with self._passage() as passage:
            verdict = await self._put_on_record(passage, question, verdict)
            await settlement.reject(passage, self._why_not(verdict))

    def _why_not(self, verdict: Verdict) -> str:
        if self.void is not None:
            return "the action was changed after people approved it"
        if verdict.answer.outcome is Outcome.NEEDS_APPROVAL:
            return "policy asks for approval of what asks for approvals"
        return f"denied by policy: {'; '.join(reason.msg for reason in verdict.answer.reasons)}"

    async def _put_on_record(self, passage: Passage, question: Question, verdict: Verdict) -> Verdict:
        """Record the decision, and return it as it stands on record."""
        verdict = await requests.record_decision(passage, question, verdict)
        if self.void is not None:
            await settlement.void_approval(passage, self.void)
        return verdict

    # 5
    async def _defer(self, question: Question, verdict: Verdict) -> None:
        before = await self._before()
        async with self._passage() as passage:
            if await settlement.settle_if_step_ended(passage):
                return
            verdict = await self._put_on_record(passage, question, verdict)
            if self.attempt.is_doubtful:
                await settlement.doubt(passage, "policy now asks for approval", ask=True)
                return
            tx = passage.tx
            await waits.close_step_wait(tx.conn, tx.run_id, self.effect.step, WaitStatus.CANCELED, tx.now)
            before = (await tx.privacy()).value(before)
            await requests.open_approval(passage, verdict.answer, before)
            await passage.move_step(StepStatus.WAITING_APPROVAL)

    async def _before(self) -> JsonObject:
        """Return the present values of what would change, where the connector can say; never a reason to fail."""
        if self.handler is None or self.handler.before is None:
            return {}
        try:
            async with asyncio.timeout(self.engine.timing.before.total_seconds()):
                present = await self.handler.before(self._call())
        except Exception as error:  # noqa: BLE001 - the card then says that the present values are not known
            log.warning("present values of effect %s not read: %s", self.effect.effect_id, type(error).__name__)
            return {}
        return dict(redact(present, self.effect.redact).value) if fault(present) is None else {}

    # 6
    async def _begin(self, question: Question, verdict: Verdict) -> bool:
        effect = self.effect
        if self.handler is None:
            await self._postpone("effect.postponed", f"no connector here offers {effect.connector}::{effect.operation}")
            return False
        try:
            async with self._passage() as passage:
                if await settlement.settle_if_step_ended(passage):
                    return False
                if await self._counts_otherwise(passage):
                    await passage.settle(self._open_status, next_try_at=passage.tx.now)  # ask anew
                    return False
                await self._put_on_record(passage, question, verdict)
                await self._start(passage)
        except KeyInUseError:
            await self._postpone("effect.postponed", "another effect acts under its idempotency key")
        else:
            return True
        return False

    async def _counts_otherwise(self, passage: Passage) -> bool:
        """Return whether the run began other writes since policy was asked: limits hold for all of them together."""
        if self.effect.is_message:
            return False
        return await count_writes(passage.tx.conn, self.effect) != self.attempt.facts.writes

    @property
    def _open_status(self) -> EffectStatus:
        return EffectStatus.IN_DOUBT if self.attempt.is_doubtful else EffectStatus.PENDING

    async def _start(self, passage: Passage) -> None:
        """Claim the key, consume the approval and open the wait, in the transaction of the decision."""
        effect, attempt, tx = self.effect, self.attempt, passage.tx
        await effects.begin_attempt(
            tx.conn, effect, now=tx.now, decision_id=attempt.decision_id or "", digest=attempt.action.digest
        )
        if attempt.approval_id is not None:
            await approvals.consume(tx.conn, attempt.approval_id, tx.now)
        if effect.correlation_key:
            await requests.open_verb_wait(passage)
        await passage.move_step(StepStatus.RUNNING)
        attempt.started_at, attempt.tries, attempt.began = tx.now, attempt.tries + 1, True

    # 7
    async def _act(self) -> None:
        began = self.attempt.started_at
        if self.handler is None or began is None or self.engine.clock() - began >= self.engine.timing.lease:
            raise LeaseLostError(self.effect.effect_id)  # asleep since it began: others may have taken over
        try:
            async with asyncio.timeout(self.effect.timeout_s):
                result: JsonObject | Exception = recordable(await self.handler.run(self._call()))
        except Exception as error:  # noqa: BLE001 - whatever is raised is an outcome, and at worst an unknown one
            result = error
        await breakers.report(self.engine, self.effect.connector, self.effect.target, result)
        await self._finish(result)

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
        )

    # 8
    async def _finish(self, result: JsonObject | Exception) -> None:
        """Write what happened; a database that blinks must not turn it into doubt, so it is tried while fenced."""
        for pause in FINISH_PAUSES:
            try:
                await self._write(result)
            except psycopg.OperationalError as error:
                log.warning("outcome of effect %s not written yet: %s", self.effect.effect_id, error)
                await asyncio.sleep(pause)
            else:
                return
        await self._write(result)

    async def _write(self, result: JsonObject | Exception) -> None:
        async with self._passage() as passage:
            privacy = await passage.tx.privacy()
            match result:
                case HeldError():
                    await settlement.hold(passage, error_text(privacy.text(str(result))))
                case RefusedError():
                    await settlement.fail(passage, error_text(privacy.text(str(result))))
                case TransientError():
                    await settlement.try_later(passage, error_text(privacy.text(str(result))), result.retry_after)
                case Exception():
                    await settlement.doubt(passage, error_text(privacy.text(_describe(result))))
                case _:
                    await settlement.succeed(passage, result)

    # 9
    async def _clear_doubt(self) -> bool:
        """Read the target back where declared; False if that settled the effect, or has to be tried again."""
        if self.effect.on_doubt is not OnDoubt.RECONCILE or self.handler is None or self.handler.reconcile is None:
            return True
        try:
            async with asyncio.timeout(self.effect.timeout_s):
                there = await self.handler.reconcile(self._call())
        except Exception as error:  # noqa: BLE001 - the doubt stays, and is looked into again
            await self._finish(OutcomeUnknownError(f"not reconciled: {_describe(error)}"))
            return False
        if there is None:
            self.attempt.cleared = True
            return True
        await self._finish(recordable(there))
        return False


def recordable(result: JsonObject) -> JsonObject:
    """Return a connector's result, or a note in its place: it acted, whatever is wrong with its answer."""
    wrong = fault(result)
    return result if wrong is None else {"not_recorded": wrong}


def _describe(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return str(error) if isinstance(error, OutcomeUnknownError) else f"{type(error).__name__}: {error}"
