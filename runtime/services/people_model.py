"""What the bot sees of Slack accounts, and of the groups that are Slack's user groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from receipts.tenant_acts import DirectoryRefreshed
from runtime.model.actor import SlackAccount
from runtime.model.usergroups import Member, Sources
from runtime.model.votes import Refusal


@dataclass(frozen=True)
class Unconfirmed:
    """A recorded click that counts as soon as Slack confirms who is behind its account."""

    notification_id: str
    account: SlackAccount


class AccountDesk(Protocol):
    """Which accounts the directory knows, and what waits for Slack to confirm one."""

    async def knows(self, user: str) -> bool:
        """Return whether the directory has an account of a Slack user, under whichever team."""
        ...

    async def unconfirmed(self) -> Sequence[Unconfirmed]:
        """Return what waits for Slack to confirm who said it, oldest first."""
        ...

    async def confirm(
        self, notification_id: str, account: SlackAccount, person_id: str | None, refusal: Refusal | None
    ) -> str | None:
        """Record who said what was unconfirmed, or why it cannot count; return the notification to apply.

        None where another process has done so before.
        """
        ...


class GroupDesk(Protocol):
    """What is to be asked of Slack, and what it said."""

    async def sources(self) -> Sources:
        """Return the groups of the directory that are user groups, and whose address is which."""
        ...

    async def users(self) -> frozenset[str]:
        """Return the Slack users whose accounts the directory lists: nobody has to ask for their addresses."""
        ...

    async def refresh(self, found: Mapping[str, Sequence[Member]]) -> DirectoryRefreshed | None:
        """Have the groups hold these members, by user group; return what changed. Of others the people stay."""
        ...
