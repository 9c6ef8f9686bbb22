"""What the bot sees of signing with a passkey: a link to hand out."""

from dataclasses import dataclass
from typing import Protocol

from runtime.model.actor import SlackAccount


@dataclass(frozen=True)
class SigningWish:
    """A person wants to approve with a passkey what they saw on a card; verified. `account` is the one that clicked.

    With a `ticket` they do so without the others, which breaks the glass.
    """

    approval_id: str
    stamp: str
    reason: str
    person_id: str
    account: SlackAccount
    ticket: str = ""


class SigningDesk(Protocol):
    """The counter, as the bot knows it."""

    async def link(self, wish: SigningWish) -> str | None:
        """Return the address of a page to sign on, for this person and once; None where the edge has no address."""
        ...
