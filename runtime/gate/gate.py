"""The gate: the only function that performs effects. Design, section 9; the numbers are its steps.

1. Make the action canonical and take its digest.
2. Look for a receipt under the idempotency key: a success is returned and nothing acts a second time; the same key
   with another fingerprint is refused.
3. Ask policy. No usable answer: nothing is performed, tried again with back-off, failed at the deadline.
4. `deny`: the effect is rejected, the step fails for good, the refusal gets a receipt.
5. `needs_approval`: the effect is deferred; approval, wait and card in one transaction.
6. `allow`: the decision is recorded and the approval used up in the transaction that starts the attempt; what the
   target held is put on record with it. Where policy says when, that same transaction looks whether the moment is in
   the window: else the effect waits for the next one (`windows`). What it takes of budgets is reserved last in it
   (`budgets`), and where too little is left nothing of it is written.
7. The connector is called, with the key and a timeout.
8. The receipt is written and the run advances in one transaction.
9. An attempt without an outcome is in doubt: retried, reconciled or asked about, as the verb declares (`doubts`).

Every write names the lease and its attempt: a worker that lost its lease writes nothing.
"""

import logging
from datetime import datetime, timedelta

import psycopg

from policy.answer import expect_editor_apart
from policy.contract import Outcome, PolicyUnavailableError, Question, Verdict
from receipts.errors import ReceiptsError
from receipts.redaction import redact
from runtime.approvals import requests
from runtime.engine import Engine
from runtime.failpoints import Point, at
from runtime.gate import budgets, gate_passage, settlement, windows
from runtime.gate.beginning import begin
from runtime.gate.doubts import clear_doubt
from runtime.gate.emergency import ask_version_before
from runtime.gate.gate_passage import GatePassage, MayChain, Void, kept
from runtime.handlers import Answer, BlockedError, HandlerError, JsonObject, NotTakenError, RefusedError
from runtime.model.action import Tier
from runtime.model.budget import BudgetSpentError, Over
from runtime.model.commands import POLICY_ROLLBACK
from runtime.model.effect import ChainedLease, Effect, KeyInUseError, LeaseLostError, PolicyReplacedError
from runtime.model.limits import json_fault
from runtime.model.states import EffectStatus, StepStatus, has_stopped
from runtime.model.steps import ErrorCode
from runtime.outbox.attempts import Attempt, make_attempt, make_question
from runtime.planning.effect_tx import EffectTx
from runtime.planning.step_errors import describe
from runtime.store import approvals, records
from runtime.store.passage_facts import count_writes
from runtime.store.run_tx import RunSnapshot

UNSTORABLE = (psycopg.DataError, ReceiptsError, UnicodeError, OverflowError)
"""What the database, or canonical JSON, says of an answer that cannot be kept."""

FORGED = "its approval stands as granted, but no vote granted it: somebody changed the database"

log = logging.getLogger(__name__)


async def perform(
    engine: Engine,
    effect: Effect,
    may_chain: MayChain = lambda _: False,
    begun: Attempt | None = None,
    known: RunSnapshot | None = None,
) -> ChainedLease | None:
    """Take a leased effect through the gate: its lease ends one way or another, unless it was lost meanwhile.

    Where the worker `may_chain`, an effect that follows from it may be leased with its end, and begin with it, too: it
    is returned, with the attempt that has `begun`, and what is `known` of the run since then.
    """
    try:
        if begun is None:
            gate = _Gate(engine, make_attempt(effect, await engine.facts_of(effect)), may_chain)  # 1
            await gate.go()
        else:
            at(Point.ATTEMPT_BEGUN)
            gate = _Gate(engine, begun, may_chain, known)
            await gate.act()
    except LeaseLostError:
        log.info("lease lost on effect %s, attempt %d", effect.effect_id, effect.attempt)
        return None
    return gate.chained


