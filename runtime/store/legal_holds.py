"""Legal holds: which there are, and which stored bundles the archive must hold or release.

A run is held as long as a hold that is not lifted names it, or its reference. Leases and pauses go by the database's
time.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from runtime.store.database.pool import Conn

HoldKind = Literal["run", "reference"]

_LOCK = "hashtextextended('evidence_holds:' || %s, 0)"
_IS_HELD = """
    EXISTS (SELECT FROM evidence_holds h WHERE h.tenant = r.tenant AND h.lifted_at IS NULL
               AND (h.kind, h.subject) IN (('run', r.run_id), ('reference', r.trigger_ref)))
"""
_GIVEN = "(SELECT %s AS tenant, %s AS kind, %s AS subject)"
_NAMED = """
    SELECT n.run_id FROM runs n WHERE h.kind = 'run' AND n.run_id = h.subject AND n.tenant = h.tenant
     UNION ALL
    SELECT n.run_id FROM runs n WHERE h.kind = 'reference' AND n.trigger_ref = h.subject AND n.tenant = h.tenant
"""
"""The runs that `h` names: apart, since no index serves both."""


@dataclass(frozen=True)
class Subject:
    """What is held: a run by its id, or every run that was triggered under a reference."""

    kind: HoldKind
    name: str


@dataclass(frozen=True)
class NewHold:
    """A hold that a person sets."""

    hold_id: str
    subject: Subject
    reason: str
    by: str
    at: datetime


@dataclass(frozen=True)
class Due:
    """A bundle that the archive has to hold (`is_wanted`) or to release. `acts` is how many acts that takes in."""

    run_id: str
    location: str
    acts: int
    tries: int
    is_wanted: bool


async def lock_holds(conn: Conn, tenant: str) -> None:
    """Keep the tenant's holds from changing, and its bundles from being marked as stored, in the transaction."""
    await conn.execute(f"SELECT pg_advisory_xact_lock({_LOCK})".encode(), (tenant,))


async def runs_named(conn: Conn, tenant: str, subject: Subject) -> int:
    """Return how many runs of the tenant the subject names."""
    query = f"SELECT count(*) AS found FROM {_GIVEN} h, LATERAL ({_NAMED}) named"  # noqa: S608 - our own text
    row = await conn.row(query, (tenant, subject.kind, subject.name))
    return int(row["found"]) if row else 0


async def find_hold(conn: Conn, tenant: str, subject: Subject) -> str | None:
    """Return the id of the hold on the subject that is not lifted, or None."""
    query = "SELECT hold_id FROM evidence_holds WHERE tenant = %s AND kind = %s AND subject = %s AND lifted_at IS NULL"
    row = await conn.row(query, (tenant, subject.kind, subject.name))
    return str(row["hold_id"]) if row else None


async def add_hold(conn: Conn, tenant: str, hold: NewHold) -> None:
    """Put a hold among the others; the caller has them locked, and knows that the subject has none."""
    await conn.execute(
        "INSERT INTO evidence_holds (hold_id, tenant, kind, subject, reason, set_by, set_at)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s)",
        (hold.hold_id, tenant, hold.subject.kind, hold.subject.name, hold.reason, hold.by, hold.at),
    )


async def lift_hold(conn: Conn, hold_id: str, reason: str, by: str, at: datetime) -> None:
    """End a hold."""
    query = "UPDATE evidence_holds SET lifted_reason = %s, lifted_by = %s, lifted_at = %s WHERE hold_id = %s"
    await conn.execute(query, (reason, by, at, hold_id))


async def note_act(conn: Conn, tenant: str, subject: Subject) -> None:
    """Have the archive told of an act on what is stored. Whoever is telling it just now comes to its end first."""
    query = f"""
        INSERT INTO evidence_held (run_id, next_try_at)
        SELECT b.run_id, clock_timestamp()
          FROM {_GIVEN} h, LATERAL ({_NAMED}) named JOIN evidence_bundles b USING (run_id) WHERE b.status = 'stored'
        ON CONFLICT (run_id) DO UPDATE
           SET acts = evidence_held.acts + 1, tries = 0,
               next_try_at = CASE WHEN evidence_held.told < evidence_held.acts THEN evidence_held.next_try_at
                                  ELSE excluded.next_try_at END
    """  # noqa: S608
    await conn.execute(query.encode(), (tenant, subject.kind, subject.name))


