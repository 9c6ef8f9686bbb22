"""Answers of callers to durable steps: completions end a wait, progress is kept with it.

Fan-out: one answer may be for many waits. Handing it out is one transaction; from then on each is a notification of its
own with its own outcome, applied in the transaction of its own run. So a wait that a fault of ours keeps from its
answer holds up no other, and whatever ends a process between two of them, the rest are applied, and none twice.

Progress may come as often as the other side likes. The wait's row keeps the newest alone. A leaf, and an edit of the
card, follows a minute after the last at the soonest, and a fiftieth of the wait's age after it: about 50 in the first
hour of a wait, and 350 in a fortnight. Each says how many reports there were.

Early answers and signals, which came before anything waited for them, wait for their wait, but not for ever. An answer
waits for seven days, since nobody need have thought yet of what will wait for it. A signal is for a run, and waits as
long as that goes on; then a trigger that became one starts a run after all.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from runtime.engine import HEAD_START, Engine
from runtime.inbox.answer_rules import content_fault, refuse_answer
from runtime.inbox.notification_context import NotificationContext
from runtime.inbox.wait_endings import complete_wait, record_wait_refusal
from runtime.model.action import commitment
from runtime.model.limits import error_text
from runtime.model.notification import ApplyResult, Notification
from runtime.model.payloads import Answer, AnswerCode, CompletionPayload, ProgressPayload
from runtime.model.states import NotificationStatus, StepStatus
from runtime.model.steps import ErrorCode
from runtime.model.wait import NamedWait, Progress, Wait
from runtime.outbox import messages
from runtime.planning.advance import looks_ahead
from runtime.planning.transition import StepMoved
from runtime.store import approvals, notifications, waits
from runtime.store.database.buffered_connection import at_once
from runtime.store.database.pool import Conn
from runtime.store.run_tx import RunTx

_PROGRESS_PAUSE, _PART_OF_AGE = timedelta(minutes=1), 50


def progress_pause(age: timedelta) -> timedelta:
    """Return how long after one leaf about a wait of this age the next may come."""
    return max(_PROGRESS_PAUSE, age / _PART_OF_AGE)


async def note_progress(matter: NotificationContext, tx: RunTx, wait: Wait, word: ProgressPayload) -> None:
    """Keep word of progress for an open wait; it resumes nothing."""
    opened_at, before = await waits.progress_of(tx.conn, wait.wait_id)
    is_noted = before is None or tx.now >= before.noted_at + progress_pause(before.noted_at - opened_at)
    newest = await _newest(tx, word, before, tx.now if before is None or is_noted else before.noted_at)
    await waits.keep_progress(tx.conn, wait.wait_id, newest)
    if is_noted:
        _put_on_record(matter, tx, wait, newest)
        await _show(matter, tx, wait)


async def _newest(tx: RunTx, word: ProgressPayload, before: Progress | None, noted_at: datetime) -> Progress:
    privacy = await tx.privacy()
    return Progress(
        message=error_text(privacy.text(word.message)),
        data=privacy.value(word.data),
        at=tx.now,
        count=1 if before is None else before.count + 1,
        noted_at=noted_at,
    )


def _put_on_record(matter: NotificationContext, tx: RunTx, wait: Wait, newest: Progress) -> None:
    facts: dict[str, Any] = {
        "wait_id": wait.wait_id,
        "notification_id": matter.notification.notification_id,
        "message": newest.message,
        "count": newest.count,
    }
    if newest.data is not None:
        facts["data"] = commitment(newest.data, tx.row["salt"])
    tx.leaf("wait.progress", facts, actor=matter.notification.actor, step=wait.step)


async def _show(matter: NotificationContext, tx: RunTx, wait: Wait) -> None:
    if wait.approval_id is not None:
        await approvals.touch(tx.conn, wait.approval_id)
        await messages.card_changed(matter.engine, tx, wait.approval_id)


HANDED_TO = "handed_to"
"""The fact that names, of each wait, the notification that was handed to it."""


async def hand_out(
    engine: Engine, conn: Conn, notification: Notification, answer: Answer, waits: Sequence[NamedWait]
) -> dict[str, Any]:
    """Record the answer for each wait, in the caller's transaction, and return the facts that name them."""
    handed = [_for(engine, notification, answer, wait) for wait in waits]
    now = engine.clock()
    await notifications.record_all(conn, handed, now, now + HEAD_START)
    named = [
        {"notification_id": one.notification_id, "wait_id": wait.wait_id, "run_id": wait.run_id, "step": wait.step}
        for one, wait in zip(handed, waits, strict=True)
    ]
    return {"status": str(NotificationStatus.APPLIED), HANDED_TO: named}


def _for(engine: Engine, notification: Notification, answer: Answer, wait: NamedWait) -> Notification:
    return replace(
        notification,
        notification_id=engine.new_id("ntf"),
        dedupe_key=f"{notification.notification_id}:{wait.wait_id}",
        payload=answer.model_copy(update={"wait_id": wait.wait_id}),
        status=NotificationStatus.RECEIVED,
    )


