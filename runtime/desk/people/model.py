"""What the bot sees of the groups that are Slack's user groups."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from receipts.tenant.acts import DirectoryRefreshed
from runtime.model.people.usergroups import Member, Sources


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
