"""Stored definitions: immutable, by name and version."""

from collections.abc import Collection
from datetime import datetime

from receipts.chain import PROGRAM
from receipts.tenant_acts import DefinitionStored
from runtime.definitions.canonical import from_canonical
from runtime.definitions.model import Definition
from runtime.store.database.pool import Conn
from runtime.store.tenant_acts import put_act


class DefinitionChangedError(Exception):
    """A definition with this name and version is stored with other content: it needs a new version."""


async def keep_definitions(conn: Conn, tenant: str, definitions: Collection[Definition], now: datetime) -> None:
    """Do for each what `keep_definition` does; what is stored and on record already is known by one read."""
    known = await _on_record(conn, tenant, definitions)
    for definition in definitions:
        if (definition.name, definition.version) not in known:
            await keep_definition(conn, tenant, definition, now)


async def _on_record(conn: Conn, tenant: str, definitions: Collection[Definition]) -> set[tuple[str, int]]:
    """Return name and version of those that are stored with this content, and on the tenant's record."""
    query = """
        SELECT w.name, w.version
          FROM unnest(%(names)s::text[], %(versions)s::int[], %(digests)s::text[], %(acts)s::text[])
               AS w (name, version, digest, act)
          JOIN definitions d ON (d.name, d.version, d.digest) = (w.name, w.version, w.digest)
          JOIN tenant_leaves l ON l.tenant = %(tenant)s AND l.once = w.act
    """
    asked = {
        "tenant": tenant,
        "names": [one.name for one in definitions],
        "versions": [one.version for one in definitions],
        "digests": [one.digest for one in definitions],
        "acts": [_stored(one).once for one in definitions],
    }
    rows = await (await conn.read(query, asked)).fetchall()
    return {(row["name"], row["version"]) for row in rows}


def _stored(definition: Definition) -> DefinitionStored:
    return DefinitionStored(name=definition.name, version=definition.version, digest=definition.digest)


async def keep_definition(conn: Conn, tenant: str, definition: Definition, now: datetime) -> None:
    """Store a definition once, and put on the tenant's record that it came.

    Raise DefinitionChangedError if its name and version mean something else here.
    """
    async with conn.transaction():
        await _insert(conn, definition, now)
        await put_act(conn, tenant, _stored(definition), PROGRAM, now)


async def _insert(conn: Conn, definition: Definition, now: datetime) -> None:
    key = {"name": definition.name, "version": definition.version}
    conn.put(
        "INSERT INTO definitions (name, version, digest, canonical, created_at)"
        " VALUES (%(name)s, %(version)s, %(digest)s, %(canonical)s, %(now)s) ON CONFLICT DO NOTHING",
        {**key, "digest": definition.digest, "canonical": definition.canonical, "now": now},
    )
    query = "SELECT digest FROM definitions WHERE name = %(name)s AND version = %(version)s"
    row = await (await conn.read(query, key)).fetchone()
    if row is None or row["digest"] != definition.digest:
        raise DefinitionChangedError(
            f"{definition.name} version {definition.version} is stored with another content; give it a new version"
        )


async def canonical_definition(conn: Conn, name: str, version: int) -> bytes:
    """Return the stored canonical text of a definition that a run names."""
    row = await (
        await conn.read("SELECT canonical FROM definitions WHERE name = %s AND version = %s", (name, version))
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