async def note_all_stored(conn: Conn, tenant: str, run_ids: Collection[str]) -> None:
    """Have the archive told where bundles that are stored now belong to runs that are held."""
    await conn.execute(f"SELECT pg_advisory_xact_lock_shared({_LOCK})".encode(), (tenant,))
    query = f"""
        INSERT INTO evidence_held (run_id, next_try_at)
        SELECT run_id, clock_timestamp() FROM runs r WHERE run_id = ANY(%s) AND {_IS_HELD}
    """  # noqa: S608
    await conn.execute(query.encode(), (list(run_ids),))


async def lease_due(conn: Conn, tenant: str, lasts: timedelta, root: str) -> Due | None:
    """Take one bundle that the archive has to be told of, or None: of those whose location begins with its `root`.

    What is wanted is read after the acts were counted: an act that comes between is told twice, and none is missed.
    """
    row = await conn.row(
        """
        UPDATE evidence_held SET next_try_at = clock_timestamp() + %s, tries = tries + 1
         WHERE run_id = (SELECT e.run_id FROM evidence_held e JOIN evidence_bundles b USING (run_id)
                                 JOIN runs r USING (run_id)
                          WHERE (r.tenant = %s) IS TRUE AND starts_with(b.location, %s)
                            AND e.told < e.acts AND e.next_try_at <= clock_timestamp()
                          ORDER BY e.next_try_at LIMIT 1 FOR UPDATE OF e SKIP LOCKED)
        RETURNING run_id, acts, tries
        """,
        (lasts, tenant, root),
    )
    if row is None:
        return None
    query = (
        f"SELECT b.location, {_IS_HELD} AS is_wanted"  # noqa: S608
        " FROM evidence_bundles b JOIN runs r USING (run_id) WHERE run_id = %s"
    )
    found = await conn.row(query, (row["run_id"],))
    return Due(**row, **found) if found else None


async def mark_told(conn: Conn, due: Due) -> None:
    """Keep what the archive has been told and seen to do; what came meanwhile is due at once.

    An act that came meanwhile may have been told by somebody else before this was, whatever is on record: the archive
    is told once more.
    """
    await conn.execute(
        "UPDATE evidence_held SET told = greatest(told, %(acts)s), is_held = %(is_wanted)s, error = '',"
        " acts = acts + (acts > %(acts)s)::int, next_try_at = clock_timestamp()"
        " WHERE run_id = %(run_id)s AND (told < %(acts)s OR acts > %(acts)s)",
        vars(due),
    )


async def mark_untold(conn: Conn, due: Due, error: str, pause: timedelta) -> None:
    """Keep why the archive could not be told, and let the next try come after a pause.

    It may have taken it all the same, later than an act that came meanwhile: then it is told once more.
    """
    await conn.execute(
        "UPDATE evidence_held SET error = %(error)s, next_try_at = clock_timestamp() + %(pause)s,"
        " acts = acts + (acts > %(acts)s)::int"
        " WHERE run_id = %(run_id)s AND (told < %(acts)s OR acts > %(acts)s)",
        {**vars(due), "error": error, "pause": pause},
    )


async def list_holds(conn: Conn, tenant: str, *, lifted: bool) -> list[dict[str, Any]]:
    """Return the tenant's holds, newest first: those that hold, or with `lifted` all that there ever were.

    Of those that hold, `runs` are named, of which `held` are held in the archive, `to_be_held` are stored there and not
    held yet, and the rest have no bundle there yet.
    """
    query = f"""
        SELECT h.hold_id, h.kind, h.subject, h.reason, h.set_by, h.set_at, h.lifted_reason, h.lifted_by, h.lifted_at,
               s.runs, s.held, s.to_be_held
          FROM evidence_holds h LEFT JOIN LATERAL (
               SELECT count(*) AS runs, count(*) FILTER (WHERE e.is_held AND e.told = e.acts) AS held,
                      count(*) FILTER (WHERE b.status = 'stored' AND (NOT e.is_held OR e.told < e.acts)) AS to_be_held
                 FROM ({_NAMED}) named
                 LEFT JOIN evidence_bundles b USING (run_id) LEFT JOIN evidence_held e USING (run_id)
               ) s ON h.lifted_at IS NULL
         WHERE h.tenant = %s AND (%s OR h.lifted_at IS NULL) ORDER BY h.set_at DESC, h.hold_id
    """  # noqa: S608
    return await conn.rows(query, (tenant, lifted))


async def list_untold(conn: Conn, tenant: str, limit: int) -> list[dict[str, Any]]:
    """Return run_id, tries and error of bundles that the archive could not be told of, the longest due first."""
    return await conn.rows(
        """
        SELECT e.run_id, e.tries, e.error FROM evidence_held e JOIN runs r USING (run_id)
         WHERE r.tenant = %s AND e.told < e.acts AND e.error <> '' ORDER BY e.next_try_at LIMIT %s
        """,
        (tenant, limit),
    )
