"""The counter at which who is in Slack's user groups is handed in."""

from collections.abc import Mapping, Sequence

from receipts.tenant_acts import DirectoryRefreshed
from runtime.engine import Engine
from runtime.model.usergroups import Member, Sources
from runtime.store import usergroups


class GroupCounter:
    """The counter over the engine, for one tenant."""

    def __init__(self, engine: Engine, tenant: str) -> None:
        self._engine = engine
        self._tenant = tenant

    async def sources(self) -> Sources:
        """Return the groups of the directory that are user groups, and whose address is which."""
        async with self._engine.pool.connection() as conn:
            return (await usergroups.heard(conn, self._tenant)).sources

    async def users(self) -> frozenset[str]:
        """Return the Slack users whose accounts the directory lists."""
        async with self._engine.pool.connection() as conn:
            known = await usergroups.accounts_known(conn, self._tenant, linked=False)
        return frozenset(user for _, user, _ in known)

    async def refresh(self, found: Mapping[str, Sequence[Member]]) -> DirectoryRefreshed | None:
        """Have the groups hold these members, by user group; return what changed, which is on record."""
        async with self._engine.pool.connection() as conn:
            return await usergroups.refresh(conn, self._tenant, found, self._engine.clock())
