"""How long the clock of a request stands still while questions to whoever asked are open. Pure.

Rule: the union of the times in which a question is open counts, each moment once, and never more than policy allows.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from runtime.model.questions import Question

_NONE = timedelta(0)


def paused(questions: Sequence[Question], longest: timedelta) -> timedelta:
    """Return by how much everything comes later that the clock brings; while a question is open, by the `longest`.

    So a deadline that is moved when a question is put never comes too early; it is moved back with the answer.
    """
    lasted, open_since = _counted(questions)
    return longest if open_since is not None else min(lasted, longest)


def paused_until(questions: Sequence[Question], longest: timedelta) -> datetime | None:
    """Return when the clock goes on at the latest, None where no question is open; a moment that may be past."""
    lasted, open_since = _counted(questions)
    return None if open_since is None else open_since + max(longest - lasted, _NONE)


def _counted(questions: Sequence[Question]) -> tuple[timedelta, datetime | None]:
    """Return how long questions were open until the first that still is, and from when on that one counts."""
    lasted, end = _NONE, None
    for one in sorted(questions, key=lambda question: question.asked_at):
        start = one.asked_at if end is None else max(one.asked_at, end)
        if one.answered_at is None:
            return lasted, start
        lasted, end = lasted + max(one.answered_at - start, _NONE), max(start, one.answered_at)
    return lasted, None
