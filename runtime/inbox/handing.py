"""Requests that one person hands to another: the other is told, and of a review it becomes theirs to work on."""

from receipts.chain import APPROVAL_HANDED, Actor
from runtime.approvals.answering import Candidate, refuse_hand
from runtime.inbox.answers_standing import Answer, answered, heard
from runtime.inbox.enough_approvers import refuse_stranding_hand
from runtime.inbox.matter import Matter
from runtime.inbox.vote_refusals import accounts_of, end_lapsed_claim, refuse
from runtime.model.actor import Person
from runtime.model.answering import HandPayload
from runtime.model.approval import AskKind
from runtime.model.messages import RequestHanded
from runtime.model.notification import Applied
from runtime.model.votes import CardAct, Refusal, RefusalCode
from runtime.outbox import messages
from runtime.store import approvals, directory
from runtime.store.absentees import people_left
from runtime.store.run_tx import RunTx


async def apply_hand(matter: Matter, payload: HandPayload) -> Applied:
    """Hand a request to another person, or refuse that; either way the run's chain says so."""
    answer = await heard(matter, payload, CardAct.HAND, payload.stamp)
    if isinstance(answer, Applied):
        return answer
    to = await _candidate(answer.tx, payload.to)
    if refusal := await _refusal(answer, to, payload):
        return await refuse(answer.tx, answer.approval, payload, CardAct.HAND, refusal)
    assert to is not None  # noqa: S101 - else it is refused above
    return await _hand(matter, answer, to, payload)


async def _candidate(tx: RunTx, person_id: str) -> Candidate | None:
    row = await tx.loads.actor((tx.tenant, person_id))
    if row is None or row["kind"] != "person" or person_id in await people_left(tx.conn, tx.tenant):
        return None
    person = Person(row["actor_id"], row["name"], tuple(row["groups"]))
    return Candidate(person, await directory.accounts_of(tx.conn, tx.tenant, person_id))


async def _refusal(answer: Answer, to: Candidate | None, payload: HandPayload) -> Refusal | None:
    if answer.approval.kind.outlives_run:
        return Refusal(RefusalCode.IN_DOUBT)
    if to is None:
        return Refusal(RefusalCode.NOT_ENTITLED, (payload.to,))
    who = Candidate(answer.person, await accounts_of(answer.tx, answer.person.id, payload))
    tx, ballot = answer.tx, answer.ballot
    refusal = refuse_hand(ballot, who, to, payload.reason, tx.now)
    if refusal or answer.approval.kind is not AskKind.TASK:  # of others more people than one may go on deciding
        return refusal
    return await refuse_stranding_hand(tx.conn, tx.tenant, ballot, payload.to, tx.now)


async def _hand(matter: Matter, answer: Answer, to: Candidate, payload: HandPayload) -> Applied:
    tx, approval, person = answer.tx, answer.approval, answer.person
    reason = (await tx.privacy()).text(payload.reason.strip())
    await end_lapsed_claim(tx, approval, person.id)
    if approval.kind is AskKind.TASK:
        await approvals.assign(tx.conn, approval.approval_id, to.person.id)
    facts = {"approval_id": approval.approval_id, "person": person.id, "to": to.person.id, "reason": reason}
    tx.leaf(
        APPROVAL_HANDED,
        facts,
        actor=Actor(id=person.id, kind="person"),
        step=approval.step,
        approval_id=approval.approval_id,
        effect_id=approval.effect_id,
    )
    name = f"handed:{matter.notification.notification_id}"
    mention = [user for _, user in to.accounts]
    said = RequestHanded(person=person.name, to=to.person.name, reason=reason, mention=mention)
    await messages.tell_thread(matter.engine, tx, approval.approval_id, name, said)
    await messages.tell_accounts(matter.engine, tx, to.accounts, name, said, approval.approval_id)
    return await answered(matter, answer)
