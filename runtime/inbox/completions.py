"""Answers and word of progress for durable steps: one may be for many waits, and then has many outcomes."""

from dataclasses import dataclass

from runtime.inbox.answer_rules import content_fault, refuse_answer
from runtime.inbox.early import EARLY_LASTS
from runtime.inbox.matter import Matter
from runtime.model.errors import ErrorCode
from runtime.model.json_limits import error_text
from runtime.model.notification import Answer, AnswerCode, Applied, CompletionPayload
from runtime.model.states import NotificationStatus, StepStatus, WaitStatus
from runtime.model.wait import NamedWait, Wait
from runtime.planning.advance import advance
from runtime.planning.planner import StepMoved
from runtime.store import waits
from runtime.store.transactions.run_tx import RunTx


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


async def apply_answer(matter: Matter, answer: Answer) -> Applied:
    """Give an answer to every wait that it is for: completions end them, word of progress is put on record."""
    if not matter.waits:
        return await _unmatched(matter, answer)
    outcomes = []
    for named in matter.waits:
        outcomes.append(await _answer(matter, answer, named))
        if len(matter.waits) > 1:
            await matter.conn.write()  # the next may be of the same run, and finds what was written before it
    return _sum_up(outcomes)


async def _unmatched(matter: Matter, answer: Answer) -> Applied:
    """Nothing waits under the key: too late, too early, or for nobody, since a token exists only once its wait does."""
    notification = matter.notification
    if await waits.had_wait(matter.conn, notification.tenant, notification.correlation_key):
        status, code, reason = NotificationStatus.STALE, AnswerCode.LATE, "no step waits for this any more"
    elif answer.token is None:
        reason = f"no step waits for this yet; it is kept for {EARLY_LASTS.days} days"
        status, code = NotificationStatus.EARLY, AnswerCode.EARLY
    else:
        status, code, reason = NotificationStatus.DEAD_LETTER, AnswerCode.UNMATCHED, "no step has had this token"
    return Applied(status, {"code": code, "reason": reason})


async def _answer(matter: Matter, answer: Answer, named: NamedWait) -> _Outcome:
    tx, actor = matter.runs[named.run_id], matter.notification.actor
    wait = await tx.loads.wait(named)  # as it is under the run's lock
    if wait is None:
        return _Outcome(named, NotificationStatus.STALE, AnswerCode.LATE, "no step waits for this any more")
    refusal = refuse_answer(wait, (await tx.definition()).verb_of(wait.step), answer)
    if refusal is not None:
        reason = error_text((await tx.privacy()).text(refusal.reason))
        refused = {
            "notification_id": matter.notification.notification_id,
            "code": str(refusal.code),
            "reason": reason,
        }
        tx.leaf("notification.refused", refused, actor=actor, step=wait.step)
        return _Outcome(wait, NotificationStatus.REFUSED, refusal.code, reason)
    if isinstance(answer, CompletionPayload):
        await _complete(matter, tx, answer, wait)
    else:  # it resumes nothing (seed 1, section 7.3)
        message = (await tx.privacy()).text(answer.message)
        tx.leaf("wait.progress", {"message": message}, actor=actor, step=wait.step)
    return _Outcome(wait, NotificationStatus.APPLIED)


async def _complete(matter: Matter, tx: RunTx, answer: CompletionPayload, wait: Wait) -> None:
    moved = await _moved(tx, wait, answer)
    await waits.close_wait(tx.conn, wait, WaitStatus.COMPLETED, tx.now)
    completed = {
        "wait_id": wait.wait_id,
        "type": str(wait.type),
        "notification_id": matter.notification.notification_id,
    }
    tx.leaf("wait.completed", completed, actor=matter.notification.actor, step=wait.step)
    await advance(matter.engine, tx, moved)


async def _moved(tx: RunTx, wait: Wait, answer: CompletionPayload) -> StepMoved:
    error, code = "", ErrorCode.FAILED
    if answer.outcome == "failed":
        error = error_text((await tx.privacy()).text(answer.error)) or "the other side failed"
    elif wrong := content_fault((await tx.definition()).verb_of(wait.step), answer):
        error, code = wrong, ErrorCode.RESULT
    if error:
        return StepMoved(wait.step, StepStatus.FAILED_TERMINAL, error=error, error_code=code)
    return StepMoved(wait.step, StepStatus.SUCCEEDED, answer.result)


def _sum_up(outcomes: list[_Outcome]) -> Applied:
    """Return one outcome for all: applied if it did anything, else the first reason why not."""
    telling = next((one for one in outcomes if one.status is NotificationStatus.APPLIED), None)
    telling = telling or next((one for one in outcomes if one.status is NotificationStatus.REFUSED), outcomes[0])
    return Applied(telling.status, {**telling.facts(), "waits": [one.facts() for one in outcomes]})
