"""The sample run in format 2 with a governed read before its write: put to policy, allowed, and done."""

import hashlib
from typing import Any

from receipts import canonical
from tests.unit.evidence_bound import at, bound
from tests.unit.evidence_reads import GOT, LOOK
from tests.unit.evidence_sample import DEFINITION, RUN_ID, Story, decision, receipt

KEY = "read-${run.id}-${step}"
ACTION: dict[str, Any] = {
    "connector": "register",
    "operation": "look",
    "target": "company:LEI1",
    "fields": {"lei": "LEI1"},
    "idempotency_key": f"read-{RUN_ID}-look",
    "tier": "low",
    "reversible_by": None,
}
DIGEST = canonical.digest(ACTION)
OF_STEP = {"effect_id": "e-look", "step": "look", "minute": 1}


def governed() -> Story:
    """Return the sound one."""
    told = bound()
    _declare(told)
    told.decisions["d-0"] = _decided()
    told.receipts["r-1"] = _received()
    told.events[2:2] = [
        ("effect.proposed", {**OF_STEP, "action": "register::look", "target": "company:LEI1", "digest": DIGEST}),
        ("decision.recorded", {**OF_STEP, "decision_id": "d-0"}),
        ("receipt.written", {**OF_STEP, "receipt_id": "r-1"}),
        ("step.succeeded", {"step": "look", "result": GOT, "minute": 1}),
    ]
    return told


def _declare(told: Story) -> None:
    definition = canonical.loads(DEFINITION)
    definition["steps"].insert(0, {"id": "look", "verb": "register.look", "when": None})
    effect = {**LOOK["effect"], "governed": True, "target": "company:${params.lei}", "idempotency_key": KEY}
    definition["verbs"]["register.look"] = {**LOOK, "effect": effect}
    redefine(told, definition)


def redefine(told: Story, definition: dict[str, Any]) -> None:
    """Let the run have had another definition."""
    told.definition = canonical.dumps(definition)
    told.events[0][1]["definition_digest"] = hashlib.sha256(told.definition).hexdigest()


def _decided() -> dict[str, Any]:
    made = decision(0, "e-write", "allow")
    asked = {name: ACTION[name] for name in ("connector", "operation", "target", "fields", "tier")}
    effect = {**asked, "digest": DIGEST, "reversible": False, "reads": True}
    return {
        **made,
        "step": "look",
        "effect_id": "e-look",
        "input": made["input"] | {"step": "look", "effect": effect},
        "answer": made["answer"] | {"tier": "low"},
    }


def _received() -> dict[str, Any]:
    made = receipt(1, "e-write")
    of = {"decision_id": "d-0", "step": "look", "effect_id": "e-look", "fingerprint": DIGEST}
    told = {name: ACTION[name] for name in ("connector", "operation", "target", "idempotency_key", "reversible_by")}
    measure = {"bytes": 42, "commitment": GOT}
    times = {"started_at": at(1), "finished_at": at(1)}
    return {**made, **of, **told, **times, "request": ACTION["fields"], "response": measure, "redacted": []}
