"""What the gate records of policy's answer, and what it asks people: approvals, tasks, and questions of doubt."""

from datetime import timedelta
from typing import Any

import isodate

from policy.model import Answer, Question, Verdict
from receipts.canonical import digest
from runtime.definitions.model import Verb
from runtime.engine import Engine
from runtime.model.approval import AskKind
from runtime.model.states import WaitType
from runtime.outbox import messages
from runtime.outbox.attempt import Attempt
from runtime.planning.waits import open_wait
from runtime.store import approvals, effects, records, waits
from runtime.store.run_tx import RunTx

ESCALATE_AFTER = 0.75
"""The part of an approval's time after which those next in line are asked."""

_DOUBT_LASTS = "P365D"


async def record_decision(engine: Engine, tx: RunTx, attempt: Attempt, question: Question, verdict: Verdict) -> None:
    """Store the decision with its input, OPA's decision id, and the text of the policy that gave it."""
    document: dict[str, Any] = {
        "id": engine.new_id("dec"),
        "run_id": tx.run_id,
        "step": attempt.effect.step,
        "effect_id": attempt.effect.effect_id,
        "outcome": str(verdict.answer.outcome),
        "input": question.model_dump(mode="json"),
        "answer": verdict.answer.model_dump(mode="json"),
        "opa_decision_id": verdict.decision_id,
        "policy_digest": verdict.policy_digest,
        "latency_us": round(verdict.latency_ms * 1000),
    }
    attempt.decision_id = document["id"]
    document_digest = digest(document)
    seq = tx.leaf(
        "decision.recorded",
        {
            "decision_id": document["id"],
            "digest": document_digest,
            "outcome": document["outcome"],
            "reasons": [reason.code for reason in verdict.answer.reasons],
        },
        step=attempt.effect.step,
        effect_id=attempt.effect.effect_id,
        approval_id=attempt.approval_id,
    )
    await records.insert_decision(tx.conn, tx.run_id, attempt.effect.effect_id, seq, document, document_digest, tx.now)


async def open_approval(engine: Engine, tx: RunTx, attempt: Attempt, answer: Answer, before: dict[str, Any]) -> None:
    """Step 5 of the gate: effect deferred; approval, wait and card."""
    if answer.requirement is None:
        raise ValueError("an approval needs a requirement")
    requirement = answer.requirement.model_dump()
    verb = await _verb(engine, tx, attempt)
    approval_id = engine.new_id("apr")
    await effects.settle(tx.conn, attempt.effect, "deferred", approval_id=approval_id, digest=attempt.action.digest)
    await _ask(
        tx,
        attempt,
        approval_id,
        AskKind.EFFECT,
        requirement,
        [reason.model_dump() for reason in answer.reasons],
        before=before,
        tier=answer.tier,
        purpose=verb.description if verb else "",
    )
    lasts: timedelta = isodate.parse_duration(requirement["expires_in"])
    await open_wait(
        engine,
        tx,
        step=attempt.effect.step,
        kind=WaitType.APPROVAL,
        correlation_key=f"approval:{approval_id}",
        lasts=lasts,
        escalate_after=lasts * ESCALATE_AFTER,
        escalate_to=requirement["escalate_to"],
        approval_id=approval_id,
    )
    await messages.post_card(engine, tx, approval_id, tuple(requirement["groups"]), tx.now + lasts)


async def _verb(engine: Engine, tx: RunTx, attempt: Attempt) -> Verb | None:
    """Return the verb behind an effect; None for what the system itself sends."""
    if not attempt.effect.step:
        return None
    row = tx.row
    definition = await engine.definitions.get(tx.conn, row["definition_name"], row["definition_version"])
    return definition.verb_of(attempt.effect.step)


async def open_verb_wait(engine: Engine, tx: RunTx, attempt: Attempt) -> None:
    """Open the wait of a durable verb in the transaction that starts it, so that no answer can come too early."""
    verb = await _verb(engine, tx, attempt)
    if verb is None or await waits.step_wait(tx.conn, tx.run_id, attempt.effect.step) is not None:
        return  # a further attempt at the same start
    if verb.wait_type == "human_task" and attempt.task_id is None:
        await _open_task(engine, tx, attempt, verb)
    await open_wait(
        engine,
        tx,
        step=attempt.effect.step,
        kind=WaitType(verb.wait_type or WaitType.EXTERNAL),
        correlation_key=attempt.effect.correlation_key,
        lasts=verb.timeout,
        escalate_after=verb.escalation.after if verb.escalation else None,
        escalate_to=verb.escalation.to if verb.escalation else (),
        approval_id=attempt.task_id,
    )


async def _open_task(engine: Engine, tx: RunTx, attempt: Attempt, verb: Verb) -> None:
    attempt.task_id = engine.new_id("apr")
    requirement = {
        "quorum": 1,
        "groups": list(attempt.effect.fields.get("groups", [])),
        "all_groups": False,
        "exclude": [],
        "expires_in": isodate.duration_isoformat(verb.timeout),
        "reason_required": False,
        "escalate_to": list(verb.escalation.to) if verb.escalation else [],
    }
    await _ask(
        tx, attempt, attempt.task_id, AskKind.TASK, requirement, [], before={}, tier=verb.tier, purpose=verb.description
    )


async def open_question(engine: Engine, tx: RunTx, attempt: Attempt, error: str) -> None:
    """Step 9 of the gate, where a person must say whether the side effect happened. It has no deadline of its own."""
    if await approvals.open_approval(tx.conn, attempt.effect.effect_id, AskKind.IN_DOUBT) is not None:
        return
    groups = list(engine.routing.doubt_groups)
    requirement = {
        "quorum": 1,
        "groups": groups,
        "all_groups": False,
        "exclude": [],
        "expires_in": _DOUBT_LASTS,
        "reason_required": True,
        "escalate_to": [],
    }
    approval_id = engine.new_id("apr")
    reasons = [{"code": "effect.in_doubt", "msg": f"An attempt was made and its outcome is not known: {error}"}]
    await _ask(
        tx,
        attempt,
        approval_id,
        AskKind.IN_DOUBT,
        requirement,
        reasons,
        before={},
        tier=attempt.effect.tier,
        purpose="Look at the target and say whether it happened.",
    )
    await messages.post_card(engine, tx, approval_id, tuple(groups), tx.now + isodate.parse_duration(_DOUBT_LASTS))


async def _ask(
    tx: RunTx,
    attempt: Attempt,
    approval_id: str,
    kind: AskKind,
    requirement: dict[str, Any],
    reasons: list[dict[str, str]],
    *,
    before: dict[str, Any],
    tier: str,
    purpose: str,
) -> None:
    await approvals.insert_approval(
        tx.conn,
        {
            "approval_id": approval_id,
            "run_id": tx.run_id,
            "effect_id": attempt.effect.effect_id,
            "step": attempt.effect.step,
            "kind": kind,
            "digest": attempt.action.digest,
            "tier": tier,
            "requirement": requirement,
            "reasons": reasons,
            "before": before,
            "purpose": purpose,
            "requested_at": tx.now,
            "expires_at": tx.now + isodate.parse_duration(requirement["expires_in"]),
        },
    )
    tx.leaf(
        "approval.requested",
        {
            "approval_id": approval_id,
            "kind": str(kind),
            "digest": attempt.action.digest,
            "requirement": requirement,
        },
        step=attempt.effect.step,
        approval_id=approval_id,
        effect_id=attempt.effect.effect_id,
    )
