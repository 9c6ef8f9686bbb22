"""What those who decide ask whoever asked for something, and what they are answered."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from receipts.fields import timestamp

MOST_QUESTIONS = 20
"""Questions that a request takes."""


@dataclass(frozen=True)
class Question:
    """One question about a request; `answer` is as `answer_of` has it, None as long as there is none."""

    question_id: str
    person: str
    person_name: str
    question: str
    asked_at: datetime
    answer: Mapping[str, Any] | None = None

    @property
    def answered_at(self) -> datetime | None:
        """Return when it was answered, None as long as it is open."""
        return None if self.answer is None else datetime.fromisoformat(self.answer["at"])

    def asked(self) -> dict[str, Any]:
        """Return the question as its digest on the chain has it."""
        return {
            "id": self.question_id,
            "person": self.person,
            "person_name": self.person_name,
            "question": self.question,
            "at": timestamp(self.asked_at),
        }

    def document(self) -> dict[str, Any]:
        """Return it as evidence has it, with its answer where there is one."""
        return {**self.asked(), **({} if self.answer is None else {"answer": dict(self.answer)})}


@dataclass(frozen=True)
class Answerers:
    """Who can answer questions about a run: people who are called, by name and Slack user, and programs."""

    names: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()  # that asked for the run or sent it; they fetch their questions
    group: str = ""  # whose members are called, since no person asked

    @property
    def is_nobody(self) -> bool:
        """Return whether no answer can come."""
        return not (self.users or self.programs)


def answer_of(by: str, kind: str, name: str, text: str, at: datetime, group: str = "") -> dict[str, Any]:
    """Return an answer as it is stored, and as its digest on the chain has it; `kind` is that of who answered.

    `group` is the one for which they answered, "" for who requested or submitted the run.
    """
    answer = {"by": by, "kind": kind, "name": name, "text": text, "at": timestamp(at)}
    return {**answer, "group": group} if group else answer
