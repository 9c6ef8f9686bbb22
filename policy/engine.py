"""The policy engine, as the runtime knows it: it answers questions, whatever is behind it."""

from collections.abc import Sequence
from typing import Protocol

from policy.contract import PolicyText, PolicyUnavailableError, Question, Verdict
from policy.operator_contract import Authorization, OperatorQuestion


class PolicyEngine(Protocol):
    """Answers questions; `text` gives the exact policy text of a digest that a verdict carried."""

    async def ask(self, question: Question) -> Verdict:
        """Return the verdict, or raise PolicyUnavailableError."""
        ...

    async def ask_all(self, questions: Sequence[Question]) -> list[Verdict | PolicyUnavailableError]:
        """Return for each question, in their order, the verdict, or why there is none."""
        ...

    async def judge(self, question: OperatorQuestion) -> Authorization:
        """Return whether an operator may do something, or raise PolicyUnavailableError."""
        ...

    def text(self, digest: str) -> PolicyText:
        """Return the text whose digest a verdict carried."""
        ...
