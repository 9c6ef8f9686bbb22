"""Votes and what they lead to: the approval's end, the effect's next status, the task's result."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from receipts.chain import Actor
from runtime import chat, outcomes
from runtime.approvals import Ballot, Requirement, refuse_vote, tally
from runtime.attempt import make_attempt
from runtime.desk_model import ApprovalStatus, AskKind, Person, Refusal, VoteVerdict
from runtime.engine import Engine
from runtime.orchestrator import advance
from runtime.planner import StepMoved
from runtime.states import STEP, NotificationStatus, StepStatus, WaitStatus, is_final
from runtime.store import approvals, directory, effects, inbox, runs
from runtime.store.approvals import Approval, Vote
from runtime.store.inbox import Notification
from runtime.store.pool import Conn
from runtime.store.run_tx import RunTx, lock_run


@dataclass(frozen=True)
class Applied:
    """What became of a notification, and the facts to keep with it."""

    status: NotificationStatus
    facts: dict[str, Any]


UNKNOWN_APPROVAL = Refusal("vote.unknown", "This request is not known here. Nothing has changed.")


async def apply_vote(engine: Engine, conn: Conn, notification: Notification) -> Applied:
    """Count a click, or refuse it; either way the run's chain says so."""
    payload = notification.payload
    found = await approvals.get_approval(conn, payload["approval_id"])
    if found is None:
        return _refused(NotificationStatus.DEAD_LETTER, UNKNOWN_APPROVAL, None)
    tx = await lock_run(conn, found.run_id, engine.clock(), notification.request_id)
    approval = await approvals.get_approval(conn, found.approval_id, lock=True)
    if approval is None or tx.tenant != notification.tenant:
        return _refused(NotificationStatus.DEAD_LETTER, UNKNOWN_APPROVAL, None)
    person = await _voter(conn, notification)
    refusal = person if isinstance(person, Refusal) else await _refusal(tx, approval, person, payload)
    if isinstance(person, Refusal) or refusal is not None:
        applied = _refuse(tx, approval, notification, refusal or UNKNOWN_APPROVAL)
    else:
        applied = await _count(engine, tx, approval, person, notification)
    await tx.flush()
    return applied


async def _voter(conn: Conn, notification: Notification) -> Person | Refusal:
    refusal = notification.payload["refusal"]
    if refusal is not None:
        return Refusal(refusal["code"], refusal["text"])
    row = await directory.actor(conn, notification.tenant, notification.payload["person_id"])
    if row is None or row["kind"] != "person":
        return Refusal("identity.unknown", "The directory does not know you. Ask the operator to add you.")
    return Person(row["actor_id"], row["name"], tuple(row["groups"]))


async def ballot_of(conn: Conn, approval: Approval, run: Mapping[str, Any]) -> Ballot:
    """Return the approval as the rules of voting see it; `run` is its run's row."""
    votes = await approvals.votes_of(conn, approval.approval_id)
    return Ballot(
        status=ApprovalStatus(approval.status),
        requirement=Requirement.of(approval.requirement),
        requested_by=run["requested_by"],
        submitted_by=run["submitted_by"],
        requester_accounts=frozenset((team, user) for team, user in run["requester_accounts"]),
        voted=frozenset(vote.person for vote in votes),
        voted_accounts=frozenset((vote.team, vote.account) for vote in votes),
        escalated=approval.escalated,
        # what happened is asked until somebody knows
        expires_at=datetime.max.replace(tzinfo=UTC) if approval.kind == AskKind.IN_DOUBT else approval.expires_at,
    )


async def _refusal(tx: RunTx, approval: Approval, person: Person, payload: Any) -> Refusal | None:
    ballot = await ballot_of(tx.conn, approval, tx.row)
    account = (payload["team"], payload["user"])
    return refuse_vote(ballot, person, [account], VoteVerdict(payload["verdict"]), payload["reason"], tx.now)


