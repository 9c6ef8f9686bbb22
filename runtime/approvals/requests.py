"""Requests: what the gate records of policy's answer, and asks people: approvals, reviews, and questions of doubt.

What the author of a verb or a step declared for its card is evaluated once: when people are asked. Whether enough
people are left to decide a request is looked at again after an edit, a hand-over, a withdrawal or a delegation's end.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any

from policy.contract import Answer, NotificationObligation, Question, Verdict
from receipts.canonical import digest, digest_of, dumps
from receipts.fields import timestamp
from receipts.privacy import Privacy
from receipts.redaction import redact
from runtime.approvals.electorate import able, without
from runtime.approvals.routes import routed, tell_fallback
from runtime.approvals.rules import shortfall
from runtime.definitions.card_evaluation import evaluate_card
from runtime.definitions.durations import format_duration
from runtime.definitions.model import Definition, Verb
from runtime.engine import Engine
from runtime.model.action import Tier
from runtime.model.approval import Approval, AskKind, NewApproval, Result, ResultCode
from runtime.model.chat_message import Unfulfillable
from runtime.model.delegation import AskedPerson
from runtime.model.effect import Effect
from runtime.model.passage_facts import PassageFacts
from runtime.model.person import Person
from runtime.model.requirement import NextInLine, Requirement
from runtime.model.states import EffectStatus, WaitType
from runtime.model.votes import Refusal, RefusalCode, Vote
from runtime.outbox import messages, retry
from runtime.outbox.attempts import make_attempt
from runtime.planning.effect_tx import EffectTx
from runtime.planning.waits import moments_of, moments_of_request, open_wait
from runtime.store import approvals, effects, records, waits
from runtime.store.database.buffered_connection import at_once
from runtime.store.direct_messages import remind_of
from runtime.store.passage_facts import facts_of
from runtime.store.run_tx import RunTx


async def declared_card(passage: EffectTx, before: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the card of a request shows beside what all cards do; None where nothing is declared.

    It is made of the action's public form, and of what is there now, the trigger and the business state without what
    nobody may see; what is still known as a secret of the run is taken out of the result.
    """
    tx, effect = passage.tx, passage.effect
    definition = await tx.definition()
    verb = await passage.verb()
    card = verb and (definition.node(effect.step).card or verb.card)
    if not verb or not card:
        return None
    context = {
        "params": dict(passage.attempt.action.fields),
        "before": redact(dict(before), verb.redact).value,
        "run": _run_facts(tx, definition),
        "trigger": redact(tx.row["trigger"]).value,
        "state": redact(tx.row["state"] or {}).value,
    }
    shown: dict[str, Any] = (await tx.privacy()).value(evaluate_card(card, context))
    return shown


def _run_facts(tx: RunTx, definition: Definition) -> dict[str, Any]:
    return {
        "id": tx.run_id,
        "tenant": tx.tenant,
        "definition": definition.name,
        "version": definition.version,
        "reference": tx.row["reference"],
        "started_at": timestamp(tx.row["created_at"]),
    }


_DOUBT_LASTS = timedelta(days=365)
_SHORTEST = timedelta(milliseconds=1)


async def record_decision(passage: EffectTx, question: Question, verdict: Verdict) -> Verdict:
    """Store the decision with its input, OPA's decision id and version, and the text of the policy that gave it.

    One by a policy that nobody activated says `development`. Return it as it is on record: a policy's reasons are texts
    from outside.
    """
    tx, attempt = passage.tx, passage.attempt
    in_force = verdict.in_force or passage.engine.kept_texts.get(verdict.policy_digest)
    if verdict.answer.reasons or verdict.answer.obligations:
        verdict = _cleaned(verdict, await tx.privacy())
    facts: dict[str, Any] = {
        "id": passage.engine.new_id("dec"),
        "run_id": tx.run_id,
        "step": passage.effect.step,
        "effect_id": passage.effect.effect_id,
        "outcome": str(verdict.answer.outcome),
        "input": _told(question, verdict).model_dump(mode="json"),
        "answer": verdict.answer.model_dump(mode="json"),
        "opa_decision_id": verdict.decision_id,
        "opa_version": verdict.opa_version,
        "policy_digest": verdict.policy_digest,
        "latency_us": round(verdict.latency_ms * 1000),
        **({} if in_force else {"development": True}),
    }
    attempt.decision_id = facts["id"]
    document = dumps(facts)
    seq = passage.note(
        "decision.recorded",
        {
            "decision_id": facts["id"],
            "digest": digest_of(document),
            "outcome": facts["outcome"],
            "reasons": [reason.code for reason in verdict.answer.reasons],
        },
    )
    await records.insert_decision(tx.conn, tx.run_id, passage.effect.effect_id, seq, facts, document, tx.now, in_force)
    return verdict


def _told(question: Question, verdict: Verdict) -> Question:
    """Return the question that was answered: policy may have asked back who is named in fields of the effect."""
    return question if verdict.named is None else question.model_copy(update={"named": verdict.named})


