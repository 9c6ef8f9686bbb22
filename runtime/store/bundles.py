"""Bundles of finished runs: which are to be sealed, how often that was tried, and where they are kept.

Leases and pauses compare the database's time with the database's time: no machine's clock holds up a bundle.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from runtime.model.states import EFFECT, EffectStatus, is_final
from runtime.store.database.pool import Conn
from runtime.store.database.write_buffer import columns_of, document_of

OVERDUE = timedelta(minutes=15)
"""After so long, a bundle that could be stored and is not is shown as failing."""
OVERDUE_EFFECT = timedelta(days=1)
"""After so long, so is a finished run that still waits for what became of an effect."""

SETTLED = [status for status in EffectStatus if is_final(EFFECT, status)]
WAITS_FOR = """
    ARRAY(SELECT e.step || ' is ' || e.status FROM effects e
           WHERE r.finished_at IS NOT NULL AND b.run_id IS NULL AND e.run_id = r.run_id AND e.purpose = 'step'
             AND e.status <> ALL(%(settled)s) ORDER BY e.step)
    || ARRAY(SELECT a.step || ' was done by break-glass, and nobody has reviewed it yet' FROM approvals a
              WHERE r.finished_at IS NOT NULL AND b.run_id IS NULL AND a.run_id = r.run_id AND a.kind = 'afterwards'
                AND a.status = 'requested' ORDER BY a.step)
"""
"""What has to end before the bundle `b` of the run `r` is begun, in words; `settled` are final states of effects."""


@dataclass(frozen=True)
class BundleLease:
    """A bundle that this process builds and stores; `tries` counts from 1 and includes this one, `faults` does not.

    `key_id` is the key that signs it. `retain_days` is for how long its definition wants it kept, None where that says
    nothing. `file_number` is part of its name from 2 on.
    """

    run_id: str
    key_id: str
    tries: int
    faults: int
    retain_days: int | None
    file_number: int


@dataclass(frozen=True)
class OpenBundle:
    """A finished run whose bundle is not stored.

    `open_for` counts from the beginning of the sealing, or from the run's end before that; `waits_for` are the effects
    (step and status) whose end the sealing waits for; `error` is the last try's, "" if there was none.
    """

    run_id: str
    definition_name: str
    status: str
    is_begun: bool
    is_stuck: bool
    open_for: timedelta
    tries: int
    next_try_at: datetime | None
    error: str
    waits_for: list[str]

    @property
    def is_overdue(self) -> bool:
        """Return whether somebody has to look at it."""
        return self.is_stuck or self.open_for > (OVERDUE_EFFECT if self.waits_for else OVERDUE)


async def next_over(conn: Conn, tenant: str, but: Sequence[str]) -> list[str]:
    """Return finished runs that nothing was begun for and whose steps' effects have settled, locked in the transaction.

    Of those in which somebody used break-glass, the ones of which another has said whether that was right.

    Messages that the chat has not taken hold up nothing; what becomes of them is about the chain after the seal.
    """
    rows = await conn.rows(
        """
        SELECT run_id FROM runs r
         WHERE (tenant = %(tenant)s) IS TRUE AND finished_at IS NOT NULL AND NOT sealed AND run_id <> ALL(%(but)s)
           AND NOT EXISTS (SELECT 1 FROM effects e WHERE e.run_id = r.run_id AND e.purpose = 'step'
                            AND e.status <> ALL(%(settled)s))
           AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.run_id = r.run_id AND a.kind = 'afterwards'
                            AND a.status = 'requested')
         ORDER BY finished_at LIMIT %(most)s FOR UPDATE SKIP LOCKED
        """,
        {"settled": SETTLED, "tenant": tenant, "but": list(but), "most": MOST_BUNDLES},
    )
    return [row["run_id"] for row in rows]


async def lock_over(conn: Conn, run_id: str) -> list[str]:
    """Return the run, locked in the transaction; nothing where others hold it, or have begun its bundle."""
    query = "SELECT run_id FROM runs WHERE run_id = %s AND NOT sealed FOR UPDATE SKIP LOCKED"
    return [row["run_id"] for row in await conn.rows(query, (run_id,))]


async def open_bundles(conn: Conn, retained: Mapping[str, int | None], key_id: str) -> None:
    """Begin the bundles of these runs: their chains as they end now are what is sealed, with this key.

    `retained` has the run ids, and for how many days the definition of each wants its evidence kept.
    """
    await conn.execute(
        """
        WITH wanted AS (SELECT * FROM unnest(%s::text[], %s::int[]) AS w (run_id, retain_days)),
        begun AS (
            UPDATE runs SET sealed = true FROM wanted WHERE runs.run_id = wanted.run_id
            RETURNING runs.run_id, audit_seq, retain_days
        )
        INSERT INTO evidence_bundles (run_id, key_id, retain_days, sealed_seq, sealed_cards, created_at, next_try_at)
        SELECT run_id, %s, retain_days, audit_seq,
               coalesce((SELECT json_object_agg(approval_id, json_array_length(cards))
                           FROM approvals a WHERE a.run_id = begun.run_id), '{}'),
               clock_timestamp(), clock_timestamp()
          FROM begun
        """,
        (list(retained), list(retained.values()), key_id),
    )


MOST_BUNDLES, MOST_LEAVES = 16, 4000
"""Bundles that are taken together, and leaves of all of them: one that has more is taken by itself."""


async def lease_bundles(conn: Conn, tenant: str, lasts: timedelta, key_ids: Sequence[str]) -> list[BundleLease]:
    """Take bundles to build, of those that one of these keys signs, the longest due first.

    Building one twice gives the same bytes, so no fence is needed.
    """
    rows = await conn.rows(
        """
        WITH due AS MATERIALIZED (
            SELECT b.run_id, b.next_try_at, b.sealed_seq FROM evidence_bundles b JOIN runs r USING (run_id)
             WHERE (r.tenant = %(tenant)s) IS TRUE AND b.status = 'sealing' AND b.next_try_at <= clock_timestamp()
               AND b.key_id = ANY(%(keys)s)
             ORDER BY b.next_try_at, b.run_id LIMIT %(most)s FOR NO KEY UPDATE OF b SKIP LOCKED
        ), counted AS (
            SELECT run_id, sum(sealed_seq) OVER (ORDER BY next_try_at, run_id) - sealed_seq AS before FROM due
        )
        UPDATE evidence_bundles SET next_try_at = clock_timestamp() + %(lasts)s, tries = tries + 1
         WHERE run_id IN (SELECT run_id FROM counted WHERE before + sealed_seq <= %(leaves)s OR before = 0)
        RETURNING run_id, key_id, tries, faults, retain_days, file_number
        """,
        {"tenant": tenant, "keys": list(key_ids), "lasts": lasts, "most": MOST_BUNDLES, "leaves": MOST_LEAVES},
    )
    return [BundleLease(**row) for row in rows]


@dataclass(frozen=True)
class Begun:
    """A bundle that was begun: its last leaf, and the size of the log that proves it, None where none does yet."""

    sealed_seq: int
    log_size: int | None


async def begun_bundles(conn: Conn, run_ids: Sequence[str]) -> dict[str, Begun]:
    """Return the bundles of runs, as far as they were begun."""
    query = "SELECT run_id, sealed_seq, log_size FROM evidence_bundles WHERE run_id = ANY(%s)"
    rows = await conn.rows(query, (list(run_ids),))
    return {row.pop("run_id"): Begun(**row) for row in rows}


async def log_size(conn: Conn, tenant: str, run_id: str) -> int | None:
    """Return of which size the log is that proves a run's bundle; None where there is no bundle, or it is not known."""
    query = "SELECT b.log_size FROM evidence_bundles b JOIN runs r USING (run_id) WHERE run_id = %s AND r.tenant = %s"
    row = await conn.row(query, (run_id, tenant))
    return row["log_size"] if row else None


