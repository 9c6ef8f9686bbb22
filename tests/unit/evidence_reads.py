"""The sample run in format 2 with a read before its write: a failed attempt that cost something, and a success."""

import hashlib
from datetime import timedelta
from typing import Any

from receipts import canonical
from tests.unit.evidence_bound import bound
from tests.unit.evidence_sample import DEFINITION, RUN_ID, START, Story

LOOK: dict[str, Any] = {
    "description": "Look a company up",
    "execution": {
        "kind": "sync",
        "handler": "register::look",
        "timeout": "PT1M",
        "wait": None,
        "escalation": None,
        "correlation_field": None,
    },
    "effect": {"class": "read", "tier": "low", "reversible_by": None, "target": "", "idempotency_key": ""},
}
USAGE: dict[str, Any] = {
    "provider": "openai",
    "model": "gpt-5",
    "units": {"input_tokens": "812"},
    "cost": "0.00123",
    "currency": "USD",
}
TOLD: dict[str, Any] = {
    "metadata": {"status": 200, "request_id": "req-7", "requests": 1},
    "usage": [USAGE],
    "not_recorded": None,
}
GOT, ASKED = "a" * 32, "b" * 32


def read(number: int, attempt: int, minute: int, **more: Any) -> dict[str, Any]:
    """Return the record of an attempt at the step `look`, which ended in that minute of the run."""
    at = f"{(START + timedelta(minutes=minute)).isoformat(timespec='microseconds').removesuffix('+00:00')}Z"
    failed = {"outcome": "failure", "response": None, "error": "too slow"} if attempt == 1 else {}
    return {
        "read_id": f"read-{number}",
        "tenant": "acme",
        "run_id": RUN_ID,
        "step": "look",
        "verb": "register.look",
        "handler": "register::look",
        "attempt": attempt,
        "started_at": at,
        "finished_at": at,
        "outcome": "success",
        "request": {"bytes": 17, "commitment": ASKED},
        "response": {"bytes": 42, "commitment": GOT},
        "told": TOLD,
        "error": None,
        **failed,
        **more,
    }


def looked() -> Story:
    """Return the sound one."""
    told = bound()
    definition = canonical.loads(DEFINITION)
    definition["steps"].insert(0, {"id": "look", "verb": "register.look", "when": None})
    definition["verbs"]["register.look"] = LOOK
    told.definition = canonical.dumps(definition)
    told.events[0][1]["definition_digest"] = hashlib.sha256(told.definition).hexdigest()
    told.reads = {"read-1": read(1, 1, 1), "read-2": read(2, 2, 1)}
    told.events[2:2] = [
        ("read.recorded", {"read_id": "read-1", "step": "look", "minute": 1}),
        ("read.recorded", {"read_id": "read-2", "step": "look", "minute": 1}),
        ("step.succeeded", {"step": "look", "result": GOT, "minute": 1}),
    ]
    told.receipts["r-3"]["told"] = TOLD | {"usage": [USAGE | {"cost": None, "currency": None}]}
    return told