def _cleaned(verdict: Verdict, privacy: Privacy) -> Verdict:
    reasons = [reason.model_copy(update={"msg": privacy.text(reason.msg)}) for reason in verdict.answer.reasons]
    obligations = [
        one.model_copy(update={"body": privacy.text(one.body)}) if isinstance(one, NotificationObligation) else one
        for one in verdict.answer.obligations
    ]
    cleaned = verdict.answer.model_copy(update={"reasons": reasons, "obligations": obligations})
    return verdict.model_copy(update={"answer": cleaned})


async def open_approval(passage: EffectTx, answer: Answer, before: Mapping[str, Any]) -> None:
    """Step 5 of the gate: effect deferred; approval, wait and card."""
    if answer.requirement is None:
        raise ValueError("an approval needs a requirement")
    requirement = Requirement.of(answer.requirement.model_dump())
    outgrown = passage.attempt.approval_id if passage.attempt.is_signed else None
    verb = await passage.verb()
    approval_id = passage.engine.new_id("apr")
    await passage.settle(EffectStatus.DEFERRED, approval_id=approval_id, digest=passage.attempt.action.digest)
    asked = await ask(
        passage,
        NewApproval(
            approval_id=approval_id,
            effect_id=passage.effect.effect_id,
            step=passage.effect.step,
            kind=AskKind.EFFECT,
            digest=passage.attempt.action.digest,
            tier=Tier(answer.tier),
            requirement=requirement,
            reasons=[reason.model_dump() for reason in answer.reasons],
            before=before,
            purpose=verb.description if verb else "",
        ),
    )
    await open_wait(
        passage.engine,
        passage.tx,
        step=passage.effect.step,
        kind=WaitType.APPROVAL,
        correlation_key=f"approval:{approval_id}",
        lasts=requirement.lasts,
        moments=moments_of_request(requirement, passage.tx.now, await _remind(passage.tx)),
        approval_id=approval_id,
    )
    until = passage.tx.now + requirement.lasts
    await messages.post_cards(passage.engine, passage.tx, asked, until)
    if not asked.route.places:
        opened = await passage.tx.loads.approval(approval_id)
        if opened is not None:
            await messages.tell_opened(passage.engine, passage.tx, opened)
    if outgrown is not None:
        await approvals.touch(passage.tx.conn, outgrown, result=Result(ResultCode.OUTGROWN))
        await messages.card_changed(passage.engine, passage.tx, outgrown)
    for edit in passage.attempt.facts.edits[-1:]:  # whose card leads to this one from now on
        await approvals.touch(passage.tx.conn, edit.approval_id)
        await messages.card_changed(passage.engine, passage.tx, edit.approval_id)


async def _remind(tx: RunTx) -> Mapping[str, Any]:
    return await remind_of(tx.conn, tx.tenant)


async def open_verb_wait(passage: EffectTx) -> None:
    """Open the wait of a durable verb in the transaction that starts it, so that no answer can come too early."""
    tx, attempt = passage.tx, passage.attempt
    verb = await passage.verb()
    if verb is None:
        return
    if wait := await waits.step_wait(tx.conn, tx.run_id, passage.effect.step):
        attempt.token = wait.token  # a further attempt at the same start
        return
    verb = replace(verb, timeout=_lasts(passage, verb))
    if verb.wait_type == WaitType.HUMAN_TASK and attempt.task_id is None:
        await _open_task(passage, verb)
    attempt.token = await open_wait(
        passage.engine,
        tx,
        step=passage.effect.step,
        kind=WaitType(verb.wait_type or WaitType.EXTERNAL),
        correlation_key=passage.effect.correlation_key,
        correlate=verb.correlate,
        lasts=verb.timeout,
        moments=moments_of(verb, tx.now, await _remind(tx) if attempt.task_id and not verb.remind else {}),
        approval_id=attempt.task_id,
    )


