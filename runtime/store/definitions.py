"""Stored definitions: immutable, by name and version."""

from datetime import datetime

from receipts.chain import PROGRAM
from receipts.tenant.acts import DefinitionStored
from runtime.definitions.canonical import from_canonical
from runtime.definitions.model import Definition
from runtime.store.database.pool import Conn
from runtime.store.tenant.acts import put_act


class DefinitionChangedError(Exception):
    """A definition with this name and version is stored with other content: it needs a new version."""


async def keep_definition(conn: Conn, tenant: str, definition: Definition, now: datetime) -> None:
    """Store a definition once, and put on the tenant's record that it came.

    Raise DefinitionChangedError if its name and version mean something else here.
    """
    async with conn.transaction():
        await _insert(conn, definition, now)
        act = DefinitionStored(name=definition.name, version=definition.version, digest=definition.digest)
        await put_act(conn, tenant, act, PROGRAM, now)


async def _insert(conn: Conn, definition: Definition, now: datetime) -> None:
    key = (definition.name, definition.version)
    await conn.execute(
        "INSERT INTO definitions (name, version, digest, canonical, created_at) VALUES (%s, %s, %s, %s, %s)"
        " ON CONFLICT DO NOTHING",
        (*key, definition.digest, definition.canonical, now),
    )
    row = await (await conn.execute("SELECT digest FROM definitions WHERE name = %s AND version = %s", key)).fetchone()
    if row is None or row["digest"] != definition.digest:
        raise DefinitionChangedError(
            f"{definition.name} version {definition.version} is stored with another content; give it a new version"
        )


async def canonical_definition(conn: Conn, name: str, version: int) -> bytes:
    """Return the stored canonical text of a definition that a run names."""
    row = await (
        await conn.execute("SELECT canonical FROM definitions WHERE name = %s AND version = %s", (name, version))
    ).fetchone()
    if row is None:
        raise LookupError(f"no definition {name} version {version}")
    return bytes(row["canonical"])


MOST_KNOWN = 1000
"""Definitions that a process keeps: those that undo a run are read for that one run."""


class Definitions:
    """Definitions by name and version: from the store, parsed once, and good for ever, because they cannot change."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], Definition] = {}

    async def get(self, conn: Conn, name: str, version: int) -> Definition:
        """Return the definition that a run names."""
        key = (name, version)
        if key not in self._known:
            self._known[key] = from_canonical(await canonical_definition(conn, name, version))
        found = self._known[key]
        if len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]
        return found
