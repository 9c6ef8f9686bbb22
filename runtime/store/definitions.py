"""Definitions, immutable by name and version, and where each version of a runbook stands in a tenant.

Each move of a version is on record in the tenant's chain.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from receipts.chain import PROGRAM, Actor
from receipts.tenant_acts import DefinitionActivated, DefinitionRetired, DefinitionStored
from runtime.definitions.canonical import from_canonical
from runtime.definitions.model import Definition
from runtime.model.runbook_version import RunbookVersion
from runtime.model.states import DEFINITION, DefinitionStatus, IllegalTransitionError
from runtime.store.database.pool import Conn
from runtime.store.tenants import put_act, put_acts


class DefinitionChangedError(Exception):
    """A definition with this name and version is stored with other content: it needs a new version."""


async def keep_definitions(conn: Conn, tenant: str, definitions: Collection[Definition], now: datetime) -> None:
    """Store each definition once, and put on the tenant's record that it came.

    Raise DefinitionChangedError if the name and version of one mean something else here. What is stored and on record
    already is known by one read.
    """
    known = await _on_record(conn, tenant, definitions)
    if new := [one for one in definitions if (one.name, one.version) not in known]:
        async with conn.transaction():
            await _insert(conn, new, now)
            await put_acts(conn, tenant, [_stored(one) for one in new], PROGRAM, now)


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
    rows = await conn.read(query, asked)
    return {(row["name"], row["version"]) for row in rows}


def _stored(definition: Definition) -> DefinitionStored:
    return DefinitionStored(name=definition.name, version=definition.version, digest=definition.digest)


async def _insert(conn: Conn, definitions: Sequence[Definition], now: datetime) -> None:
    keys = {"names": [one.name for one in definitions], "versions": [one.version for one in definitions]}
    conn.put(
        "INSERT INTO definitions (name, version, digest, canonical, created_at)"
        " SELECT *, %(now)s FROM unnest(%(names)s::text[], %(versions)s::int[], %(digests)s::text[],"
        " %(canonicals)s::bytea[]) ON CONFLICT DO NOTHING",
        {
            **keys,
            "digests": [one.digest for one in definitions],
            "canonicals": [one.canonical for one in definitions],
            "now": now,
        },
    )
    query = """
        SELECT name, version, digest FROM definitions
         WHERE (name, version) IN (SELECT * FROM unnest(%(names)s::text[], %(versions)s::int[]))
    """
    there = {(row["name"], row["version"]): row["digest"] for row in await conn.read(query, keys)}
    for one in definitions:
        if there.get((one.name, one.version)) != one.digest:
            raise DefinitionChangedError(
                f"{one.name} version {one.version} is stored with another content; give it a new version"
            )


async def canonical_definition(conn: Conn, name: str, version: int) -> bytes:
    """Return the stored canonical text of a definition that a run names."""
    row = await conn.read_row("SELECT canonical FROM definitions WHERE name = %s AND version = %s", (name, version))
    if row is None:
        raise LookupError(f"no definition {name} version {version}")
    return bytes(row["canonical"])


MOST_KNOWN = 1000
"""Definitions that a process keeps: those that undo a run are read for that one run."""


class Definitions:
    """Definitions by name and version: from the store, parsed once, and good for ever, because they cannot change."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], Definition] = {}

    def known(self, name: str, version: int) -> Definition | None:
        """Return the definition if it was read before."""
        return self._known.get((name, version))

    async def get(self, conn: Conn, name: str, version: int) -> Definition:
        """Return the definition that a run names."""
        key = (name, version)
        if key not in self._known:
            self._known[key] = from_canonical(await canonical_definition(conn, name, version))
        found = self._known[key]
        if len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]
        return found


_VERSION = """
    SELECT l.name, l.version, d.digest, l.trigger_type, l.status, l.trigger_when AS "when"
      FROM runbook_versions l JOIN definitions d USING (name, version)
     WHERE l.tenant = %(tenant)s
"""


