"""A question to policy whose answer does not matter, as long as there is one."""

from datetime import datetime

from countersign.compose.engine import make_policy
from countersign.config.settings import Settings
from policy.model import PolicyText, Question
from receipts.fields import timestamp
from runtime.clock import Clock


async def policy_text(settings: Settings, clock: Clock) -> PolicyText:
    """Return the text of the policy that answers now, or raise PolicyUnavailableError."""
    async with make_policy(settings) as engine:
        verdict = await engine.ask(probe(settings.tenant, clock()))
        return engine.text(verdict.policy_digest)


def probe(tenant: str, now: datetime) -> Question:
    """Return a question whose answer does not matter, as long as it is one."""
    return Question.model_validate(
        {
            "time": timestamp(now),
            "tenant": tenant,
            "actor": {"id": "doctor", "kind": "system", "groups": [], "submitted_by": "doctor"},
            "run": {"id": "none", "definition": "none", "version": 1, "trigger_type": "none"},
            "step": "",
            "effect": {
                "connector": "none",
                "operation": "none",
                "target": "none",
                "fields": {},
                "tier": "low",
                "reversible": True,
                "digest": "0" * 64,
            },
            "approval": None,
            "votes": [],
            "counters": {"writes": 0},
        }
    )
