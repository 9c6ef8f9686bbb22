"""What the bot sees of how people are told."""

from typing import Protocol

from runtime.model.delivery import AnswerTurn, Gathering, Notice, Turn


class NoticeDesk(Protocol):
    """Where it is known whether somebody may be told something now, and what was gathered for them."""

    async def take_turn(self, notice: Notice) -> Turn:
        """Return how a message is to be said, and count it; asked again of the same, it is counted once."""
        ...

    async def gathering(self, gathering_id: str) -> Gathering | None:
        """Return what is gathered, as it is now; None of what is long over."""
        ...

    async def posted(self, gathering_id: str, channel: str, ts: str) -> None:
        """Keep where a gathering stands."""
        ...

    async def begin_answer(self, account: str, occasion: str, words: str) -> AnswerTurn:
        """Begin a private answer to an account, unless a process has; `occasion` is what it answers."""
        ...

    async def end_answer(self, account: str, occasion: str, words: str, *, is_given: bool) -> None:
        """Keep that a private answer was given, or that it was not and may be begun again."""
        ...
