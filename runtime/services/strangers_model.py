"""What the bot sees of the counter that puts on record what strangers clicked."""

from dataclasses import dataclass
from typing import Protocol

from runtime.model.actor import SlackAccount
from runtime.model.run_payloads import StrangerAct
from runtime.model.votes import RefusalCode


@dataclass(frozen=True)
class Stranger:
    """An account behind which there is no one person of the directory, and why."""

    account: SlackAccount
    code: RefusalCode
    request_id: str


class StrangerDesk(Protocol):
    """Where the bot hands in what strangers clicked. What is not there is not put on record."""

    async def on_card(self, stranger: Stranger, approval_id: str, act: StrangerAct) -> None:
        """Put on record what a stranger wanted of what a card asked about."""
        ...

    async def on_step(self, stranger: Stranger, run_id: str, step: str, act: StrangerAct) -> None:
        """Put on record what a stranger wanted of a step."""
        ...