async def fix_log_sizes(conn: Conn, tenant: str, sizes: Mapping[str, int]) -> dict[str, tuple[int, bytes | None]]:
    """Have bundles be proven by the log of these sizes, with the stamps that these have by now, unless one is fixed.

    Return of each run the size, and the time stamp that goes into the bundle, if any.
    """
    rows = await conn.rows(
        """
        UPDATE evidence_bundles b
           SET log_size = coalesce(log_size, w.size),
               log_stamped = CASE WHEN log_size IS NOT NULL THEN log_stamped
                                  ELSE EXISTS (SELECT FROM log_stamps s WHERE s.tenant = %(tenant)s AND s.size = w.size)
                             END
          FROM unnest(%(runs)s::text[], %(sizes)s::bigint[]) AS w (run_id, size)
         WHERE b.run_id = w.run_id
        RETURNING b.run_id, log_size, CASE WHEN log_stamped THEN
            (SELECT stamp FROM log_stamps s WHERE s.tenant = %(tenant)s AND s.size = b.log_size) END AS stamp
        """,
        {"tenant": tenant, "runs": list(sizes), "sizes": list(sizes.values())},
    )
    return {row["run_id"]: (int(row["log_size"]), row["stamp"]) for row in rows}


async def mark_failed(conn: Conn, run_id: str, error: str, pause: timedelta, faults: int) -> None:
    """Keep why a try failed, and let the next one come after a pause. `faults` are those of our own so far."""
    await conn.execute(
        "UPDATE evidence_bundles SET error = %s, next_try_at = clock_timestamp() + %s, faults = %s"
        " WHERE run_id = %s AND status = 'sealing'",
        (error, pause, faults, run_id),
    )