async def lock_versions(conn: Conn, tenant: str) -> None:
    """Keep all others from moving a version of the tenant's until the caller's transaction ends."""
    await conn.execute("SELECT pg_advisory_xact_lock(hashtextextended('runbook_versions:' || %s, 0))", (tenant,))


async def add_drafts(
    conn: Conn, tenant: str, definitions: Collection[Definition], now: datetime
) -> set[tuple[str, int]]:
    """Take in what the tenant does not know yet, as drafts; return name and version of each that was new."""
    query = """
        INSERT INTO runbook_versions
               (tenant, name, version, trigger_type, trigger_when, status, arrived_at, changed_at)
        SELECT %s, d.name, d.version, d.type, d.condition, 'draft', %s, %s
          FROM unnest(%s::text[], %s::int[], %s::text[], %s::text[]) AS d (name, version, type, condition)
        ON CONFLICT DO NOTHING RETURNING name, version
    """
    names = [one.name for one in definitions]
    versions = [one.version for one in definitions]
    types = [one.trigger_type for one in definitions]
    conditions = [one.when for one in definitions]
    rows = await conn.rows(query, (tenant, now, now, names, versions, types, conditions))
    return {(row["name"], row["version"]) for row in rows}


async def versions_of_runbook(conn: Conn, tenant: str, name: str) -> list[RunbookVersion]:
    """Return all versions of a runbook in the tenant, the oldest first."""
    return (await versions_of_runbooks(conn, tenant, [name]))[name]


async def versions_of_runbooks(conn: Conn, tenant: str, names: Sequence[str]) -> dict[str, list[RunbookVersion]]:
    """Return all versions of several runbooks in the tenant, by their names, the oldest first."""
    found: dict[str, list[RunbookVersion]] = {name: [] for name in names}
    query = _VERSION + " AND l.name = ANY(%(names)s) ORDER BY l.name, l.version"
    for life in await _versions(conn, query, tenant, names=list(names)):
        found[life.name].append(life)
    return found


async def versions_of_trigger(conn: Conn, tenant: str, trigger_type: str) -> list[RunbookVersion]:
    """Return all versions that take triggers of a type, as `versions_of_triggers` does."""
    return (await versions_of_triggers(conn, tenant, [trigger_type]))[trigger_type]


async def versions_of_triggers(
    conn: Conn, tenant: str, trigger_types: Collection[str]
) -> dict[str, list[RunbookVersion]]:
    """Return for each type all versions that take its triggers, whatever they are called; the last moved comes first.

    Of those that were moved at one moment the names count, and then the newest version.
    """
    order = "ORDER BY l.changed_at DESC, l.name, l.version DESC"
    query, types = f"{_VERSION} AND l.trigger_type = ANY(%(types)s) {order}", list(set(trigger_types))
    found: dict[str, list[RunbookVersion]] = {one: [] for one in types}
    for version in await _versions(conn, query, tenant, types=types):
        found[version.trigger_type].append(version)
    return found


async def find_version(conn: Conn, tenant: str, name: str, version: int) -> RunbookVersion | None:
    """Return a version, or None where the tenant has none by that name and number."""
    found = await _versions(
        conn, _VERSION + " AND l.name = %(name)s AND l.version = %(version)s", tenant, name=name, version=version
    )
    return found[0] if found else None


async def keep_active(conn: Conn, tenant: str, name: str, version: int) -> bool:
    """Return whether a version is active, and have it stay so until the caller's transaction ends.

    It waits for a move that is under way.
    """
    query = """
        SELECT 1 FROM runbook_versions
         WHERE tenant = %s AND name = %s AND version = %s AND status = 'active' FOR SHARE
    """
    return await conn.row(query, (tenant, name, version)) is not None