def _refuse(tx: RunTx, approval: Approval, notification: Notification, refusal: Refusal) -> Applied:
    payload = notification.payload
    facts = {
        "approval_id": approval.approval_id,
        "code": refusal.code,
        "verdict": payload["verdict"],
        "team": payload["team"],
        "user": payload["user"],
    }
    actor = Actor(id=payload["person_id"] or f"slack:{payload['team']}:{payload['user']}", kind="person")
    tx.leaf("vote.refused", facts, actor=actor, step=approval.step, approval_id=approval.approval_id)
    repeated = refusal.code == "vote.repeated"
    closed = refusal.code in ("vote.closed", "vote.expired", "vote.stale")
    status = NotificationStatus.DUPLICATE if repeated else NotificationStatus.STALE
    if not repeated and not closed:
        status = NotificationStatus.DEAD_LETTER
    return _refused(status, refusal, approval.status)


def _refused(status: NotificationStatus, refusal: Refusal, approval: str | None) -> Applied:
    facts = {"counted": False, "code": refusal.code, "text": refusal.text, "approval": approval}
    return Applied(status, facts)


async def _count(engine: Engine, tx: RunTx, approval: Approval, person: Person, notification: Notification) -> Applied:
    payload = notification.payload
    vote = Vote(
        person=person.id,
        person_name=person.name,
        groups=person.groups,
        verdict=payload["verdict"],
        reason=payload["reason"].strip(),
        team=payload["team"],
        account=payload["user"],
        at=tx.now,
    )
    await approvals.insert_vote(tx.conn, approval.approval_id, vote, notification.notification_id)
    tx.leaf(
        "vote.counted",
        {
            "approval_id": approval.approval_id,
            "person": person.id,
            "verdict": vote.verdict,
            "groups": list(person.groups),
            "slack": {"team": vote.team, "user": vote.account},
        },
        actor=Actor(id=person.id, kind="person"),
        step=approval.step,
        approval_id=approval.approval_id,
        effect_id=approval.effect_id,
    )
    votes = await approvals.votes_of(tx.conn, approval.approval_id)
    requirement = Requirement.of(approval.requirement)
    status = tally(requirement, [(VoteVerdict(v.verdict), v.person, v.groups) for v in votes])
    await _tell_vote(engine, tx, approval, vote, len(votes), requirement.quorum)
    if status is ApprovalStatus.REQUESTED:
        await approvals.touch(tx.conn, approval.approval_id)
        await chat.card_changed(engine, tx, approval.approval_id)
    else:
        await end_approval(engine, tx, approval, status, votes)
    return Applied(NotificationStatus.APPLIED, {"counted": True, "approval": str(status)})


_SAID = (
    {"approve": "approved", "reject": "rejected"},
    {"approve": "says it happened", "reject": "says it did not happen"},
)


def quoted(reason: str) -> str:
    """Return a reason as one quoted line, so that it cannot pass for a sentence of ours."""
    return f": {json.dumps(reason, ensure_ascii=False)}" if reason else "."


async def _tell_vote(engine: Engine, tx: RunTx, approval: Approval, vote: Vote, count: int, quorum: int) -> None:
    said = _SAID[approval.kind == AskKind.IN_DOUBT][vote.verdict]
    progress = f" ({count} of {quorum})" if vote.verdict == "approve" else ""
    text = f"{vote.person_name} {said}{progress}{quoted(vote.reason)}"
    await chat.tell_thread(engine, tx, approval.approval_id, f"vote:{approval.approval_id}:{vote.person}", text)


async def end_approval(
    engine: Engine, tx: RunTx, approval: Approval, status: ApprovalStatus, votes: list[Vote]
) -> None:
    """End an open approval and do what its end means for the effect, the step and the card."""
    if not await approvals.close_approval(tx.conn, approval.approval_id, status, tx.now):
        return
    facts = {"approval_id": approval.approval_id, "votes": len(votes)}
    tx.leaf(
        f"approval.{status}",
        facts,
        step=approval.step,
        approval_id=approval.approval_id,
        effect_id=approval.effect_id,
    )
    ending = {AskKind.EFFECT: _end_effect, AskKind.TASK: _end_task, AskKind.IN_DOUBT: _end_doubt}
    await ending[AskKind(approval.kind)](engine, tx, approval, status, votes)
    await chat.card_changed(engine, tx, approval.approval_id)
    if approval.kind == AskKind.EFFECT:
        why = "".join(f" {vote.person_name}{quoted(vote.reason)}" for vote in votes if vote.reason)
        text = f"Your request in run {tx.run_id}, step {approval.step}, was {status}.{why}"
        await chat.tell_requester(engine, tx, f"approval:{approval.approval_id}", text)


