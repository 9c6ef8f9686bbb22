"""How an attempt begins. What follows from an effect may begin in the transaction that ends it: one commit for both."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from policy.answer import expect_editor_apart
from policy.contract import Outcome, PolicyUnavailableError, Question, Verdict
from runtime.approvals import requests
from runtime.engine import Engine
from runtime.evaluator import StoppedError
from runtime.failpoints import Point, at
from runtime.gate import budgets
from runtime.gate.asking_ahead import ask_ahead
from runtime.handlers import JsonObject
from runtime.model.chat_message import PolicyNotice
from runtime.model.commands import POLICY_ROLLBACK
from runtime.model.effect import ChainedLease, LeaseLostError
from runtime.model.states import RunStatus
from runtime.outbox import messages
from runtime.outbox.attempts import make_attempt, make_question
from runtime.planning.effect_tx import EffectTx
from runtime.planning.run_starts import Ahead, leave
from runtime.store import effects
from runtime.store.database.pool import AWAY
from runtime.store.passage_facts import EndedEffect, expect_as_told, facts_following
from runtime.store.run_tx import RunTx

AHEAD = 0.1
"""Seconds for which policy is asked while a run is locked; what it has not said by then, it is asked again."""

T = TypeVar("T")

log = logging.getLogger(__name__)


async def begin(passage: EffectTx, question: Question, verdict: Verdict, before: JsonObject | None) -> None:
    """Record the decision, claim the key and open the wait, in the transaction in which the approval is used up."""
    effect, attempt, tx = passage.effect, passage.attempt, passage.tx
    verdict = await requests.record_decision(passage, question, verdict)
    passage.note_if_cleared()
    await effects.begin_attempt(
        tx.conn,
        effect,
        now=tx.now,
        decision_id=attempt.decision_id or "",
        digest=attempt.action.digest,
        before=None if before is None else (await tx.privacy()).value(before),
    )
    if effect.correlation_key:
        await requests.open_verb_wait(passage)
    await passage.start_step()
    for told in verdict.answer.notifications():
        said = PolicyNotice(run=await messages.run_name(tx), step=effect.step, body=told.body)
        name = f"obligation:{effect.effect_id}:{told.id}"
        await messages.tell_groups(passage.engine, tx, told.to, name, said, attempt.approval_id)
    if verdict.answer.budgets or attempt.is_repeat:
        await budgets.take(passage, question, verdict)
    attempt.started_at, attempt.tries, attempt.began = tx.now, attempt.tries + 1, True
    at(Point.ATTEMPT_BEGINNING)


async def begin_ahead(engine: Engine, tx: RunTx, chained: ChainedLease | None, ended: str) -> None:
    """Begin it, where policy allows it at once; otherwise nothing is written."""
    if chained is None:
        return
    effect = chained.effect
    handler = engine.handlers.get(f"{effect.connector}::{effect.operation}")
    if handler is None or handler.before is not None or tx.status is not RunStatus.RUNNING:
        return
    if effect.is_read and handler.writes:  # which the gate refuses
        return
    known = tx.facts
    if known is None:
        known = await tx.once(tx.loads.run_facts, EndedEffect(tx.tenant, tx.run_id, tx.row["requested_by"], ended))
    attempt = make_attempt(effect, facts_following(tx.row, tx.writes, known))
    if attempt.is_late(tx.now):
        return
    allowed = await _allowed(engine, tx, make_question(attempt, tx.now))
    if allowed is None:
        return
    await expect_as_told(tx.conn, effect, attempt.facts)
    await begin(EffectTx(engine, tx, attempt), *allowed, None)
    chained.begun, chained.run, tx.facts = attempt, tx, known
    if tx.loads.runs == 1:
        asyncio.get_running_loop().call_soon(ask_ahead, engine, tx, effect)  # while this is committed


async def ahead_or_not(do: Callable[[Ahead], Awaitable[T]]) -> T:
    """Do it with what follows begun ahead, and where that fails without: what follows must not hold up what it follows.

    `do` is told what to do about it, and has to bear being done again.
    """
    try:
        return await do(begin_ahead)
    except (*AWAY, LeaseLostError, StoppedError):
        raise
    except Exception:
        log.debug("tried again without what follows", exc_info=True)
    return await do(leave)


async def _allowed(engine: Engine, tx: RunTx, question: Question) -> tuple[Question, Verdict] | None:
    """Return policy's plain yes with the question as it was asked, or None for whatever else it says, or does not."""
    if question.run.definition == POLICY_ROLLBACK:  # which another version is asked about
        return None
    at(Point.POLICY_ASKING)
    try:
        async with asyncio.timeout(AHEAD):
            question, verdict = await _asked(engine, tx, question)
        expect_editor_apart(question, verdict.answer)
    except (PolicyUnavailableError, TimeoutError):
        return None
    at(Point.POLICY_ANSWERED)
    answer = verdict.answer
    is_yes = answer.outcome is Outcome.ALLOW and not (answer.obligations or answer.execute or answer.budgets)
    return (question, verdict) if is_yes and verdict.policy_digest in engine.kept_texts else None


async def _asked(engine: Engine, tx: RunTx, question: Question) -> tuple[Question, Verdict]:
    """Return what policy answers, or has answered if it was asked ahead."""
    ahead, tx.asked_ahead = tx.asked_ahead, None
    if ahead is not None and ahead.counts_for(question, tx.now):
        verdict = await ahead.answer
        if verdict.policy_digest == engine.policy_seen.revision:
            engine.policy_seen.used += 1
            return ahead.question, verdict
    return question, await engine.ask(question)
