"""What is allowed, but not at any time: it waits as a row until its window opens, and fails where that is too late.

Nothing looks at it meanwhile. When it is due it goes through the gate anew, policy included, so neither a restart nor a
stall nor another clock lets it begin outside of what policy then says.
"""

from datetime import datetime

from policy.contract import Question, Verdict
from receipts.fields import timestamp
from runtime.approvals.requests import record_decision
from runtime.approvals.windows import is_open, next_opening
from runtime.failpoints import Point, at
from runtime.gate import settlement
from runtime.model.approval import Result, ResultCode
from runtime.model.messages import EffectEnded
from runtime.model.requirement import ExecuteWhen
from runtime.model.states import EffectStatus
from runtime.model.steps import ErrorCode
from runtime.outbox import messages
from runtime.outbox.attempts import Attempt
from runtime.planning.effect_tx import EffectTx
from runtime.store import approvals, effects


def may_begin(attempt: Attempt, verdict: Verdict, now: datetime) -> bool:
    """Return whether an allowed effect may begin at this moment: its window is open, and its time not over."""
    when = _when(verdict)
    return when is None or (now < _since(attempt) + when.lasts and is_open(when, now))


async def wait(passage: EffectTx, question: Question, verdict: Verdict) -> None:
    """Put on record what policy said, and let the effect wait for its window, or fail where none opens in its time."""
    when, now = _when(verdict), passage.tx.now
    if when is None:
        raise ValueError("what waits for a window needs one")
    if await settlement.settle_if_step_ended(passage):
        return
    since = _since(passage.attempt)
    until, opening = since + when.lasts, next_opening(when, now)
    await record_decision(passage, question, verdict)
    if opening is None or opening >= until:
        opens = "opens in no week" if opening is None else f"next opens {timestamp(opening)}"
        why = f"its window {opens}, and it may begin until {timestamp(until)} alone: its time is over"
        await settlement.fail(passage, why, ErrorCode.EXPIRED)
        return
    told = {"decision_id": passage.attempt.decision_id, "since": since, "opens_at": opening, "until": until}
    passage.note(
        "effect.waiting", {name: timestamp(one) if isinstance(one, datetime) else one for name, one in told.items()}
    )
    await effects.try_until(passage.tx.conn, passage.effect.effect_id, until)
    again = passage.attempt.is_repeat
    status = EffectStatus.IN_DOUBT if again else EffectStatus.PENDING
    why = passage.effect.error if again else f"waits for its window until {timestamp(opening)}"
    await passage.settle(status, error=why, next_try_at=opening)
    await say_waits(passage, Result(ResultCode.WINDOW, (timestamp(opening),)), f"window:{timestamp(opening)}")
    at(Point.EFFECT_DEFERRING)


async def say_waits(passage: EffectTx, result: Result, name: str) -> None:
    """Say on the card, and in its thread, once for each `name`, what it waits for; nothing where nobody was asked."""
    approval_id = passage.attempt.approval_id
    if approval_id is None:
        return
    await approvals.touch(passage.tx.conn, approval_id, result=result)
    await messages.card_changed(passage.engine, passage.tx, approval_id)
    said = EffectEnded(code=result.code, about=list(result.about))
    await messages.tell_thread(passage.engine, passage.tx, approval_id, f"{name}:{approval_id}", said)


def ends_at(attempt: Attempt, verdict: Verdict) -> datetime | None:
    """Return when the time is over within which an allowed effect may begin; None where it has no such time."""
    when = _when(verdict)
    return None if when is None else _since(attempt) + when.lasts


def _when(verdict: Verdict) -> ExecuteWhen | None:
    said = verdict.answer.execute
    return None if said is None else ExecuteWhen.of(said.model_dump())


def _since(attempt: Attempt) -> datetime:
    """Return from when on its time counts: when it was approved, or proposed where nobody had to."""
    approval = attempt.facts.approval if attempt.is_signed else None
    return approval.granted_at if approval else attempt.effect.created_at
