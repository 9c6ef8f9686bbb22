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

from policy.model import Outcome, PolicyUnavailableError, Question, Verdict
from runtime import asking, outcomes, retry
from runtime.attempt import Attempt, make_attempt, make_question
from runtime.engine import Engine
from runtime.handlers import Call, Handler, JsonObject, OutcomeUnknownError, RefusedError, TransientError
from runtime.orchestrator import advance
from runtime.planner import StepMoved
from runtime.recordable import error_text, fault
from runtime.states import StepStatus
from runtime.store import approvals, effects, records
from runtime.store.effects import Effect, KeyInUseError, LeaseLostError
from runtime.store.inbox import CorrelationInUseError
from runtime.store.run_tx import RunTx, run_tx

log = logging.getLogger(__name__)


async def perform(engine: Engine, effect: Effect) -> None:
    """Take a leased effect through the gate: its lease ends one way or another, unless it was lost meanwhile."""
    try:
        async with engine.pool.connection() as conn:
            facts = await effects.passage_facts(conn, effect)
        await _Passage(engine, make_attempt(effect, facts)).go()  # 1
    except LeaseLostError:
        log.info("lease lost on effect %s, attempt %d", effect.effect_id, effect.attempt)


class _Passage:
    """One passage of one effect."""

    def __init__(self, engine: Engine, attempt: Attempt) -> None:
        self.engine = engine
        self.attempt = attempt
        self.effect = attempt.effect
        self.is_void = False  # the approval was for another action: only a new one lets this one pass
        self.handler: Handler | None = engine.handlers.get(f"{self.effect.connector}::{self.effect.operation}")

    async def go(self) -> None:
        if await self._done_before():  # 2
            return
        if self.effect.started_at is not None and await self._reconciled():  # 9
            return
        if not await self._is_wanted():
            return
        question = make_question(self.attempt, self.engine.clock())
        verdict = await self._ask(question)  # 3
        if verdict is None:
            return
        outcome = verdict.answer.outcome
        if outcome is Outcome.DENY or (self.is_void and outcome is Outcome.ALLOW):
            await self._deny(question, verdict)  # 4
        elif outcome is Outcome.NEEDS_APPROVAL:
            await self._defer(question, verdict)  # 5
        elif await self._begin(question, verdict):  # 6
            await self._act()  # 7

    @asynccontextmanager
    async def _tx(self) -> AsyncIterator[RunTx]:
        async with (
            self.engine.pool.connection() as conn,
            run_tx(conn, self.effect.run_id, self.engine.clock()) as tx,
        ):
            yield tx

    # 2
    async def _done_before(self) -> bool:
        done = self.attempt.facts["done_fingerprint"]
        if done is None:
            return False
        async with self._tx() as tx:
            if done == self.attempt.action.digest:
                await outcomes.repeat(self.engine, tx, self.attempt)
            else:
                reason = "this idempotency key was used for another action"
                await outcomes.reject(self.engine, tx, self.attempt, reason)
        return True

    async def _is_wanted(self) -> bool:
        """Refuse what the run no longer wants, and what is not what was proposed or approved."""
        attempt, engine = self.attempt, self.engine
        if not attempt.is_late and not attempt.is_changed:
            return True
        async with self._tx() as tx:
            if attempt.is_late and self.effect.started_at is not None:
                await outcomes.fail(engine, tx, attempt, "the run ended while the outcome was unknown", "in_doubt")
            elif attempt.is_late:
                await outcomes.reject(engine, tx, attempt, "the run has ended")
            elif attempt.approval_id is None:
                await outcomes.reject(engine, tx, attempt, "the action is not the one that was proposed")
            else:
                await outcomes.void_approval(engine, tx, attempt)
                self.is_void = True
        return self.is_void

    # 3
    async def _ask(self, question: Question) -> Verdict | None:
        try:
            verdict = await self.engine.policy.ask(question)
        except PolicyUnavailableError as error:
            await self._policy_unavailable(str(error))
            return None
        await self._keep_text(verdict.policy_digest)
        return verdict

    async def _keep_text(self, digest: str) -> None:
        """Keep the exact text that gave the answer, before anything refers to it; once per process and digest."""
        engine = self.engine
        if digest in engine.kept_texts:
            return
        async with engine.pool.connection() as conn:
            await records.keep_policy_text(conn, engine.policy.text(digest), engine.clock())
        engine.kept_texts.add(digest)

    async def _policy_unavailable(self, reason: str) -> None:
        effect = self.effect
        async with self._tx() as tx:
            if tx.now >= effect.give_up_at:
                reason = f"policy gave no usable answer until the deadline: {reason}"
                await outcomes.fail(self.engine, tx, self.attempt, reason)
                return
            pause = retry.delay(retry.POLICY_BACKOFF, effect.postponed + 1, self.engine.jitter())
            status = "in_doubt" if effect.started_at else "pending"
            await effects.settle(tx.conn, effect, status, error=reason, next_try_at=tx.now + pause, postponed=True)
            if effect.postponed == 0:
                outcomes.note(tx, "policy.unavailable", self.attempt, {"error": reason})

    # 4
    async def _deny(self, question: Question, verdict: Verdict) -> None:
        async with self._tx() as tx:
            await asking.record_decision(self.engine, tx, self.attempt, question, verdict)
            said = "; ".join(reason.msg for reason in verdict.answer.reasons)
            reason = "the action was changed after people approved it" if self.is_void else f"denied by policy: {said}"
            await outcomes.reject(self.engine, tx, self.attempt, reason)

    # 5
    async def _defer(self, question: Question, verdict: Verdict) -> None:
        before = await self._before()
        async with self._tx() as tx:
            await asking.record_decision(self.engine, tx, self.attempt, question, verdict)
            await asking.open_approval(self.engine, tx, self.attempt, verdict.answer, before)
            if self.effect.step:
                await advance(self.engine, tx, StepMoved(self.effect.step, StepStatus.WAITING_APPROVAL))

    async def _before(self) -> JsonObject:
        """Return the present values of what would change, where the connector can say; never a reason to fail."""
        if self.handler is None or self.handler.before is None:
            return {}
        try:
            async with asyncio.timeout(self.engine.timing.before.total_seconds()):
                return await self.handler.before(self._call())
        except Exception as error:  # noqa: BLE001 - the card then says that the present values are not known
            log.warning("present values of effect %s not read: %r", self.effect.effect_id, error)
            return {}

    # 6
    async def _begin(self, question: Question, verdict: Verdict) -> bool:
        effect, engine, attempt = self.effect, self.engine, self.attempt
        try:
            async with self._tx() as tx:
                await asking.record_decision(engine, tx, attempt, question, verdict)
                await effects.begin_attempt(
                    tx.conn,
                    effect,
                    now=tx.now,
                    decision_id=attempt.decision_id or "",
                    digest=attempt.action.digest,
                )
                if attempt.approval_id is not None:
                    await approvals.consume(tx.conn, attempt.approval_id, tx.now)
                if effect.correlation_key:
                    await asking.open_verb_wait(engine, tx, attempt)
                if effect.step:
                    await advance(engine, tx, StepMoved(effect.step, StepStatus.RUNNING))
                attempt.started_at = tx.now
        except KeyInUseError:
            await self._wait_for_key()
        except CorrelationInUseError as error:
            async with self._tx() as tx:
                await outcomes.fail(engine, tx, attempt, f"another run is waiting under {error}")
        else:
            return True
        return False

    async def _wait_for_key(self) -> None:
        """Another effect acts under our key at this moment: look again when it may have a receipt."""
        async with self._tx() as tx:
            soon = tx.now + self.engine.timing.poll
            error = "the idempotency key is in use"
            await effects.settle(tx.conn, self.effect, "pending", error=error, next_try_at=soon)

    # 7
    async def _act(self) -> None:
        try:
            if self.handler is None:
                raise RefusedError(f"no connector offers {self.effect.connector}::{self.effect.operation}")
            async with asyncio.timeout(self.effect.timeout_s):
                result: JsonObject | Exception = recordable(await self.handler.run(self._call()))
        except Exception as error:  # noqa: BLE001 - whatever is raised is an outcome, and at worst an unknown one
            result = error
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
        )

    # 8
    async def _finish(self, result: JsonObject | Exception) -> None:
        engine, attempt = self.engine, self.attempt
        async with self._tx() as tx:
            match result:
                case RefusedError():
                    await outcomes.fail(engine, tx, attempt, error_text(str(result)))
                case TransientError():
                    await outcomes.try_later(engine, tx, attempt, error_text(str(result)), result.retry_after)
                case Exception():
                    await outcomes.doubt(engine, tx, attempt, _describe(result))
                case _:
                    await outcomes.succeed(engine, tx, attempt, result)

    # 9
    async def _reconciled(self) -> bool:
        """Read the target back; True if that settled it, or has to be tried again. False: an attempt may begin."""
        if self.effect.in_doubt != "reconcile" or self.handler is None or self.handler.reconcile is None:
            return False
        try:
            async with asyncio.timeout(self.effect.timeout_s):
                found = await self.handler.reconcile(self._call())
        except Exception as error:  # noqa: BLE001 - the doubt stays, and is looked into again
            await self._finish(OutcomeUnknownError(f"not reconciled: {_describe(error)}"))
            return True
        if found is None:
            return False
        await self._finish(recordable(found))
        return True


def recordable(result: JsonObject) -> JsonObject:
    """Return a connector's result, or a note in its place: it acted, whatever is wrong with its answer."""
    wrong = fault(result)
    return result if wrong is None else {"not_recorded": wrong}


def _describe(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return error_text(str(error) if isinstance(error, OutcomeUnknownError) else f"{type(error).__name__}: {error}")
