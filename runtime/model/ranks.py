"""How urgent a direct message is: whether it waits for the end of quiet hours, and whether it stands by itself."""

from enum import IntEnum


class Rank(IntEnum):
    """The kinds of direct messages, the most urgent first.

    An alarm goes out at once, at any hour. A question waits for the end of quiet hours. Both are always messages by
    themselves. Of each other kind a person gets so many an hour by themselves, as the directory says.
    """

    ALARM = 0
    QUESTION = 1
    REQUEST = 2  # to decide: a card, or that it was escalated to them
    REMINDER = 3
    NEWS = 4

    @property
    def is_alone(self) -> bool:
        """Return whether it is a message by itself, however much was said before."""
        return self in (Rank.ALARM, Rank.QUESTION)


_ALARMS = frozenset({"card_tampered", "glass_broken", "review_late", "unfulfillable"})
_QUESTIONS = frozenset({"question_asked", "question_answered", "request_handed", "step_held"})


def rank_of(kind: str, *, asks: bool) -> Rank:
    """Return how urgent a message of this kind is; `asks` says that it asks the person to decide a request."""
    if kind in _ALARMS:
        return Rank.ALARM
    if kind in _QUESTIONS:
        return Rank.QUESTION
    if kind == "reminder":
        return Rank.REMINDER
    return Rank.REQUEST if asks else Rank.NEWS
