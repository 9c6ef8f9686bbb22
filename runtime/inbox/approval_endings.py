"""Ends of approvals: what an approval, rejection or expiry means for the effect, the step and the card."""

from dataclasses import replace

from runtime.approvals.requests import passage_of
from runtime.approvals.rules import ends_request, leaves_open
from runtime.engine import Engine
from runtime.gate import settlement
from runtime.model.approval import Approval, AskKind, Result, ResultCode
from runtime.model.chat_message import BreakGlassUsed
from runtime.model.effect import AttemptOutcome
from runtime.model.messages import ApprovalEnded, Note
from runtime.model.states import ApprovalStatus, EffectStatus, StepStatus, WaitStatus, has_stopped
from runtime.model.steps import ErrorCode
from runtime.model.votes import Vote, VoteVerdict
from runtime.outbox import messages
from runtime.planning.advance import advance
from runtime.planning.plan_builder import CHANGES_KEY
from runtime.planning.transition import StepMoved
from runtime.store import approvals, effects, steps, waits
from runtime.store.break_glass import break_glass_of
from runtime.store.run_tx import RunTx


async def end_approval(
    engine: Engine, tx: RunTx, approval: Approval, status: ApprovalStatus, votes: list[Vote]
) -> None:
    """End an open approval, as it is under the run's lock, and do what its end means for effect, step and card."""
    if approval.status is not ApprovalStatus.REQUESTED:
        return
    is_refused = approval.kind is AskKind.EFFECT and status is not ApprovalStatus.APPROVED
    ending = [vote for vote in votes if ends_request(approval.requirement, vote)]
    result = _result(status, ending) if is_refused else None
    await approvals.close_approval(tx.conn, approval.approval_id, status, tx.now, result)
    facts = {"approval_id": approval.approval_id, "votes": len(votes)}
    tx.leaf_about(approval, f"approval.{status}", facts)
    ends = {AskKind.EFFECT: _end_effect, AskKind.TASK: _end_task, AskKind.IN_DOUBT: _end_doubt}
    if end := ends.get(approval.kind):  # nothing follows from what is asked afterwards: what was done stays done
        await end(engine, tx, approval, status, votes)
    if approval.kind in (AskKind.EFFECT, AskKind.TASK):  # whose end makes one revision
        await messages.card_moved_on(engine, tx, replace(approval, status=status, revision=approval.revision + 1))
    else:
        await messages.card_changed(engine, tx, approval.approval_id)
    if approval.kind is AskKind.AFTERWARDS and status is ApprovalStatus.REJECTED:
        await _tell_not_justified(engine, tx, approval, votes[-1])
    if any(vote.break_glass for vote in votes):
        return  # whoever asked was told that, which is no approval
    if approval.kind is AskKind.EFFECT or _wants_changes(ending):
        said = ApprovalEnded(
            run=await messages.run_name(tx),
            step=approval.step,
            status=status,
            votes=[_note(approval, vote) for vote in votes if vote.reason],
            changes=_wants_changes(ending),
        )
        name = f"approval:{approval.approval_id}"
        await messages.tell_requester(engine, tx, name, said, approval.approval_id, is_new=True)


def _note(approval: Approval, vote: Vote) -> Note:
    """Return why somebody voted as they did; a no that ended nothing is told as one."""
    no = " (voted no)" if leaves_open(approval.requirement, vote) else ""
    return Note(name=f"{vote.given_by}{no}", why=vote.reason)


async def _tell_not_justified(engine: Engine, tx: RunTx, approval: Approval, vote: Vote) -> None:
    """Tell who used break-glass, who asked and who watches over it that it was not justified, each once."""
    broken = await break_glass_of(tx.conn, approval.approval_id)
    if broken is None:
        return
    said = BreakGlassUsed(
        run=await messages.run_name(tx),
        step=approval.step,
        person=broken["name"],
        why=vote.reason,
        ticket=broken["ticket"],
        reviewer=vote.given_by,
    )
    name = f"not_justified:{approval.approval_id}"
    await messages.tell_groups(engine, tx, broken["tell"], name, said, approval.approval_id)
    for person in dict.fromkeys((broken["person"], tx.row["requested_by"])):
        await messages.tell_person(engine, tx, person, name, said, approval.approval_id)


