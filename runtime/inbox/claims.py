"""Reviews that somebody takes on: the others see who works on it, and may answer it again when they give it back.

A claim grants nothing. As long as it holds, nobody else answers; it ends when they give it back, when somebody who is
next in line takes it over, and when they are no more of those who are asked.
"""

from receipts.chain import Actor
from runtime.approvals.rules import refuse_claim, refuse_release
from runtime.inbox.matter import Matter
from runtime.inbox.vote_refusals import accounts_of, ballot_of, holder_of, person_of, refuse, refuse_way, unknown
from runtime.model.actor import Person
from runtime.model.approval import Approval, AskKind
from runtime.model.messages import TaskClaimed, TaskReleased
from runtime.model.notification import Applied
from runtime.model.notification_people import ClaimPayload
from runtime.model.states import NotificationStatus
from runtime.model.votes import ClaimAct, Refusal, RefusalCode
from runtime.outbox import messages
from runtime.store import approvals
from runtime.store.run_tx import RunTx


async def apply_claim(matter: Matter, payload: ClaimPayload) -> Applied:
    """Let somebody take a review on or give it back, or refuse that; either way the run's chain says so."""
    tx = matter.run()
    approval = None if tx is None else await tx.loads.approval(payload.approval_id)
    if tx is None or approval is None:
        return unknown()
    person, holder = await person_of(tx, payload), await holder_of(tx, approval)
    if isinstance(person, Refusal):
        return await refuse(tx, approval, payload, payload.act, person)
    if refusal := await _refusal(tx, approval, person, holder, payload):
        return await refuse(tx, approval, payload, payload.act, refusal)
    await (_claim if payload.act is ClaimAct.CLAIM else _release)(matter, tx, approval, person)
    await messages.card_changed(matter.engine, tx, approval.approval_id)
    return Applied(NotificationStatus.APPLIED, {"counted": True, "approval": str(approval.status)})


async def _refusal(
    tx: RunTx, approval: Approval, person: Person, holder: Person | None, payload: ClaimPayload
) -> Refusal | None:
    if approval.kind is not AskKind.TASK:
        return Refusal(RefusalCode.NO_TASK)
    ballot = ballot_of(approval, await tx.loads.votes(approval.approval_id), tx.row, holder)
    if payload.act is ClaimAct.RELEASE:
        refusal = refuse_release(ballot, person)
    else:
        refusal = refuse_claim(ballot, person, await accounts_of(tx, person.id, payload), tx.now)
    return refusal or refuse_way(tx, approval, payload)


async def _claim(matter: Matter, tx: RunTx, approval: Approval, person: Person) -> None:
    before = approval.assignee
    await approvals.assign(tx.conn, approval.approval_id, person.id)
    _note(tx, "task.claimed", approval, person, {"from": before})
    row = await tx.loads.actor((tx.tenant, before)) if before else None
    said = TaskClaimed(person=person.name, before=row["name"] if row else before or "")
    await _tell(matter, tx, approval, said)


async def _release(matter: Matter, tx: RunTx, approval: Approval, person: Person) -> None:
    await approvals.assign(tx.conn, approval.approval_id, None)
    _note(tx, "task.released", approval, person, {})
    await _tell(matter, tx, approval, TaskReleased(person=person.name))


def _note(tx: RunTx, event: str, approval: Approval, person: Person, more: dict[str, str | None]) -> None:
    facts = {"approval_id": approval.approval_id, "person": person.id, **more}
    actor = Actor(id=person.id, kind="person")
    tx.leaf(event, facts, actor=actor, step=approval.step, approval_id=approval.approval_id)


async def _tell(matter: Matter, tx: RunTx, approval: Approval, said: TaskClaimed | TaskReleased) -> None:
    """Say it in the card's thread, once for each time."""
    name = f"{said.kind}:{matter.notification.notification_id}"
    await messages.tell_thread(matter.engine, tx, approval.approval_id, name, said)
