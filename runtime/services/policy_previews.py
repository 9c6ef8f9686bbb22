"""Previews of policy: what the one in force, or another text, answers to a question. Nothing of it is kept.

Foreign Rego runs in an `opa` of its own, confined, and few of them at once.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from policy.confined import FRONT
from policy.contract import PolicyText, Question
from policy.explain import Explanation, explain
from policy.trial import candidate, fault_of
from runtime.engine import Engine
from runtime.model.person import Person
from runtime.services.signers import signers_of

AT_ONCE = 2
"""Previews that a process makes at once: each may take a core and the memory of `FRONT`."""


class BusyError(Exception):
    """As many previews as may be are under way."""


@dataclass(frozen=True)
class Sought:
    """What is asked, and of which text.

    `modules` take the place of those of their names, `config` of the tenants' configuration, by tenant; with `sandbox`
    there is nothing else.
    """

    question: Question
    modules: Mapping[str, str]
    config: Mapping[str, Any] | None
    sandbox: bool


@dataclass(frozen=True)
class Preview:
    """What a text answers, by its digest; `fault` says why the gate would not take that, None where it would.

    `signers` are those who could sign now, None where nobody has to.
    """

    explanation: Explanation
    fault: str | None
    policy_digest: str
    signers: Sequence[Person] | None


@dataclass
class PolicyPreviews:
    """Previews policy for the callers of one tenant, with the program `opa`; `in_force` returns the text served now."""

    engine: Engine
    tenant: str
    opa: Path
    in_force: Callable[[], Awaitable[PolicyText]]
    _running: int = field(default=0, init=False)

    async def preview(self, sought: Sought) -> Preview:
        """Return what the text answers.

        Raise BusyError, PolicyUnavailableError where the policy in force cannot be read, and PolicyError where the text
        gives no answer within its bounds.
        """
        if self._running >= AT_ONCE:
            raise BusyError(f"{AT_ONCE} previews are under way, and there are no more at once")
        self._running += 1
        try:
            return await self._previewed(sought)
        finally:
            self._running -= 1

    async def _previewed(self, sought: Sought) -> Preview:
        question = sought.question
        served = None if sought.sandbox else await self.in_force()
        text = candidate(served, sought.modules, sought.config, self.tenant)
        explanation = await explain(self.opa, text.files, question.model_dump(mode="json"), FRONT)
        fault = fault_of(explanation, question)
        requirement = None if fault else explanation.answer["requirement"]
        signers = None if requirement is None else await self._signers(requirement, question)
        return Preview(explanation, fault, text.digest, signers)

    async def _signers(self, requirement: Mapping[str, Any], question: Question) -> list[Person]:
        barred = (question.actor.id, question.actor.submitted_by)
        async with self.engine.pool.connection() as conn:
            return await signers_of(conn, self.tenant, requirement, barred, self.engine.clock())