async def _end_effect(engine: Engine, tx: RunTx, approval: Approval, status: ApprovalStatus, votes: list[Vote]) -> None:
    wait = WaitStatus.TIMED_OUT if status is ApprovalStatus.EXPIRED else WaitStatus.COMPLETED
    await waits.close_approval_wait(tx.conn, tx.run_id, approval.approval_id, wait, tx.now)
    when = approval.requirement.when
    give_up_at = tx.now + (when.lasts if when else engine.timing.effect_deadline)
    if status is ApprovalStatus.APPROVED:
        await effects.release(
            tx.conn,
            approval.effect_id,
            EffectStatus.DEFERRED,
            EffectStatus.PENDING,
            now=tx.now,
            give_up_at=give_up_at,
        )
        await advance(engine, tx, StepMoved(approval.step, StepStatus.READY))
        return
    ending = [vote for vote in votes if ends_request(approval.requirement, vote)]
    reason = _why_not(status, ending)
    code = _code(status, ending)
    await effects.release(
        tx.conn,
        approval.effect_id,
        EffectStatus.DEFERRED,
        EffectStatus.REJECTED,
        now=tx.now,
        give_up_at=give_up_at,
        error=reason,
    )
    await _refusal_receipt(engine, tx, approval, reason)
    await advance(engine, tx, StepMoved(approval.step, StepStatus.FAILED_TERMINAL, error=reason, error_code=code))


def _wants_changes(ending: list[Vote]) -> bool:
    return any(vote.verdict is VoteVerdict.CHANGES for vote in ending)


def _code(status: ApprovalStatus, ending: list[Vote]) -> ErrorCode:
    if status is ApprovalStatus.EXPIRED:
        return ErrorCode.EXPIRED
    return ErrorCode.CHANGES_REQUESTED if _wants_changes(ending) else ErrorCode.REJECTED


def _result(status: ApprovalStatus, ending: list[Vote]) -> Result:
    if status is ApprovalStatus.EXPIRED:
        return Result(ResultCode.NOT_IN_TIME)
    code = ResultCode.CHANGES_REQUESTED if _wants_changes(ending) else ResultCode.REJECTED
    return Result(code, tuple(vote.given_by for vote in ending))


def _why_not(status: ApprovalStatus, ending: list[Vote]) -> str:
    if status is ApprovalStatus.EXPIRED:
        return "nobody decided in time; expiry is never consent"
    said = [f"{vote.given_by}: {vote.reason}" for vote in ending]
    return f"{'changes requested' if _wants_changes(ending) else 'rejected'} by {'; '.join(said)}"


async def _refusal_receipt(engine: Engine, tx: RunTx, approval: Approval, reason: str) -> None:
    passage = await passage_of(engine, tx, approval)
    passage.attempt.approval_id = approval.approval_id
    await passage.write_receipt(AttemptOutcome.REFUSAL, error=reason)


async def _end_task(engine: Engine, tx: RunTx, approval: Approval, status: ApprovalStatus, votes: list[Vote]) -> None:
    """A review has its answer, and a rejection is one too; only silence fails the step."""
    if status is ApprovalStatus.EXPIRED:
        await waits.close_approval_wait(tx.conn, tx.run_id, approval.approval_id, WaitStatus.TIMED_OUT, tx.now)
        moved = StepMoved(
            approval.step, StepStatus.FAILED_TERMINAL, error="nobody answered in time", error_code=ErrorCode.NO_ANSWER
        )
    else:
        await waits.close_approval_wait(tx.conn, tx.run_id, approval.approval_id, WaitStatus.COMPLETED, tx.now)
        last = votes[-1]
        changes = {CHANGES_KEY: True} if last.verdict is VoteVerdict.CHANGES else {}
        result = {"decision": str(status), "reviewer": last.person, "reason": last.reason, **changes}
        moved = StepMoved(approval.step, StepStatus.SUCCEEDED, result)
    await advance(engine, tx, moved)


async def _end_doubt(engine: Engine, tx: RunTx, approval: Approval, status: ApprovalStatus, votes: list[Vote]) -> None:
    """A person said whether it happened. If not, the effect may be attempted again, as long as its step wants it."""
    passage = await passage_of(engine, tx, approval)
    effect = passage.effect
    step_is_over = has_stopped(await steps.step_status(tx.conn, tx.run_id, effect.step))
    happened = status is ApprovalStatus.APPROVED
    after = EffectStatus.PENDING
    if happened or step_is_over:
        after = EffectStatus.DISPATCHED if happened else EffectStatus.FAILED
    await effects.release(
        tx.conn,
        effect.effect_id,
        EffectStatus.IN_DOUBT,
        after,
        now=tx.now,
        give_up_at=tx.now + engine.timing.effect_deadline,
    )
    await passage.end_reservations(after)
    statement = {"said_by": [vote.person for vote in votes], "reason": votes[-1].reason}
    if happened:
        await settlement.confirm(passage, statement)
    elif step_is_over:
        await passage.write_receipt(AttemptOutcome.FAILURE, error="a person says that it did not happen")
    else:
        await advance(engine, tx, StepMoved(effect.step, StepStatus.READY))
