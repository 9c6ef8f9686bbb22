"""What the bot sees of the counter that knows where our links lead."""

from typing import Protocol

from runtime.services.link_addresses import Linked


class LinkDesk(Protocol):
    """Where it is known what our links name, and where people see it already."""

    def read(self, address: str) -> Linked | None:
        """Return what an address names, whether it is there or not; None where it is none of ours."""
        ...

    def to_request(self, approval_id: str) -> str:
        """Return our link to a request, "" where browsers do not reach us."""
        ...

    async def card_in(self, linked: Linked, channel: str) -> tuple[str, str] | None:
        """Return (channel, ts) of the newest card of it in a conversation, None where none stands there."""
        ...
