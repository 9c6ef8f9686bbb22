"""Claims on reviews and handovers of requests: who works on it, given back, or handed to another person.

A claim grants nothing. The others see who works on the review. As long as the claim holds, nobody else answers; it ends
when its holder gives it back, when somebody who is next in line takes it over, and when its holder is no longer among
those who are asked. A request that one person hands to another: the other is told, and a review becomes theirs to work
on.
"""

from collections.abc import Mapping

from receipts.chain import APPROVAL_HANDED, Actor
from runtime.approvals.request_rules import Candidate, refuse_hand
from runtime.approvals.rules import refuse_claim, refuse_release
from runtime.inbox.notification_context import NotificationContext
from runtime.inbox.vote_refusals import (
    RequestAct,
    accept_act,
    accounts_of,
    asked_people,
    ballot_of,
    claimant_of,
    end_lapsed_claim,
    load_act,
    person_of,
    present_person,
    record_refusal,
    refuse_stranding_handover,
    refuse_way,
    unknown_request,
    way_of,
)
from runtime.model.approval import Approval, AskKind
from runtime.model.messages import RequestHanded, TaskClaimed, TaskReleased
from runtime.model.notification import ApplyResult
from runtime.model.payloads import ClaimPayload, HandPayload
from runtime.model.person import Person
from runtime.model.states import NotificationStatus
from runtime.model.votes import CardAct, ClaimAct, Refusal, RefusalCode, Via
from runtime.outbox import messages
from runtime.store import approvals, directory
from runtime.store.directory import deactivated_people
from runtime.store.run_tx import RunTx


async def apply_claim(matter: NotificationContext, payload: ClaimPayload) -> ApplyResult:
    """Let somebody take a review on or give it back, or refuse that; either way the run's chain says so."""
    tx = matter.run()
    approval = None if tx is None else await tx.loads.approval(payload.approval_id)
    if tx is None or approval is None:
        return unknown_request()
    speaks = present_person if payload.via is Via.CONSOLE else person_of
    person, holder = await speaks(tx, payload), await claimant_of(tx, approval)
    if isinstance(person, Refusal):
        return await record_refusal(tx, approval, payload, payload.act, person)
    if refusal := await _claim_refusal(tx, approval, person, holder, payload):
        return await record_refusal(tx, approval, payload, payload.act, refusal)
    await (_claim if payload.act is ClaimAct.CLAIM else _release)(matter, tx, approval, person, way_of(payload))
    await messages.card_changed(matter.engine, tx, approval.approval_id)
    return ApplyResult(NotificationStatus.APPLIED, {"counted": True, "approval": str(approval.status)})


async def _claim_refusal(
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


async def _claim(
    matter: NotificationContext, tx: RunTx, approval: Approval, person: Person, way: Mapping[str, str]
) -> None:
    before = approval.assignee
    await approvals.assign(tx.conn, approval.approval_id, person.id)
    _note(tx, "task.claimed", approval, person, {"from": before, **way})
    row = await tx.loads.actor((tx.tenant, before)) if before else None
    said = TaskClaimed(person=person.name, before=row["name"] if row else before or "")
    await _tell(matter, tx, approval, said)


async def _release(
    matter: NotificationContext, tx: RunTx, approval: Approval, person: Person, way: Mapping[str, str]
) -> None:
    await approvals.assign(tx.conn, approval.approval_id, None)
    _note(tx, "task.released", approval, person, way)
    await _tell(matter, tx, approval, TaskReleased(person=person.name))


def _note(tx: RunTx, event: str, approval: Approval, person: Person, more: Mapping[str, str | None]) -> None:
    facts = {"approval_id": approval.approval_id, "person": person.id, **more}
    actor = Actor(id=person.id, kind="person")
    tx.leaf(event, facts, actor=actor, step=approval.step, approval_id=approval.approval_id)


async def _tell(matter: NotificationContext, tx: RunTx, approval: Approval, said: TaskClaimed | TaskReleased) -> None:
    """Say it in the card's thread, once for each time."""
    name = f"{said.kind}:{matter.notification.notification_id}"
    await messages.tell_thread(matter.engine, tx, approval.approval_id, name, said)


async def apply_handover(matter: NotificationContext, payload: HandPayload) -> ApplyResult:
    """Hand a request to another person, or refuse that; either way the run's chain says so."""
    answer = await load_act(matter, payload, CardAct.HAND, payload.stamp)
    if isinstance(answer, ApplyResult):
        return answer
    to = await _candidate(answer.tx, payload.to)
    if refusal := await _refusal(answer, to, payload):
        return await record_refusal(answer.tx, answer.approval, payload, CardAct.HAND, refusal)
    assert to is not None  # noqa: S101 - else it is refused above
    return await _hand_over(matter, answer, to, payload)


async def _candidate(tx: RunTx, person_id: str) -> Candidate | None:
    row = await tx.loads.actor((tx.tenant, person_id))
    if row is None or row["kind"] != "person" or person_id in await deactivated_people(tx.conn, tx.tenant):
        return None
    person = Person(row["actor_id"], row["name"], tuple(row["groups"]))
    return Candidate(person, await directory.accounts_of(tx.conn, tx.tenant, person_id))


async def _refusal(answer: RequestAct, to: Candidate | None, payload: HandPayload) -> Refusal | None:
    if answer.approval.kind.outlives_run:
        return Refusal(RefusalCode.IN_DOUBT)
    if to is None:
        return Refusal(RefusalCode.NOT_ENTITLED, (payload.to,))
    who = Candidate(answer.person, await accounts_of(answer.tx, answer.person.id, payload))
    tx, ballot = answer.tx, answer.ballot
    refusal = refuse_hand(ballot, who, to, payload.reason, tx.now)
    if refusal or answer.approval.kind is not AskKind.TASK:  # of others more people than one may go on deciding
        return refusal
    return refuse_stranding_handover(await asked_people(tx, ballot), ballot, payload.to)


async def _hand_over(
    matter: NotificationContext, answer: RequestAct, to: Candidate, payload: HandPayload
) -> ApplyResult:
    tx, approval, person = answer.tx, answer.approval, answer.person
    reason = (await tx.privacy()).text(payload.reason.strip())
    await end_lapsed_claim(tx, approval, person.id)
    if approval.kind is AskKind.TASK:
        await approvals.assign(tx.conn, approval.approval_id, to.person.id)
    facts = {"approval_id": approval.approval_id, "person": person.id, "to": to.person.id, "reason": reason}
    tx.leaf_about(approval, APPROVAL_HANDED, facts, actor=Actor(id=person.id, kind="person"))
    name = f"handed:{matter.notification.notification_id}"
    mention = [user for _, user in to.accounts]
    said = RequestHanded(person=person.name, to=to.person.name, reason=reason, mention=mention)
    await messages.tell_thread(matter.engine, tx, approval.approval_id, name, said)
    await messages.tell_accounts(matter.engine, tx, to.accounts, name, said, approval.approval_id)
    return await accept_act(matter, answer)
