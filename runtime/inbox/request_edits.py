"""Edits of requests: an approver changes params and resubmits; the request is void, the new action is put to policy.

All of it is one transaction under the run's lock: either the old request is open, or the new action is on its way to
policy. An editor wants the effect as it is then, and signs it only where policy says so. An edit is no vote. Who may
edit, and what the action then is: values in, values out. Before anything is locked, policy is asked what it would say
of the edited request, and whether people could then sign it.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from policy.answer import expect_editor_apart
from policy.contract import Outcome, Question, Verdict
from receipts.canonical import digest
from receipts.chain import EFFECT_EDITED, Actor
from receipts.privacy import Privacy
from runtime.approvals.requests import asked_groups, left, refuse_short
from runtime.approvals.rules import refuse_vote
from runtime.definitions.model import Verb
from runtime.engine import Engine
from runtime.inbox.notification_context import NotificationContext
from runtime.inbox.vote_refusals import (
    account_of,
    accounts_of,
    ballot_of,
    present_person,
    record_refusal,
    unknown_request,
)
from runtime.model.action import Action
from runtime.model.approval import Approval, AskKind, Change, Edit, Result, ResultCode, changes_between
from runtime.model.effect import Effect
from runtime.model.limits import json_fault
from runtime.model.messages import Edited
from runtime.model.notification import ApplyResult
from runtime.model.passage_facts import EditFacts, PassageFacts
from runtime.model.payloads import EditPayload
from runtime.model.person import Person
from runtime.model.requirement import Requirement
from runtime.model.states import ApprovalStatus, NotificationStatus, StepStatus, WaitStatus
from runtime.model.steps import ParamsError
from runtime.model.votes import CardAct, Refusal, RefusalCode, VoteVerdict
from runtime.outbox import messages
from runtime.outbox.attempts import make_attempt, make_question
from runtime.planning.advance import advance
from runtime.planning.step_params import PARAMS_DEPTH, fits
from runtime.planning.transition import StepMoved
from runtime.store import approvals, edits, effects, waits
from runtime.store.database.pool import Conn
from runtime.store.electorate import electorate_of
from runtime.store.passage_facts import read_facts
from runtime.store.run_tx import RunTx


def refuse_edit(verb: Verb, fields: Mapping[str, Any], params: Mapping[str, Any]) -> Refusal | None:
    """Return why the params may not be made others, or None: the verb names them, and what they make fits its schema.

    Neither target nor idempotency key is made of such params: it stays the same effect.
    """
    if strange := sorted(set(params).difference(verb.editable)):
        return Refusal(RefusalCode.NOT_EDITABLE, tuple(strange))
    wanted = edited_fields(fields, params)
    if wrong := json_fault(wanted, PARAMS_DEPTH):
        return Refusal(RefusalCode.UNFIT, (wrong,))
    try:
        fits(verb.input_schema, wanted, "params")
    except ParamsError as error:
        return Refusal(RefusalCode.UNFIT, (str(error),))
    return None if changes_between(fields, wanted) else Refusal(RefusalCode.UNCHANGED)


def edited_fields(fields: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an action with some params as somebody wants them; None leaves one out."""
    kept = {name: value for name, value in fields.items() if name not in params}
    return kept | {name: value for name, value in params.items() if value is not None}


def edited_action(effect: Effect, params: Mapping[str, Any], salt: str) -> tuple[dict[str, Any], Action, list[Change]]:
    """Return the fields that the connector would get, the action that they make, and what of it is another."""
    fields = edited_fields(effect.fields, params)
    action = replace(effect, fields=fields).action(salt)
    return fields, action, changes_between(effect.action(salt).fields, action.fields)


