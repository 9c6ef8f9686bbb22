"""Questions that deciders ask about a request, their answers, and how long the request's clock is paused. Pure.

Rule: the union of the times in which a question is open counts, each moment once, and never more than policy allows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
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


_NONE = timedelta(0)


def pause_so_far(questions: Sequence[Question], longest: timedelta) -> timedelta:
    """Return by how much everything comes later that the clock brings; while a question is open, by the `longest`.

    So a deadline that is moved when a question is put never comes too early; it is moved back with the answer.
    """
    lasted, open_since = _open_time(questions)
    return longest if open_since is not None else min(lasted, longest)


def paused_until(questions: Sequence[Question], longest: timedelta) -> datetime | None:
    """Return when the clock goes on at the latest, None where no question is open; a moment that may be past."""
    lasted, open_since = _open_time(questions)
    return None if open_since is None else open_since + max(longest - lasted, _NONE)


def _open_time(questions: Sequence[Question]) -> tuple[timedelta, datetime | None]:
    """Return how long questions were open until the first that still is, and from when on that one counts."""
    lasted, end = _NONE, None
    for one in sorted(questions, key=lambda question: question.asked_at):
        start = one.asked_at if end is None else max(one.asked_at, end)
        if one.answered_at is None:
            return lasted, start
        lasted, end = lasted + max(one.answered_at - start, _NONE), max(start, one.answered_at)
    return lasted, None
