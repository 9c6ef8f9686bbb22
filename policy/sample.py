"""Questions that nobody has: one for each operation that a policy lists, asked to see whether the answer is one."""

import json
from collections.abc import Iterator
from typing import Any

from policy.model import PolicyText, Question
from policy.text import CONFIG_FILE

_TIME = "2026-01-05T10:00:00Z"
_TIERS = ("low", "medium", "high")


def listed_questions(text: PolicyText) -> list[Question]:
    """Return a question in each tier about every operation that the policy's data lists for a tenant."""
    tenants = _members(json.loads(text.files.get(CONFIG_FILE, "{}")))
    return [
        sample(tenant, connector, operation, target, tier, _TIME)
        for tenant, config in tenants.items()
        for connector, operation, target in _listed(_members(config))
        for tier in _TIERS
    ]


def _listed(config: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for connector, entry in _members(config.get("connectors")).items():
        for operation, listed in _members(_members(entry).get("operations")).items():
            for pattern in (_members(listed).get("targets") or ())[:1]:
                yield connector, operation, str(pattern).replace("**", "1").replace("*", "1")


def _members(value: Any) -> dict[str, Any]:
    """Return a mapping's members; data that is no mapping has none, and is the data's own problem."""
    return value if isinstance(value, dict) else {}


def sample(tenant: str, connector: str, operation: str, target: str, tier: str, time: str) -> Question:
    """Return a question whose answer does not matter, as long as it is one."""
    return Question.model_validate(
        {
            "time": time,
            "tenant": tenant,
            "actor": {"id": "nobody", "kind": "system", "groups": [], "submitted_by": "nobody"},
            "run": {"id": "none", "definition": "none", "version": 1, "trigger_type": "none"},
            "step": "",
            "effect": {
                "connector": connector,
                "operation": operation,
                "target": target,
                "fields": {},
                "tier": tier,
                "reversible": False,
                "digest": "0" * 64,
            },
            "approval": None,
            "votes": [],
            "counters": {"writes": 0},
        }
    )


def what(question: Question) -> str:
    """Say what a question is about."""
    return f"{question.tenant}: {question.effect.connector}::{question.effect.operation}"
