"""Slack accounts and user groups: who waits for Slack to confirm who they are, and who is of which group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from receipts.tenant_acts import DirectoryRefreshed
from runtime.engine import Engine
from runtime.inbox.unknown_actors import confirm
from runtime.model.person import Member, SlackAccount, Sources
from runtime.model.votes import Refusal
from runtime.store import notifications, usergroups


@dataclass(frozen=True)
class Unconfirmed:
    """A recorded click that counts as soon as Slack confirms who is behind its account."""

    notification_id: str
    account: SlackAccount


class SlackAccounts:
    """Which accounts the directory of one tenant knows, and what waits for Slack to confirm one."""

    def __init__(self, engine: Engine, tenant: str) -> None:
        self._engine = engine
        self._tenant = tenant

    async def unconfirmed(self) -> Sequence[Unconfirmed]:
        """Return what waits for Slack to confirm who said it, oldest first."""
        async with self._engine.pool.connection() as conn:
            rows = await notifications.unconfirmed(conn, self._tenant)
        return [Unconfirmed(row["notification_id"], SlackAccount(row["team"], row["account"])) for row in rows]

    async def confirm(
        self, notification_id: str, account: SlackAccount, person_id: str | None, refusal: Refusal | None
    ) -> str | None:
        """Record who said what was unconfirmed, or why it cannot count; return the notification to apply.

        None where another process has done so before.
        """
        return await confirm(self._engine, notification_id, account, person_id, refusal)


class UserGroupSync:
    """Groups of one tenant's directory that are user groups of Slack: what is to be asked, and what Slack said."""

    def __init__(self, engine: Engine, tenant: str) -> None:
        self._engine = engine
        self._tenant = tenant

    async def sources(self) -> Sources:
        """Return the groups of the directory that are user groups, and whose address is which."""
        async with self._engine.pool.connection() as conn:
            return (await usergroups.usergroup_state(conn, self._tenant)).sources

    async def users(self) -> frozenset[str]:
        """Return the Slack users whose accounts the directory lists: nobody has to ask for their addresses."""
        async with self._engine.pool.connection() as conn:
            known = await usergroups.accounts_known(conn, self._tenant, linked=False)
        return frozenset(user for _, user, _ in known)

    async def refresh(self, found: Mapping[str, Sequence[Member]]) -> DirectoryRefreshed | None:
        """Have the groups hold these members, by user group; return what changed, which is on record.

        Of other groups the people stay.
        """
        async with self._engine.pool.connection() as conn:
            return await usergroups.refresh_usergroups(conn, self._tenant, found, self._engine.clock())
