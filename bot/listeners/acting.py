"""What the acts of the menu share: what was chosen is answered by a modal, and what that says is recorded."""

from typing import Protocol

from slack_bolt.async_app import AsyncAck

from bot.payloads import Actions, Submission
from bot.views import references
from bot.views.more import MoreRef


class MoreAct(Protocol):
    """One act of the menu."""

    async def on_chosen(self, payload: Actions, ref: MoreRef, ack: AsyncAck) -> None:
        """Open its modal, or say in private why not."""
        ...

    async def on_submission(self, payload: Submission, ack: AsyncAck) -> None:
        """Record what the modal says before it closes; a fault is shown at its input, and it stays open."""
        ...


async def keep_open(ack: AsyncAck, fault: str, block: str = references.REASON) -> None:
    """Show a fault at an input; the modal stays open."""
    await ack(response_action="errors", errors={block: fault})


async def close(ack: AsyncAck, *, over: bool) -> None:
    """Close the modal, and the details below it, which are not as they were."""
    await (ack(response_action="clear") if over else ack())
