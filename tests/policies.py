"""A policy between the runtime and the real one, for tests that change what is answered."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from policy.contract import (
    Authorization,
    OperatorQuestion,
    PolicyEngine,
    PolicyText,
    PolicyUnavailableError,
    Question,
    Verdict,
)


@dataclass
class Between(ABC):
    """Asks the real policy, and answers what `changed` makes of its verdicts."""

    real: PolicyEngine

    @abstractmethod
    async def changed(self, question: Question, verdict: Verdict) -> Verdict: ...

    async def ask(self, question: Question) -> Verdict:
        return await self.changed(question, await self.real.ask(question))

    async def ask_all(self, questions: Sequence[Question]) -> list[Verdict | PolicyUnavailableError]:
        answers = zip(questions, await self.real.ask_all(questions), strict=True)
        return [await self.changed(one, found) if isinstance(found, Verdict) else found for one, found in answers]

    async def judge(self, question: OperatorQuestion) -> Authorization:
        return await self.real.judge(question)

    def text(self, digest: str) -> PolicyText:
        return self.real.text(digest)
