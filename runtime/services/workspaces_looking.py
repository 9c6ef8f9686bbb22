"""What doctor and the command line see of where the app is installed, over one connection."""

from typing import Any

from receipts.vault import Vault
from runtime.model.installed import Ended, Installed, Place
from runtime.services.workspaces_rows import installed_of
from runtime.store import absentees, installations
from runtime.store.database.pool import Conn


async def live(conn: Conn, tenant: str, vault: Vault) -> list[Installed]:
    """Return the installations that have not ended, the oldest first; raise VaultError."""
    return [installed_of(row, vault) for row in await installations.live(conn, tenant)]


async def ended(conn: Conn, tenant: str) -> list[Ended]:
    """Return where the app was installed, and is not now."""
    rows = await installations.ended(conn, tenant)
    return [
        Ended(Place(row["team"], row["enterprise"]), row["name"], row["removed_at"], row["removed_why"]) for row in rows
    ]


async def places(conn: Conn, tenant: str) -> list[dict[str, Any]]:
    """Return team, enterprise, name, installed_at, removed_at, why of all places, those that are installed first."""
    here: list[dict[str, Any]] = [
        {"team": row["team"], "enterprise": row["enterprise"], "name": row["name"], "why": None, "removed_at": None}
        | {"installed_at": row["installed_at"].isoformat()}
        for row in await installations.live(conn, tenant)
    ]
    gone: list[dict[str, Any]] = [
        {"team": one.place.team, "enterprise": one.place.enterprise, "name": one.name, "why": one.why}
        | {"removed_at": one.removed_at.isoformat(), "installed_at": None}
        for one in await ended(conn, tenant)
    ]
    return [*here, *gone]


async def people_left(conn: Conn, tenant: str) -> list[str]:
    """Return the people of the directory all of whose accounts Slack says are deactivated."""
    return await absentees.people_left(conn, tenant)