async def foresee_edit(
    engine: Engine, approval_id: str, person: str | None, params: Mapping[str, Any]
) -> Verdict | None:
    """Return what policy would say of an open request with other params, or raise PolicyUnavailableError.

    None where the edit cannot be taken anyway. What is read here is not locked: who applies the edit looks again.
    """
    async with engine.pool.connection() as conn:
        approval = await approvals.get_approval(conn, approval_id)
        if approval is None or (approval.kind, approval.status) != (AskKind.EFFECT, ApprovalStatus.REQUESTED):
            return None
        effect = await effects.get_effect(conn, approval.effect_id)
        facts = await read_facts(conn, effect)
        definition = await engine.definitions.get(conn, facts.definition_name, facts.definition_version)
    verb = definition.verb_of(approval.step)
    if person is None or effect.tenant != engine.tenant or refuse_edit(verb, effect.fields, params):
        return None
    question = _question(effect, facts, EditFacts(approval_id, person, ()), params, engine.clock())
    verdict = await engine.ask(question)
    expect_editor_apart(question, verdict.answer)
    return verdict


def _question(
    effect: Effect, facts: PassageFacts, edit: EditFacts, params: Mapping[str, Any], now: datetime
) -> Question:
    """Return what the gate will ask once the edit is applied: nothing is signed, and the editor is named."""
    fields, _, changes = edited_action(effect, params, facts.salt)
    edits = (*facts.edits, replace(edit, changes=changes))
    edited = replace(effect, fields=fields)
    return make_question(make_attempt(edited, replace(facts, approval=None, edits=edits)), now)


async def refuse_foreseen_edit(
    conn: Conn, run: Mapping[str, Any], verdict: Verdict, privacy: Privacy, now: datetime
) -> Refusal | None:
    """Return why an edit is not taken, or None: policy would deny it, or ask for more people than could sign it."""
    answer = verdict.answer
    if answer.outcome is Outcome.DENY:
        return Refusal(RefusalCode.EDIT_DENIED, tuple(privacy.text(reason.msg) for reason in answer.reasons))
    if answer.requirement is None:
        return None
    requirement = Requirement.of(answer.requirement.model_dump())
    people = await electorate_of(conn, run["tenant"], asked_groups(requirement), now)
    return refuse_short("", left(requirement, people, {run["requested_by"], run["submitted_by"]}))


async def apply_edit(matter: NotificationContext, payload: EditPayload) -> ApplyResult:
    """Make the effect anew as somebody wants it who might approve it, or refuse that; the chain says so."""
    tx = matter.run()
    approval = None if tx is None else await tx.loads.approval(payload.approval_id)
    if tx is None or approval is None:
        return unknown_request()
    person = await present_person(tx, payload)
    if isinstance(person, Refusal):
        return await record_refusal(tx, approval, payload, CardAct.EDIT, person)
    effect = await effects.get_effect(tx.conn, approval.effect_id)
    if refusal := await _edit_refusal(matter, tx, approval, effect, person, payload):
        return await record_refusal(tx, approval, payload, CardAct.EDIT, refusal)
    await _replace(matter, tx, approval, effect, person, payload)
    return ApplyResult(NotificationStatus.APPLIED, {"counted": True, "approval": str(ApprovalStatus.CANCELED)})


async def _edit_refusal(
    matter: NotificationContext, tx: RunTx, approval: Approval, effect: Effect, person: Person, payload: EditPayload
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
    return await refuse_foreseen_edit(tx.conn, tx.row, matter.foreseen, await tx.privacy(), tx.now)


async def _replace(
    matter: NotificationContext, tx: RunTx, approval: Approval, effect: Effect, person: Person, payload: EditPayload
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
    tx.leaf_about(approval, "approval.canceled", {"approval_id": approval.approval_id})


def _note(tx: RunTx, approval: Approval, edit: Edit) -> int:
    """Put the edit on record; return the number of its leaf."""
    return tx.leaf_about(
        approval,
        EFFECT_EDITED,
        {
            "approval_id": approval.approval_id,
            "person": edit.person,
            "from": edit.replaced,
            "to": edit.digest,
            "digest": digest(edit.document()),
        },
        actor=Actor(id=edit.person, kind="person"),
    )


async def _tell(matter: NotificationContext, tx: RunTx, approval: Approval, edit: Edit) -> None:
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
