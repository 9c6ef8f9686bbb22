"""Questions to policy whose answers do not matter, as long as they are answers."""

from datetime import datetime

from countersign.engine import make_policy
from countersign.settings import Settings
from policy.model import PolicyEngine, PolicyText, PolicyUnavailableError, Question
from policy.sample import listed_questions, sample, what
from receipts.fields import timestamp
from runtime.clock import Clock


async def policy_text(settings: Settings, clock: Clock) -> PolicyText:
    """Return the text of the policy that answers now, or raise PolicyUnavailableError."""
    async with make_policy(settings) as engine:
        verdict = await engine.ask(probe(settings.tenant, clock()))
        return engine.text(verdict.policy_digest)


async def examined(engine: PolicyEngine, tenant: str, now: datetime, passed: str) -> str:
    """Return the digest of the policy that answers now, or raise PolicyUnavailableError.

    It has an answer about every operation that it lists for the tenant; one that `passed` before is not asked again.
    """
    digest = (await engine.ask(probe(tenant, now))).policy_digest
    if digest != passed:
        questions = _questions(engine.text(digest), tenant)
        for question, found in zip(questions, await engine.ask_all(questions), strict=True):
            if isinstance(found, PolicyUnavailableError):
                raise PolicyUnavailableError(f"{what(question)}: {found}") from found
    return digest


def _questions(text: PolicyText, tenant: str) -> list[Question]:
    return [question for question in listed_questions(text) if question.tenant == tenant]


def probe(tenant: str, now: datetime) -> Question:
    """Return a question about nothing in particular."""
    return sample(tenant, "none", "none", "none", "low", timestamp(now))