def outcome_of_one(named: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an answer that was handed to one wait did to it; `facts` are those of its own notification."""
    wait = {name: named[name] for name in ("wait_id", "run_id", "step")}
    return {**wait, "status": facts["status"], "code": facts.get("code") or "", "reason": facts.get("reason", "")}


def outcome_of_all(outcomes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one outcome for all: applied if it did anything, else that of the first that was refused, or the first."""
    order = (NotificationStatus.APPLIED, NotificationStatus.RECEIVED, NotificationStatus.REFUSED)
    telling = next((one for status in order for one in outcomes if one["status"] == status), outcomes[0])
    return {**telling, "waits": [dict(one) for one in outcomes]}


EARLY_LASTS = timedelta(days=7)
"""After that an early answer is a dead letter."""
RUN_ENDED = {
    "status": str(NotificationStatus.STALE),
    "code": str(AnswerCode.LATE),
    "reason": "the run ended before a step of it waited for this",
}
"""What became of a signal that came early, and whose run has ended."""
_OPENING_LASTS = timedelta(minutes=10)
"""Longer than the transaction lasts in which a wait opens: what came before, was seen by it."""

log = logging.getLogger(__name__)


async def sweep_early(engine: Engine) -> int:
    """Have those applied whose wait has opened meanwhile, and put away those for which none has in time, or can."""
    outcome = {
        "status": str(NotificationStatus.DEAD_LETTER),
        "code": str(AnswerCode.UNMATCHED),
        "reason": f"no step waited for this within {EARLY_LASTS.days} days",
    }
    now = engine.clock()
    async with engine.pool.connection() as conn:
        opened = await notifications.receive_opened(conn, engine.tenant, now - _OPENING_LASTS)
        ended = await notifications.end_early_signals(conn, engine.tenant, RUN_ENDED, now)
        left = await notifications.receive_left(conn, engine.tenant)
        buried = await notifications.expire_early_answers(conn, engine.tenant, now - EARLY_LASTS, outcome)
    for notification_id in buried:
        log.warning("notification %s is a dead letter: %s", notification_id, outcome["reason"])
    if opened or left:
        engine.wakeup.poke()
    return opened + ended + left + len(buried)


@dataclass(frozen=True)
class _Outcome:
    """What an answer did to one wait."""

    wait: Wait | NamedWait
    status: NotificationStatus
    code: AnswerCode | None = None
    reason: str = ""

    def facts(self) -> dict[str, str]:
        facts = {"wait_id": self.wait.wait_id, "run_id": self.wait.run_id, "step": self.wait.step}
        return {**facts, "status": str(self.status), "code": str(self.code or ""), "reason": self.reason}


async def apply_answer(matter: NotificationContext, answer: Answer) -> ApplyResult:
    """Give an answer to the wait that it is for: a completion ends it, word of progress is kept with it."""
    if not matter.waits:
        return await _unmatched(matter, answer)
    if len(matter.waits) > 1:
        facts = await hand_out(matter.engine, matter.conn, matter.notification, answer, matter.waits)
        return ApplyResult(NotificationStatus.APPLIED, facts)
    outcome = await _answer(matter, answer, matter.waits[0])
    return ApplyResult(outcome.status, {**outcome.facts(), "waits": [outcome.facts()]})


async def _unmatched(matter: NotificationContext, answer: Answer) -> ApplyResult:
    """Nothing waits under the key: too late, too early, or for nobody, since a token exists only once its wait does."""
    notification = matter.notification
    if await waits.had_wait(matter.conn, notification.tenant, notification.correlation_key):
        status, code, reason = NotificationStatus.STALE, AnswerCode.LATE, "no step waits for this any more"
    elif answer.token is None:
        reason = f"no step waits for this yet; it is kept for {EARLY_LASTS.days} days"
        status, code = NotificationStatus.EARLY, AnswerCode.EARLY
    else:
        status, code, reason = NotificationStatus.DEAD_LETTER, AnswerCode.UNMATCHED, "no step has had this token"
    return ApplyResult(status, {"code": code, "reason": reason})


async def look_at_answer(tx: RunTx, named: NamedWait) -> None:
    """Read ahead what follows if a step's answer has come, where its wait was found open with the run's lock."""
    if tx.ahead.get(named) is not None:
        event = StepMoved(named.step, StepStatus.SUCCEEDED)
        await at_once(*looks_ahead(tx, await tx.definition(), event, named.wait_id))


async def _answer(matter: NotificationContext, answer: Answer, named: NamedWait) -> _Outcome:
    tx = matter.runs[named.run_id]
    wait = await tx.once(tx.loads.wait, named)  # as it is under the run's lock
    if wait is None:
        return _Outcome(named, NotificationStatus.STALE, AnswerCode.LATE, "no step waits for this any more")
    refusal = refuse_answer(wait, await tx.definition(), answer)
    if refusal is not None:
        reason = await record_wait_refusal(matter, tx, wait.step, refusal.code, refusal.reason)
        return _Outcome(wait, NotificationStatus.REFUSED, refusal.code, reason)
    if isinstance(answer, CompletionPayload):
        await complete_wait(matter, tx, wait, await _moved(tx, wait, answer))
    else:  # it resumes nothing (seed 1, section 7.3)
        await note_progress(matter, tx, wait, answer)
    return _Outcome(wait, NotificationStatus.APPLIED)


async def _moved(tx: RunTx, wait: Wait, answer: CompletionPayload) -> StepMoved:
    error, code = "", ErrorCode.FAILED
    if answer.outcome == "failed":
        error = error_text((await tx.privacy()).text(answer.error)) or "the other side failed"
    elif wrong := content_fault((await tx.definition()).verb_of(wait.step), answer):
        error, code = wrong, ErrorCode.RESULT
    if error:
        return StepMoved(wait.step, StepStatus.FAILED_TERMINAL, error=error, error_code=code)
    return StepMoved(wait.step, StepStatus.SUCCEEDED, answer.result)