async def _end_effect(engine: Engine, tx: RunTx, approval: Approval, status: ApprovalStatus, votes: list[Vote]) -> None:
    wait = WaitStatus.TIMED_OUT if status is ApprovalStatus.EXPIRED else WaitStatus.COMPLETED
    await inbox.close_step_wait(tx.conn, tx.run_id, approval.step, wait, tx.now)
    give_up_at = tx.now + engine.timing.effect_deadline
    if status is ApprovalStatus.APPROVED:
        await effects.release(tx.conn, approval.effect_id, "deferred", "pending", now=tx.now, give_up_at=give_up_at)
        await advance(engine, tx, StepMoved(approval.step, StepStatus.READY))
        return
    reason = _why_not(status, votes)
    await effects.release(
        tx.conn, approval.effect_id, "deferred", "rejected", now=tx.now, give_up_at=give_up_at, error=reason
    )
    await approvals.touch(tx.conn, approval.approval_id, result=f"not performed: {reason}")
    await _refusal_receipt(engine, tx, approval, reason)
    await advance(engine, tx, StepMoved(approval.step, StepStatus.FAILED_TERMINAL, error=reason))


def _why_not(status: ApprovalStatus, votes: list[Vote]) -> str:
    if status is ApprovalStatus.EXPIRED:
        return "nobody decided in time; expiry is never consent"
    rejected = [f"{vote.person_name}: {vote.reason}" for vote in votes if vote.verdict == "reject"]
    return f"rejected by {'; '.join(rejected)}"


async def _refusal_receipt(engine: Engine, tx: RunTx, approval: Approval, reason: str) -> None:
    effect = await effects.get_effect(tx.conn, approval.effect_id)
    attempt = make_attempt(effect, await effects.passage_facts(tx.conn, effect))
    attempt.approval_id = approval.approval_id
    await outcomes.write_receipt(engine, tx, attempt, "refusal", error=reason)


async def _end_task(engine: Engine, tx: RunTx, approval: Approval, status: ApprovalStatus, votes: list[Vote]) -> None:
    """A review has its answer, and a rejection is one too; only silence fails the step."""
    if status is ApprovalStatus.EXPIRED:
        await inbox.close_step_wait(tx.conn, tx.run_id, approval.step, WaitStatus.TIMED_OUT, tx.now)
        moved = StepMoved(approval.step, StepStatus.FAILED_TERMINAL, error="nobody answered in time")
    else:
        await inbox.close_step_wait(tx.conn, tx.run_id, approval.step, WaitStatus.COMPLETED, tx.now)
        last = votes[-1]
        result = {"decision": str(status), "reviewer": last.person, "reason": last.reason}
        moved = StepMoved(approval.step, StepStatus.SUCCEEDED, result)
    await advance(engine, tx, moved)


async def _end_doubt(engine: Engine, tx: RunTx, approval: Approval, status: ApprovalStatus, votes: list[Vote]) -> None:
    """A person said whether it happened. If not, the effect may be attempted again, as long as its step wants it."""
    effect = await effects.get_effect(tx.conn, approval.effect_id)
    attempt = make_attempt(effect, await effects.passage_facts(tx.conn, effect))
    step_is_over = is_final(STEP, await runs.step_status(tx.conn, tx.run_id, effect.step))
    happened = status is ApprovalStatus.APPROVED
    after = "dispatched" if happened else "failed" if step_is_over else "pending"
    await effects.release(
        tx.conn, effect.effect_id, "in_doubt", after, now=tx.now, give_up_at=tx.now + engine.timing.effect_deadline
    )
    said = {"said_by": [vote.person for vote in votes], "reason": votes[-1].reason}
    if happened:
        await outcomes.confirmed(engine, tx, attempt, said)
    elif step_is_over:
        await outcomes.write_receipt(engine, tx, attempt, "failure", error="a person says that it did not happen")
    else:
        await advance(engine, tx, StepMoved(effect.step, StepStatus.READY))
