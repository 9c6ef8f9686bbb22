"""What policy would say of a request as somebody wants to edit it, and whether people could then sign it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from policy.apart import expect_apart
from policy.model import Outcome, Question, Verdict
from receipts.privacy import Privacy
from runtime.approvals.fulfilling import asked_groups, left, refuse_short
from runtime.engine import Engine
from runtime.inbox.editing_rules import edited_action, refuse_edit
from runtime.model.approval import AskKind
from runtime.model.effect import Effect
from runtime.model.passage import EditFacts, PassageFacts
from runtime.model.requirement import Requirement
from runtime.model.states import ApprovalStatus
from runtime.model.votes import Refusal, RefusalCode
from runtime.outbox.attempt import make_attempt, make_question
from runtime.store import approvals, effects
from runtime.store.database.pool import Conn
from runtime.store.passages import read_facts
from runtime.store.reaching import asked_in


async def foreseen(engine: Engine, approval_id: str, person: str | None, params: Mapping[str, Any]) -> Verdict | None:
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
    expect_apart(question, verdict.answer)
    return verdict


def _question(
    effect: Effect, facts: PassageFacts, edit: EditFacts, params: Mapping[str, Any], now: datetime
) -> Question:
    """Return what the gate will ask once the edit is applied: nothing is signed, and the editor is named."""
    fields, _, changes = edited_action(effect, params, facts.salt)
    edits = (*facts.edits, replace(edit, changes=changes))
    edited = replace(effect, fields=fields)
    return make_question(make_attempt(edited, replace(facts, approval=None, edits=edits)), now)


async def refuse_foreseen(
    conn: Conn, run: Mapping[str, Any], verdict: Verdict, privacy: Privacy, now: datetime
) -> Refusal | None:
    """Return why an edit is not taken, or None: policy would deny it, or ask for more people than could sign it."""
    answer = verdict.answer
    if answer.outcome is Outcome.DENY:
        return Refusal(RefusalCode.EDIT_DENIED, tuple(privacy.text(reason.msg) for reason in answer.reasons))
    if answer.requirement is None:
        return None
    requirement = Requirement.of(answer.requirement.model_dump())
    people = await asked_in(conn, run["tenant"], asked_groups(requirement), now)
    return refuse_short("", left(requirement, people, {run["requested_by"], run["submitted_by"]}))
