"""Asked ahead: what policy was asked about the next step while this one was under way, and when its answer counts.

It counts if the question turns out to be the same, byte for byte but for its time, within a second of asking and in the
same minute, since windows of time open and close with minutes.
"""

from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import datetime, timedelta

from policy.contract import Question, Verdict

FRESH = timedelta(seconds=1)
"""For so long an answer counts."""
_MINUTE = len("2026-01-05T10:00")


@dataclass(frozen=True)
class AskedAhead:
    """A question that was asked ahead; `answer` gives its verdict, or raises PolicyUnavailableError."""

    question: Question
    asked_at: datetime
    answer: Awaitable[Verdict]

    def counts_for(self, question: Question, now: datetime) -> bool:
        """Return whether its answer may count for a question that is to be asked now."""
        return (
            now - self.asked_at <= FRESH
            and question.time[:_MINUTE] == self.question.time[:_MINUTE]
            and _asked_of(question) == _asked_of(self.question)
        )


def _asked_of(question: Question) -> str:
    return question.model_dump_json(exclude={"time"})
