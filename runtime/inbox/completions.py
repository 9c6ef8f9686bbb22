"""Answers and word of progress for durable steps: one may be for many waits, and is then handed to each of them."""

from dataclasses import dataclass

from runtime.inbox.answer_rules import content_fault, refuse_answer
from runtime.inbox.early import EARLY_LASTS
from runtime.inbox.fan_out import hand_out
from runtime.inbox.matter import Matter
from runtime.inbox.progress import note_progress
from runtime.inbox.wait_endings import complete, refuse
from runtime.model.answers import Answer, AnswerCode, CompletionPayload
from runtime.model.errors import ErrorCode
from runtime.model.json_limits import error_text
from runtime.model.notification import Applied
from runtime.model.states import NotificationStatus, StepStatus
from runtime.model.wait import NamedWait, Wait
from runtime.planning.planner import StepMoved
from runtime.store import waits
from runtime.store.run_tx import RunTx


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
    """Give an answer to the wait that it is for: a completion ends it, word of progress is kept with it."""
    if not matter.waits:
        return await _unmatched(matter, answer)
    if len(matter.waits) > 1:
        facts = await hand_out(matter.engine, matter.conn, matter.notification, answer, matter.waits)
        return Applied(NotificationStatus.APPLIED, facts)
    outcome = await _answer(matter, answer, matter.waits[0])
    return Applied(outcome.status, {**outcome.facts(), "waits": [outcome.facts()]})


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
    tx = matter.runs[named.run_id]
    wait = await tx.loads.wait(named)  # as it is under the run's lock
    if wait is None:
        return _Outcome(named, NotificationStatus.STALE, AnswerCode.LATE, "no step waits for this any more")
    refusal = refuse_answer(wait, await tx.definition(), answer)
    if refusal is not None:
        reason = await refuse(matter, tx, wait.step, refusal.code, refusal.reason)
        return _Outcome(wait, NotificationStatus.REFUSED, refusal.code, reason)
    if isinstance(answer, CompletionPayload):
        await complete(matter, tx, wait, await _moved(tx, wait, answer))
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
