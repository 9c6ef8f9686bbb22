"""Budgets at the gate: what an attempt takes is reserved when it begins, and what follows where too little is left.

Nothing is taken by looking first: whether enough is left is known only once the totals are locked. So an attempt that
finds too little is rolled back as if it had not begun, and what its budget says of that is a transaction of its own.
"""

from collections.abc import Sequence
from datetime import datetime

from policy.contract import Question, Verdict
from receipts.fields import timestamp
from runtime.approvals.requests import record_decision
from runtime.failpoints import Point, at
from runtime.gate import settlement, windows
from runtime.model.approval import Result, ResultCode
from runtime.model.budget import BudgetSpentError, HeldUse, Over, SpentUse, Total, Use, UseStatus, uses_of
from runtime.model.states import EffectStatus
from runtime.model.steps import ErrorCode
from runtime.outbox import retry
from runtime.planning.effect_tx import EffectTx
from runtime.store import budgets, effects


async def take(passage: EffectTx, question: Question, verdict: Verdict) -> None:
    """Reserve what a beginning attempt takes of budgets; raise BudgetSpentError where too little is left.

    What the effect holds already, by an attempt whose outcome is not known, is not taken again. Beyond what is left it
    goes with an approval alone. Nothing may come after this in the transaction but what waits for nobody.
    """
    attempt, tx = passage.attempt, passage.tx
    held = await budgets.held_by(tx.conn, passage.effect.effect_id) if attempt.is_repeat else ()
    if attempt.cleared and held:  # the earlier attempt did nothing, and this one counts when it begins
        await passage.end_uses(held, UseStatus.RELEASED)
        held = ()
    names = {one.budget for one in held}
    uses = [use for use in uses_of(verdict.answer.budgets or (), tx.now) if use.name not in names]
    attempt.reserved = held
    if not uses and not verdict.answer.budgets:
        return
    decision_id, beyond = attempt.decision_id or "", question.counters.over if attempt.approval_id else None
    begun = (passage.effect.effect_id, decision_id)
    totals = await budgets.reserve(tx.conn, tx.tenant, begun, uses, beyond or (), tx.now) if uses else {}
    attempt.reserved = (*held, *(HeldUse(decision_id, use.name) for use in uses))
    told = [_told(use, totals[use.name]) for use in uses]
    passage.note("budget.reserved", {"decision_id": decision_id, "budgets": told, "kept": sorted(names)})


def _told(use: Use, total: Total) -> dict[str, object]:
    """Return a budget and how much of it is taken in a period, as it goes on record."""
    of_sum = {} if use.at_most is None else {"sum": f"{total.sum:f}"}
    return {"name": use.name, "period": use.period, "count": total.count, **of_sum}


async def settle(passage: EffectTx, question: Question, verdict: Verdict, spent: BudgetSpentError) -> None:
    """Put on record that too little of a budget is left; reject the effect, or let it wait until it begins again."""
    if await settlement.settle_if_step_ended(passage):
        return
    await record_decision(passage, question, verdict)
    why = (await passage.tx.privacy()).text(str(spent))
    if spent.over is Over.DENY:
        await _reject(passage, spent, why)
    elif spent.fits_later and not _is_over(passage, verdict, spent.opens_at):
        await _wait(passage, spent, why)
    else:
        await _reject(passage, spent, f"{why}; it cannot wait until {timestamp(spent.opens_at)}")


async def _reject(passage: EffectTx, spent: BudgetSpentError, why: str) -> None:
    _note_spent(passage, spent.spent, {})
    await settlement.reject(passage, why, ErrorCode.BUDGET)
    at(Point.EFFECT_DENYING)


async def _wait(passage: EffectTx, spent: BudgetSpentError, why: str) -> None:
    opening = spent.opens_at
    _note_spent(passage, spent.spent, {"opens_at": timestamp(opening)})
    effect, again = passage.effect, passage.attempt.is_repeat
    give_up_at = max(effect.give_up_at, opening + passage.engine.timing.effect_deadline)
    await effects.try_until(passage.tx.conn, effect.effect_id, give_up_at)
    status = EffectStatus.IN_DOUBT if again else EffectStatus.PENDING
    error = effect.error if again else f"waits until {timestamp(opening)}: {why}"
    await passage.settle(status, error=error, next_try_at=opening)
    result = Result(ResultCode.BUDGET, (timestamp(opening), spent.waited_for.use.name))
    await windows.say_waits(passage, result, f"budget:{timestamp(opening)}")
    at(Point.EFFECT_DEFERRING)


def _is_over(passage: EffectTx, verdict: Verdict, opening: datetime) -> bool:
    """Return whether the effect may not begin any more at a moment: its run's time is over, or that of its window."""
    document = passage.effect.retry
    ends = [retry.until(document), retry.answer_by(document), windows.ends_at(passage.attempt, verdict)]
    return any(end is not None and opening >= end for end in ends)


def _note_spent(passage: EffectTx, spent: Sequence[SpentUse], more: dict[str, str]) -> None:
    told = [_told(one.use, one.total) for one in spent]
    passage.note("budget.spent", {"decision_id": passage.attempt.decision_id, "budgets": told, **more})
