"""Votes that are taken back while their request is open: they stay on record, count no more, and may be given anew."""

from receipts.canonical import digest
from receipts.chain import VOTE_WITHDRAWN, Actor
from runtime.approvals.answering import refuse_withdrawal
from runtime.approvals.rules import cast_of, counting, still_missing
from runtime.inbox.answers_standing import Answer, answered, heard
from runtime.inbox.enough_approvers import refuse_stranding_withdrawal
from runtime.inbox.matter import Matter
from runtime.inbox.vote_refusals import refuse
from runtime.model.answering import WithdrawPayload
from runtime.model.messages import VoteWithdrawn
from runtime.model.notification import Applied
from runtime.model.votes import CardAct
from runtime.outbox import messages
from runtime.store import approvals


async def apply_withdrawal(matter: Matter, payload: WithdrawPayload) -> Applied:
    """Take a vote back, or refuse that; either way the run's chain says so."""
    answer = await heard(matter, payload, CardAct.WITHDRAW, payload.stamp)
    if isinstance(answer, Applied):
        return answer
    voters = frozenset(vote.person for vote in answer.votes)
    refusal = refuse_withdrawal(answer.ballot, answer.person, voters, payload.reason, answer.tx.now)
    tx = answer.tx
    if refusal is None:
        refusal = await refuse_stranding_withdrawal(
            tx.conn, tx.tenant, answer.ballot, answer.votes, answer.person.id, tx.now
        )
    if refusal:
        return await refuse(answer.tx, answer.approval, payload, CardAct.WITHDRAW, refusal)
    return await _withdraw(matter, answer, payload)


async def _withdraw(matter: Matter, answer: Answer, payload: WithdrawPayload) -> Applied:
    tx, approval, person = answer.tx, answer.approval, answer.person
    reason = (await tx.privacy()).text(payload.reason.strip())
    vote = await approvals.withdraw_vote(tx.conn, approval.approval_id, person.id, tx.now)
    facts = {"approval_id": approval.approval_id, "person": person.id, "digest": digest(vote.document())}
    tx.leaf(
        VOTE_WITHDRAWN,
        {**facts, "reason": reason},
        actor=Actor(id=person.id, kind="person"),
        step=approval.step,
        approval_id=approval.approval_id,
        effect_id=approval.effect_id,
    )
    left = counting(approval.requirement, [cast_of(one) for one in answer.votes if one.person != person.id])
    said = VoteWithdrawn(
        person=vote.given_by,
        reason=reason,
        count=len(left),
        quorum=approval.requirement.quorum,
        missing=list(still_missing(approval.requirement, left)),
    )
    name = f"withdrawn:{matter.notification.notification_id}"
    await messages.tell_thread(matter.engine, tx, approval.approval_id, name, said)
    return await answered(matter, answer)