async def mark_stuck(conn: Conn, run_id: str, error: str, faults: int, in_the_way: str | None) -> bool:
    """Let nobody try it again, unless somebody has ended it meanwhile; `in_the_way` is where its name is taken."""
    done = await conn.execute(
        "UPDATE evidence_bundles SET status = 'stuck', error = %s, faults = %s, in_the_way = %s"
        " WHERE run_id = %s AND status = 'sealing'",
        (error, faults, in_the_way, run_id),
    )
    return done.rowcount == 1


async def retry_bundle(conn: Conn, run_id: str) -> dict[str, Any] | None:
    """Have a stuck bundle tried again, under the next name where its own is taken; return {file_number, in_the_way}.

    None where it is not stuck.
    """
    return await conn.row(
        """
        UPDATE evidence_bundles
           SET status = 'sealing', tries = 0, faults = 0, next_try_at = clock_timestamp(),
               file_number = file_number + (in_the_way IS NOT NULL)::int
         WHERE run_id = %s AND status = 'stuck' RETURNING file_number, in_the_way
        """,
        (run_id,),
    )


_STORED = (
    ("run_id", "text"),
    ("sha256", "text"),
    ("size", "bigint"),
    ("location", "text"),
    ("version_id", "text"),
    ("retention_until", "timestamptz"),
)


async def mark_all_stored(conn: Conn, stored: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Keep where runs' bundles are, once: facts sha256, size, location, version_id, retention_until.

    Return the runs of which it was not known.
    """
    rows = [(run_id, *(facts[name] for name, _ in _STORED[1:])) for run_id, facts in stored.items()]
    done = await conn.rows(
        f"""
        UPDATE evidence_bundles b
           SET status = 'stored', sha256 = r.sha256, size = r.size, location = r.location, version_id = r.version_id,
               retention_until = r.retention_until, stored_at = clock_timestamp(), error = ''
          FROM json_to_recordset(%(rows)s::json) AS r ({columns_of(_STORED)})
         WHERE b.run_id = r.run_id AND b.status = 'sealing' RETURNING b.run_id
        """,  # noqa: S608 - our own columns
        {"rows": document_of(_STORED, rows)},
    )
    return {row["run_id"] for row in done}


@dataclass(frozen=True)
class StoredBundle:
    """A bundle in the archive: where, under which number of its name, and the SHA-256 of its bytes."""

    run_id: str
    location: str
    file_number: int
    sha256: str


async def find_stored(conn: Conn, tenant: str, run_id: str) -> StoredBundle | None:
    """Return the stored bundle of a run of the tenant, or None."""
    row = await conn.row(
        "SELECT b.run_id, b.location, b.file_number, b.sha256 FROM evidence_bundles b JOIN runs r USING (run_id)"
        " WHERE r.tenant = %s AND r.run_id = %s AND b.status = 'stored'",
        (tenant, run_id),
    )
    return StoredBundle(**row) if row else None


async def list_open(conn: Conn, tenant: str) -> list[OpenBundle]:
    """Return the tenant's finished runs whose bundle is not stored, the longest open first."""
    rows = await conn.rows(
        f"""
        WITH open AS (SELECT run_id FROM runs WHERE tenant = %(tenant)s AND finished_at IS NOT NULL AND NOT sealed
                       UNION SELECT run_id FROM evidence_bundles WHERE stored_at IS NULL)
        SELECT r.run_id, r.definition_name, r.status, b.run_id IS NOT NULL AS is_begun,
               coalesce(b.status = 'stuck', false) AS is_stuck,
               clock_timestamp() - coalesce(b.created_at, r.finished_at) AS open_for,
               coalesce(b.tries, 0) AS tries, b.next_try_at, coalesce(b.error, '') AS error,
               {WAITS_FOR} AS waits_for
          FROM open JOIN runs r USING (run_id) LEFT JOIN evidence_bundles b USING (run_id)
         WHERE r.tenant = %(tenant)s AND r.finished_at IS NOT NULL AND b.stored_at IS NULL
         ORDER BY open_for DESC LIMIT 500
        """,  # noqa: S608 - our own words
        {"tenant": tenant, "settled": SETTLED},
    )
    return [OpenBundle(**row) for row in rows]


async def list_unretained(conn: Conn, tenant: str, limit: int) -> list[dict[str, Any]]:
    """Return run_id and location of bundles that a bucket took without a retention, newest first."""
    return await conn.rows(
        """
        SELECT b.run_id, b.location FROM evidence_bundles b JOIN runs r USING (run_id)
         WHERE r.tenant = %s AND b.location LIKE 's3://%%' AND b.retention_until IS NULL
         ORDER BY b.stored_at DESC LIMIT %s
        """,
        (tenant, limit),
    )