class _Gate(GatePassage):
    """One passage of one effect. A method that returns False has settled the effect."""

    async def go(self) -> None:
        if not await self._look_for_receipt():  # 2
            return
        if self.attempt.is_doubtful and not await clear_doubt(self):  # 9
            return
        now = self.engine.clock()
        if not await self._refuse_unwanted(now):
            return
        if self.attempt.is_forged:
            await self.write(lambda passage: settlement.hold(passage, FORGED))
            return
        question = make_question(self.attempt, now)
        self._void_if_expired(now)
        verdict = await self._ask(question)  # 3
        if verdict is None:
            return
        try:
            begun = await self._follow(question, verdict)
        except PolicyReplacedError:
            self.engine.kept_texts.pop(verdict.policy_digest, None)  # it may have become a version
            why = f"policy {verdict.policy_digest} answered, and another one is in force"
            await self.postpone("policy.unavailable", why)
            return
        except UNSTORABLE as error:  # policy's word counts only if it can be put on record
            await self.postpone("policy.unavailable", f"its answer cannot be recorded: {describe(error)}")
            return
        if begun:
            await self.act()  # 7

    async def _follow(self, question: Question, verdict: Verdict) -> bool:
        """Do what policy says; return whether an attempt has begun."""
        outcome = verdict.answer.outcome
        if outcome is Outcome.DENY or self._cannot_be(outcome):
            await self._deny(question, verdict)  # 4
        elif outcome is Outcome.NEEDS_APPROVAL:
            await self._defer(question, verdict)  # 5
        elif self._wants_a_person(verdict):
            await self._ask_what_happened(question, verdict)
        elif windows.may_begin(self.attempt, verdict, self.engine.clock()):
            return await self._look_before() and await self._begin(question, verdict)  # 6
        else:
            await self.write(lambda passage: windows.wait(passage, question, verdict))
            at(Point.EFFECT_DEFERRED)
        return False

    def _cannot_be(self, outcome: Outcome) -> bool:
        """Refuse what must not follow: acting after a void approval, and a card that asks for a card, and so on."""
        if outcome is Outcome.ALLOW:
            return self.void is not None
        return outcome is Outcome.NEEDS_APPROVAL and self.effect.is_message

    def _wants_a_person(self, verdict: Verdict) -> bool:
        """Return whether much is at stake, and this would be a second attempt without new signatures."""
        effect = self.effect
        at_stake = Tier.HIGH in (effect.tier, verdict.answer.tier) or effect.reversible_by is None
        return self.attempt.is_repeat and at_stake and not effect.is_message

    # 2
    async def _look_for_receipt(self) -> bool:
        """Settle what succeeded before under the same key; False if that is so."""
        done = self.attempt.facts.done
        if done is None:
            return True
        if done.fingerprint == self.attempt.action.digest:
            await self.write(lambda passage: settlement.repeat(passage, done.response))
        else:
            await self._reject("this idempotency key was used for another action", ErrorCode.KEY_IN_USE)
        return False

    async def _reject(self, reason: str, code: ErrorCode = ErrorCode.DENIED) -> None:
        await self.write(lambda passage: settlement.reject(passage, reason, code))

    async def _refuse_unwanted(self, now: datetime) -> bool:
        """Settle what the run no longer wants, and what is not what was proposed; void what can no longer count."""
        attempt = self.attempt
        if attempt.facts.step_status is not None and has_stopped(attempt.facts.step_status):
            return not await self.write(settlement.settle_if_step_ended)
        if self.effect.is_read and self.handler is not None and self.handler.writes:
            await self._reject(f"{self.effect.connector}::{self.effect.operation} writes, and a read may not")
            return False
        if attempt.is_late(now):
            late = f"not begun until the deadline: an answer was wanted by {self.effect.retry['answer_by']}"
            await self.write(lambda passage: settlement.fail(passage, late, ErrorCode.NOT_BEGUN))
            return False
        if attempt.is_changed and attempt.approval_id is None:
            await self._reject("the action is not the one that was proposed")
            return False
        if attempt.approval_id is not None and attempt.is_changed:
            self.void = Void(attempt.approval_id, "the action was changed after it was approved; the approval is void")
            attempt.approval_id = None
        return True

    def _void_if_expired(self, now: datetime) -> None:
        """Let nothing pass under an approval that was not used in time, whatever policy says, which is told of it."""
        attempt = self.attempt
        if attempt.approval_id is not None and attempt.has_expired(now):
            self.void = Void(attempt.approval_id, "the approval expired before it was used")
            attempt.approval_id = None

    # 3
    async def _ask(self, question: Question) -> Verdict | None:
        try:
            at(Point.POLICY_ASKING)
            verdict = await self._asked(question)
            at(Point.POLICY_ANSWERED)
            verdict.answer.notifications()
            if verdict.answer.budgets and (self.effect.is_message or self.effect.is_read):
                raise PolicyUnavailableError("word in the chat, and a read, take of no budget")
            expect_editor_apart(question, verdict.answer)
        except PolicyUnavailableError as error:
            await self.postpone("policy.unavailable", str(error))
            return None
        if verdict.in_force is None:
            await self._keep_text(verdict.policy_digest)
        return verdict

    async def _asked(self, question: Question) -> Verdict:
        """Return what policy says; of a rollback the previous version says it, since the one in force may deny all."""
        if question.run.definition == POLICY_ROLLBACK:
            return await ask_version_before(self.engine, question)
        return await self.engine.ask(question)

    async def _keep_text(self, digest: str) -> None:
        """Keep the exact text that gave the answer, before anything refers to it; once per process and digest."""
        engine = self.engine
        if digest in engine.kept_texts:
            return
        async with engine.pool.connection() as conn:
            version = await records.keep_policy_text(conn, engine.tenant, engine.policy.text(digest), engine.clock())
        at(Point.POLICY_TEXT_KEPT)
        engine.kept_texts[digest] = version

    # 4
    async def _deny(self, question: Question, verdict: Verdict) -> None:
        async def work(passage: EffectTx) -> None:
            recorded = await self._put_on_record(passage, question, verdict)
            await settlement.reject(passage, self._why_not(recorded))
            at(Point.EFFECT_DENYING)

        await self.write(work)
        at(Point.EFFECT_DENIED)

    def _why_not(self, verdict: Verdict) -> str:
        if self.void is not None:
            return self.void.reason
        if verdict.answer.outcome is Outcome.NEEDS_APPROVAL:
            return "policy asks for approval of what asks for approvals"
        return f"denied by policy: {'; '.join(reason.msg for reason in verdict.answer.reasons)}"

    async def _put_on_record(self, passage: EffectTx, question: Question, verdict: Verdict) -> Verdict:
        """Record the decision, and return it as it stands on record."""
        verdict = await requests.record_decision(passage, question, verdict)
        if self.void is not None:
            await settlement.void_approval(passage, self.void.approval_id, self.void.reason)
        return verdict

    async def _ask_what_happened(self, question: Question, verdict: Verdict) -> None:
        async def work(passage: EffectTx) -> None:
            await self._put_on_record(passage, question, verdict)
            await settlement.doubt(passage, self.effect.error, ask=True)

        await self.write(work)

    # 5
    async def _defer(self, question: Question, verdict: Verdict) -> None:
        before = await self._before_for_card()

        async def work(passage: EffectTx) -> None:
            if await settlement.settle_if_step_ended(passage):
                return
            recorded = await self._put_on_record(passage, question, verdict)
            if passage.attempt.is_doubtful:
                await settlement.doubt(passage, self.effect.error, ask=True)
                return
            shown = (await passage.tx.privacy()).value(before)
            await requests.open_approval(passage, recorded.answer, shown)
            await passage.move_step(StepStatus.WAITING_APPROVAL)
            at(Point.EFFECT_DEFERRING)

        await self.write(work)
        at(Point.EFFECT_DEFERRED)

    async def _before_for_card(self) -> JsonObject:
        """Return the present values of what would change, where the connector can say; never a reason to fail."""
        if self.handler is None or self.handler.before is None:
            return {}
        try:
            present = await self.call(self.handler.before, self.engine.timing.before.total_seconds())
        except Exception as error:  # noqa: BLE001 - the card then says that the present values are not known
            log.warning("present values of effect %s not read: %s", self.effect.effect_id, type(error).__name__)
            return {}
        return dict(redact(present, self.effect.redact).value) if json_fault(present) is None else {}

    # 6
    async def _look_before(self) -> bool:
        """Read what the attempt would change; False if that cannot be done now, and then nothing is begun.

        After an attempt in doubt, what was read before that one stays.
        """
        if self.handler is None or self.handler.before is None or self.attempt.is_repeat:
            return True
        try:
            present = await self.call(self.handler.before, self.effect.timeout_s)
            if wrong := json_fault(present):
                raise RefusedError(f"present values: {wrong}")
        except (BlockedError, NotTakenError, RefusedError) as error:
            await self.finish(error)
        except Exception as error:  # noqa: BLE001 - a read: whatever it raises, nothing was done
            await self.postpone("effect.postponed", f"present values not read: {describe(error)}")
        else:
            self.before = present
            return True
        return False

    async def _begin(self, question: Question, verdict: Verdict) -> bool:
        effect = self.effect
        if self.handler is None:
            await self.postpone("effect.postponed", f"no connector here offers {effect.connector}::{effect.operation}")
            return False

        async def work(passage: EffectTx) -> bool:
            if await self._settle_if_over(passage):
                return False
            if not windows.may_begin(passage.attempt, verdict, passage.tx.now):
                await windows.wait(passage, question, verdict)
                return False
            if await self._counts_otherwise(passage) or not await self._use_approval(passage):
                status = EffectStatus.IN_DOUBT if passage.attempt.is_repeat else EffectStatus.PENDING
                await passage.settle(status, next_try_at=passage.tx.now, error=effect.error)  # ask anew
                return False
            await begin(passage, question, verdict, self.before)
            return True

        try:
            begun = await self.write(work, alone=bool(verdict.answer.budgets))
        except KeyInUseError:
            await self.postpone("effect.postponed", "another effect acts under its idempotency key")
            return False
        except BudgetSpentError as spent:
            return await self._follow_spent(question, verdict, spent)
        if begun:
            at(Point.ATTEMPT_BEGUN)
        return begun

    async def _follow_spent(self, question: Question, verdict: Verdict, spent: BudgetSpentError) -> bool:
        """Do what a budget says of which too little is left; return whether an attempt has begun.

        Where people may let it go beyond, policy is asked again, and is told so. Nothing of this is remembered: each
        passage finds out again what is left.
        """
        if spent.over is not Over.APPROVE:
            await self.write(lambda passage: budgets.settle(passage, question, verdict, spent))
            return False
        told = set(question.counters.over or ())
        if told.issuperset(spent.names):  # else it would be asked for ever
            await self.postpone("policy.unavailable", f"it allows more than is left without signatures: {spent}")
            return False
        over = question.counters.model_copy(update={"over": sorted(told.union(spent.names))})
        question = question.model_copy(update={"counters": over})
        answered = await self._ask(question)
        if answered is not None and answered.policy_digest != verdict.policy_digest:
            await self.postpone("policy.unavailable", "another policy came into force while it was asked")
            return False
        return answered is not None and await self._follow(question, answered)

    def _is_as_asked(self, passage: EffectTx) -> bool:
        """Return whether nothing has happened to the run since the facts were read of which policy was told."""
        return passage.tx.is_as_at(passage.attempt.facts.version)

    async def _settle_if_over(self, passage: EffectTx) -> bool:
        """Settle the effect if its step has ended since the facts were read; False if it is still wanted."""
        return not self._is_as_asked(passage) and await settlement.settle_if_step_ended(passage)

    async def _counts_otherwise(self, passage: EffectTx) -> bool:
        """Return whether the run began other writes since policy was asked: limits hold for all of them together."""
        if self.effect.is_message or self._is_as_asked(passage):
            return False
        return await count_writes(passage.tx.conn, self.effect) != self.attempt.facts.writes

    async def _use_approval(self, passage: EffectTx) -> bool:
        """Use up the approval, where there is one; False if it has expired, or was used up, meanwhile."""
        attempt, tx = self.attempt, passage.tx
        if not attempt.is_signed:
            attempt.approval_id = None  # an earlier attempt used it up: it is not this one's
        approval = attempt.facts.approval
        if attempt.approval_id is None or approval is None:
            return True
        return await approvals.consume(tx.conn, attempt.approval_id, tx.now, approval.usable_until)

    # 7
    async def act(self) -> None:
        """Call the connector, as long as nobody else may have taken over, and put on record what came of it."""
        began, limit = self.attempt.started_at, timedelta(seconds=self.effect.timeout_s)
        asleep = timedelta.max if began is None else self.engine.clock() - began
        if self.handler is None or asleep >= min(self.engine.timing.lease, limit):
            raise LeaseLostError(self.effect.effect_id)  # asleep since it began: others may have taken over
        try:
            left = (limit - asleep).total_seconds()  # whoever looks for it later counts from when it began
            at(Point.CONNECTOR_CALLING)
            answer = Answer.of(await self.call(self.handler.run, left))
            self.attempt.said = answer
            result: JsonObject | Exception = kept(self.effect, answer.result)
        except Exception as error:  # noqa: BLE001 - whatever is raised is an outcome, and at worst an unknown one
            self.attempt.said = error if isinstance(error, HandlerError) else None
            result = error
        at(Point.CONNECTOR_CALLED)
        await gate_passage.report(self.engine, self.effect.connector, self.effect.target, result)
        await self.finish(result)  # 8
