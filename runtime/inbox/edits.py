"""Applies an edit: what was asked is void, and the same effect, with other params, is put to policy anew.

All of it is one transaction under the run's lock: either the old request is open, or the new action is on its way to
policy. Whoever edits wants the effect as it is then, and signs it only where policy says so. An edit is no vote.
"""

from receipts.canonical import digest
from receipts.chain import EFFECT_EDITED, Actor
from runtime.approvals.rules import refuse_vote
from runtime.inbox.editing_rules import edited_action, refuse_edit
from runtime.inbox.foresight import refuse_foreseen
from runtime.inbox.matter import Matter
from runtime.inbox.vote_refusals import account_of, accounts_of, ballot_of, present_person, refuse, unknown
from runtime.model.actor import Person
from runtime.model.approval import Approval, AskKind, Result, ResultCode
from runtime.model.edits import Edit
from runtime.model.effect import Effect
from runtime.model.messages import Edited
from runtime.model.notification import Applied
from runtime.model.notification_people import EditPayload
from runtime.model.states import ApprovalStatus, NotificationStatus, StepStatus, WaitStatus
from runtime.model.votes import CardAct, Refusal, RefusalCode, VoteVerdict
from runtime.outbox import messages
from runtime.planning.advance import advance
from runtime.planning.planner import StepMoved
from runtime.store import approvals, edits, effects, waits
from runtime.store.run_tx import RunTx


async def apply_edit(matter: Matter, payload: EditPayload) -> Applied:
    """Make the effect anew as somebody wants it who might approve it, or refuse that; the chain says so."""
    tx = matter.run()
    approval = None if tx is None else await tx.loads.approval(payload.approval_id)
    if tx is None or approval is None:
        return unknown()
    person = await present_person(tx, payload)
    if isinstance(person, Refusal):
        return await refuse(tx, approval, payload, CardAct.EDIT, person)
    effect = await effects.get_effect(tx.conn, approval.effect_id)
    if refusal := await _refusal(matter, tx, approval, effect, person, payload):
        return await refuse(tx, approval, payload, CardAct.EDIT, refusal)
    await _replace(matter, tx, approval, effect, person, payload)
    return Applied(NotificationStatus.APPLIED, {"counted": True, "approval": str(ApprovalStatus.CANCELED)})


async def _refusal(
    matter: Matter, tx: RunTx, approval: Approval, effect: Effect, person: Person, payload: EditPayload
) -> Refusal | None:
    """Return why the edit does not count: who could not approve it now, by themselves, cannot edit it either."""
    if approval.kind is not AskKind.EFFECT:
        return Refusal(RefusalCode.NOT_EDITABLE)
    votes = await tx.loads.votes(approval.approval_id)
    accounts = await accounts_of(tx, person.id, payload)
    ballot = ballot_of(approval, votes, tx.row)
    if refusal := refuse_vote(ballot, person, accounts, VoteVerdict.REJECT, payload.reason, tx.now):
        return refusal
    if payload.stamp != approval.stamp:
        return Refusal(RefusalCode.STALE)
    verb = (await tx.definition()).verb_of(approval.step)
    if refusal := refuse_edit(verb, effect.fields, payload.params):
        return refusal
    if matter.foreseen is None:  # the request was another when policy was asked
        return Refusal(RefusalCode.STALE)
    return await refuse_foreseen(tx.conn, tx.row, matter.foreseen, await tx.privacy(), tx.now)


async def _replace(
    matter: Matter, tx: RunTx, approval: Approval, effect: Effect, person: Person, payload: EditPayload
) -> None:
    fields, action, changes = edited_action(effect, payload.params, tx.row["salt"])
    team, account = account_of(await accounts_of(tx, person.id, payload), person)
    edit = Edit(
        approval_id=approval.approval_id,
        effect_id=effect.effect_id,
        person=person.id,
        person_name=person.name,
        groups=person.groups,
        reason=(await tx.privacy()).text(payload.reason.strip()),
        team=team,
        account=account,
        replaced=effect.digest,
        digest=action.digest,
        changes=changes,
        at=tx.now,
    )
    await _void(tx, approval, edit)
    await edits.insert_edit(tx.conn, tx.run_id, _note(tx, approval, edit), edit, matter.notification.notification_id)
    give_up_at = tx.now + matter.engine.timing.effect_deadline
    await edits.change_effect(tx.conn, edit, fields, now=tx.now, give_up_at=give_up_at)
    await _tell(matter, tx, approval, edit)
    await advance(matter.engine, tx, StepMoved(approval.step, StepStatus.READY))
    tx.conn.on_commit(matter.engine.wakeup.poke)


async def _void(tx: RunTx, approval: Approval, edit: Edit) -> None:
    """End the request: nobody may decide it any more, whatever becomes of the new action."""
    await approvals.close_approval(tx.conn, approval.approval_id, ApprovalStatus.CANCELED, tx.now)
    await approvals.touch(tx.conn, approval.approval_id, result=Result(ResultCode.REPLACED, (edit.person_name,)))
    await waits.close_approval_wait(tx.conn, tx.run_id, approval.approval_id, WaitStatus.CANCELED, tx.now)
    tx.leaf(
        "approval.canceled",
        {"approval_id": approval.approval_id},
        step=approval.step,
        approval_id=approval.approval_id,
        effect_id=approval.effect_id,
    )


def _note(tx: RunTx, approval: Approval, edit: Edit) -> int:
    """Put the edit on record; return the number of its leaf."""
    return tx.leaf(
        EFFECT_EDITED,
        {
            "approval_id": approval.approval_id,
            "person": edit.person,
            "from": edit.replaced,
            "to": edit.digest,
            "digest": digest(edit.document()),
        },
        actor=Actor(id=edit.person, kind="person"),
        step=approval.step,
        approval_id=approval.approval_id,
        effect_id=approval.effect_id,
    )


async def _tell(matter: Matter, tx: RunTx, approval: Approval, edit: Edit) -> None:
    """Have the card say so, and tell its thread and whoever asked."""
    said = Edited(
        run=await messages.run_name(tx),
        step=approval.step,
        person=edit.person_name,
        reason=edit.reason,
        params=[change["param"] for change in edit.changes],
    )
    name = f"edited:{approval.approval_id}"
    await messages.card_changed(matter.engine, tx, approval.approval_id)
    await messages.tell_thread(matter.engine, tx, approval.approval_id, name, said)
    await messages.tell_requester(matter.engine, tx, name, said, approval.approval_id)
