"""The counter for what Slack says of the app's life: that it is gone from a workspace, and who has left one."""

from dataclasses import dataclass
from datetime import datetime

from receipts.chain import PROGRAM
from receipts.workspaces import RemovedWhy, SlackMemberChanged, SlackRemoved
from runtime.engine import Engine
from runtime.model.installed import Place
from runtime.services.workspaces_model import EndedWhy
from runtime.store import absentees, installations
from runtime.store.database.pool import Conn
from runtime.store.tenant_acts import put_act


async def end_installation(
    conn: Conn, tenant: str, place: Place, why: RemovedWhy, now: datetime, before: datetime
) -> bool:
    """End the installation there, if it was made before a moment, and put that on record; return whether it has."""
    ended = await installations.end(conn, tenant, place, why, now, before)
    if ended is not None:
        await put_act(conn, tenant, SlackRemoved(installation_id=ended, why=why), PROGRAM, now)
    return ended is not None


@dataclass(frozen=True)
class LifeCounter:
    """The counter of one tenant, over the engine."""

    engine: Engine
    tenant: str

    async def remove(self, place: Place, why: EndedWhy, said_at: datetime) -> bool:
        """End the installation there, unless it was made after that was said; return whether it has ended now."""
        async with self.engine.pool.connection() as conn, conn.transaction():
            return await end_installation(conn, self.tenant, place, why, self.engine.clock(), said_at)

    async def note_member(self, team: str, user: str, *, is_active: bool) -> None:
        """Put on record that Slack says of an account of the directory whether it is active, where that is new."""
        now = self.engine.clock()
        async with self.engine.pool.connection() as conn, conn.transaction():
            if await absentees.note(conn, self.tenant, team, user, now, is_active=is_active):
                act = SlackMemberChanged(team=team, user=user, is_active=is_active)
                await put_act(conn, self.tenant, act, PROGRAM, now)