async def move_version(
    conn: Conn, tenant: str, life: RunbookVersion, to: DefinitionStatus, by: Actor, run_id: str | None, now: datetime
) -> None:
    """Move a version, and put it on record; the caller has locked the versions. Raise IllegalTransitionError.

    To stay is no move: nobody has something on record that was so before.
    """
    if to not in DEFINITION[life.status]:
        raise IllegalTransitionError(f"{life} is {life.status}")
    conn.put(
        "UPDATE runbook_versions SET status = %(to)s, changed_by = %(by)s, run_id = %(run_id)s, changed_at = %(now)s"
        " WHERE tenant = %(tenant)s AND name = %(name)s AND version = %(version)s",
        {
            "to": to,
            "by": by.id,
            "run_id": run_id,
            "now": now,
            "tenant": tenant,
            "name": life.name,
            "version": life.version,
        },
    )
    form = DefinitionActivated if to is DefinitionStatus.ACTIVE else DefinitionRetired
    act = form(name=life.name, version=life.version, digest=life.digest, run_id=run_id)
    await put_act(conn, tenant, act, by, now)


async def requester_of(conn: Conn, run_id: str) -> Actor:
    """Return who is behind a run; raise LookupError."""
    query = "SELECT requested_by, requester_kind FROM runs WHERE run_id = %s"
    row = await conn.row(query, (run_id,))
    if row is None:
        raise LookupError(f"no run {run_id}")
    return Actor(id=row["requested_by"], kind=row["requester_kind"])


async def moves_of(conn: Conn, tenant: str, life: RunbookVersion) -> list[dict[str, Any]]:
    """Return what is on record of a version's moves: when, which, by whom, for which run."""
    query = """
        SELECT (leaf ->> 'at')::timestamptz AS at, leaf ->> 'event' AS event, leaf -> 'actor' ->> 'id' AS by,
               leaf -> 'data' ->> 'run_id' AS run_id
          FROM tenant_leaves
         WHERE tenant = %s AND leaf ->> 'event' IN ('definition.activated', 'definition.retired')
           AND leaf -> 'data' ->> 'name' = %s AND leaf -> 'data' ->> 'version' = %s::text
         ORDER BY seq
    """
    return await conn.rows(query, (tenant, life.name, life.version))


async def moves_for(conn: Conn, tenant: str, run_id: str) -> list[tuple[str, int]]:
    """Return what is on record of the moves that a run asked for: which, and of which version."""
    query = """
        SELECT leaf ->> 'event' AS event, (leaf -> 'data' ->> 'version')::int AS version
          FROM tenant_leaves
         WHERE tenant = %s AND leaf ->> 'event' IN ('definition.activated', 'definition.retired')
           AND leaf -> 'data' ->> 'run_id' = %s
         ORDER BY seq
    """
    rows = await conn.rows(query, (tenant, run_id))
    return [(row["event"], row["version"]) for row in rows]


async def list_versions(conn: Conn, tenant: str, sought: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return versions by name, the newest first, from behind the one of name `after` and this `version` on.

    They are narrowed by `name`, `status`, `trigger`, `since` and `until`, where those are not None, to at most `limit`.
    """
    query = """
        SELECT l.name, l.version, l.status, l.trigger_type, d.digest, l.changed_by, l.changed_at, l.run_id, l.arrived_at
          FROM runbook_versions l JOIN definitions d USING (name, version)
         WHERE l.tenant = %(tenant)s AND (%(name)s::text IS NULL OR l.name = %(name)s)
           AND (%(status)s::text IS NULL OR l.status = %(status)s)
           AND (%(trigger)s::text IS NULL OR l.trigger_type = %(trigger)s)
           AND (%(since)s::timestamptz IS NULL OR l.changed_at >= %(since)s)
           AND (%(until)s::timestamptz IS NULL OR l.changed_at < %(until)s)
           AND (l.name, -l.version) > (%(after)s, -%(version)s::int)
         ORDER BY l.name, l.version DESC LIMIT %(limit)s
    """
    return await conn.rows(query, {**sought, "tenant": tenant})


async def _versions(conn: Conn, query: str, tenant: str, **values: Any) -> list[RunbookVersion]:
    rows = await conn.read(query, {"tenant": tenant, **values})
    return [RunbookVersion(**{**row, "status": DefinitionStatus(row["status"])}) for row in rows]
