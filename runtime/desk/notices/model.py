"""What the bot sees of how people are told."""

from typing import Protocol

from runtime.model.notices.told import Gathering, Notice, Turn


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