def _lasts(passage: EffectTx, verb: Verb) -> timedelta:
    """Return how long the wait lasts, in whole milliseconds: a requirement says no shorter time."""
    ends = retry.answer_by(passage.effect.retry)
    if ends is None:
        return verb.timeout
    return max((ends - passage.tx.now) // _SHORTEST * _SHORTEST, _SHORTEST)


async def _open_task(passage: EffectTx, verb: Verb) -> None:
    passage.attempt.task_id = passage.engine.new_id("apr")
    requirement = Requirement.of_one(passage.effect.fields.get("groups", []), verb.timeout)
    line = (NextInLine(format_duration(entry.after), entry.to) for entry in verb.escalation if entry.to)
    requirement = replace(requirement, escalate_to=tuple(line))
    asked = await ask(
        passage,
        NewApproval(
            approval_id=passage.attempt.task_id,
            effect_id=passage.effect.effect_id,
            step=passage.effect.step,
            kind=AskKind.TASK,
            digest=passage.attempt.action.digest,
            tier=verb.tier,
            requirement=requirement,
            reasons=[],
            before={},
            purpose=verb.description,
        ),
        passage.effect.target,
    )
    until = passage.tx.now + verb.timeout
    await messages.post_copies(passage.engine, passage.tx, asked, until)


async def open_question(passage: EffectTx, error: str, found: Mapping[str, Any] | None) -> None:
    """Step 9 of the gate, where a person must say whether the side effect happened. It has no deadline of its own.

    `found` is what the target holds now, where it was read back and is neither as before nor as wanted.
    """
    tx, effect = passage.tx, passage.effect
    if await approvals.find_open(tx.conn, effect.effect_id, AskKind.IN_DOUBT) is not None:
        return
    requirement = Requirement.of_one(passage.engine.routing.doubt_groups, _DOUBT_LASTS, reason_required=True)
    approval_id = passage.engine.new_id("apr")
    asked = await ask(
        passage,
        NewApproval(
            approval_id=approval_id,
            effect_id=effect.effect_id,
            step=effect.step,
            kind=AskKind.IN_DOUBT,
            digest=passage.attempt.action.digest,
            tier=effect.tier,
            requirement=requirement,
            reasons=[{"code": "effect.in_doubt", "msg": f"An attempt was made and its outcome is not known: {error}"}],
            before=(await tx.privacy()).value(redact(dict(found or {}), effect.redact).value),
            purpose="Look at the target and say whether it happened.",
        ),
    )
    await messages.post_cards(passage.engine, tx, asked, tx.now + _DOUBT_LASTS)


async def ask(passage: EffectTx, new: NewApproval, first: str | None = None) -> NewApproval:
    """Ask people, and return the request as it was asked; `first` is where a card of it goes in any case."""
    tx = passage.tx
    new = replace(await routed(passage, new, first), shown=await declared_card(passage, new.before))
    approvals.insert_approval(tx.conn, tx.run_id, tx.tenant, new, tx.now)
    tx.leaf_about(
        new,
        "approval.requested",
        {
            "approval_id": new.approval_id,
            "kind": str(new.kind),
            "digest": new.digest,
            "requirement": new.requirement.document(),
            "asked": digest(new.document(tx.now)),
        },
    )
    tell_fallback(passage, new)
    if new.shortfall:
        await _tell_unfulfillable(passage, new)
    return new


async def _tell_unfulfillable(passage: EffectTx, new: NewApproval) -> None:
    """Put on record that there are not enough eligible approvers, and tell who can change directory or policy."""
    engine, tx = passage.engine, passage.tx
    facts = {"approval_id": new.approval_id, "why": new.shortfall}
    tx.leaf_about(new, "approval.unfulfillable", facts)
    said = Unfulfillable(run=await messages.run_name(tx), step=new.step, why=new.shortfall)
    groups, name = list(engine.routing.doubt_groups), f"unfulfillable:{new.approval_id}"
    await messages.tell_groups(engine, tx, groups, name, said, new.approval_id)


async def passage_of(engine: Engine, tx: RunTx, approval: Approval) -> EffectTx:
    """Return it as it stands now."""
    effect, facts = await tx.once(partial(_effect_and_facts, tx), PassageKey(approval.effect_id))
    return EffectTx(engine, tx, make_attempt(effect, facts))


@dataclass(frozen=True)
class PassageKey:
    """Identifies a passage by its effect."""

    effect_id: str


async def look_at_passage(tx: RunTx, effect_id: str) -> None:
    """Read ahead what `passage_of` does."""
    key = PassageKey(effect_id)
    await tx.look(key, _effect_and_facts(tx, key))


async def _effect_and_facts(tx: RunTx, key: PassageKey) -> tuple[Effect, PassageFacts]:
    effect, facts = await at_once(effects.get_effect(tx.conn, key.effect_id), facts_of(tx.conn, key.effect_id))
    return effect, facts


def asked_groups(requirement: Requirement) -> tuple[str, ...]:
    """Return the groups of a requirement, those next in line too."""
    return (*requirement.groups, *requirement.leads)


def left(
    requirement: Requirement, people: Sequence[AskedPerson], barred: AbstractSet[str], votes: Sequence[Vote] = ()
) -> str:
    """Say why these people, with the votes that count, cannot fulfil a requirement; "" where they can.

    Who has said no, and ended nothing by it, signs nothing as long as that vote stands. `people` are those of
    `asked_groups`; `barred` are the requester and the submitter.
    """
    barred = {*barred, *requirement.exclude}
    used = {person for vote in votes for person in vote.people}
    free = without(people, used)
    voters = [Person(vote.person, vote.person_name, tuple(vote.groups)) for vote in votes if not vote.verdict.is_no]
    return shortfall(requirement, [*able(free, set(asked_groups(requirement)), barred), *voters], barred)


def left_to(requirement: Requirement, people: Sequence[AskedPerson], barred: AbstractSet[str], to: str) -> str:
    """Say why a review cannot be answered once it is `to` one person, who may answer it beside those next in line."""
    leads = set(requirement.leads)
    return left(requirement, [one for one in people if one.person.id == to or leads & set(one.person.groups)], barred)


def refuse_short(before: str, after: str) -> Refusal | None:
    """Return why an act does not count after which too few people are left, where enough were before it; or None."""
    return Refusal(RefusalCode.NOT_ENOUGH_APPROVERS, (after,)) if after and not before else None
