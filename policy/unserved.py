"""Asks a policy that no OPA serves, by its exact text: in an emergency the previous version is asked."""

from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from policy.answer import dotted, parse_answer, parse_flaws, parse_version
from policy.confined import RESCUE, confined
from policy.contract import PolicyText, PolicyUnavailableError, Question, Verdict
from policy.errors import PolicyError
from policy.explain import answered

_VERSION = "Version: "


@dataclass(frozen=True)
class UnservedPolicies:
    """Asks with the program `opa`, in a confined process for each question; None where there is no such program."""

    opa: Path | None

    async def opa_version(self) -> str:
        """Return the version of the program; raise PolicyUnavailableError where there is none that runs."""
        try:
            said = (await confined(self._program(), "version", bounds=RESCUE))[0].partition("\n")[0]
        except PolicyError as error:
            raise PolicyUnavailableError(str(error)) from error
        if not said.startswith(_VERSION):
            raise PolicyUnavailableError(f"{self.opa}: is no `opa`, it tells no version")
        return dotted(parse_version(said.removeprefix(_VERSION)))

    async def ask(self, text: PolicyText, question: Question) -> Verdict:
        """Return the verdict of a text; raise PolicyUnavailableError."""
        opa_version = await self.opa_version()
        try:
            found = await answered(self._program(), text.files, question.model_dump(mode="json"), RESCUE)
        except PolicyError as error:
            raise PolicyUnavailableError(str(error)) from error
        if flaws := parse_flaws(found.flaws):
            raise PolicyUnavailableError("; ".join(f"{question.tenant}: {flaw}" for flaw in flaws))
        return Verdict(
            answer=parse_answer(found.answer, "answer"),
            decision_id=str(uuid4()),
            policy_digest=text.digest,
            opa_version=opa_version,
            latency_ms=found.milliseconds,
        )

    def _program(self) -> Path:
        if self.opa is None:
            raise PolicyUnavailableError("the previous version is asked with an `opa` program: set COUNTERSIGN_OPA")
        return self.opa
