"""Checkpoints of the Merkle log, the tiles and entries that they cover, and the time stamps over them.

A stamp is an authority's answer, kept as it came.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from receipts import canonical
from receipts.chain import GENESIS, entry_of
from receipts.hashes import TreeHead
from receipts.tenant_acts import chain_of
from runtime.store.database.pool import Conn
from runtime.store.log_places import range_of
from runtime.store.run_history import leaves_in


@dataclass(frozen=True)
class Signed:
    """A checkpoint that was signed: the note as it is, and whether it and its tiles stand in the archive."""

    head: TreeHead
    note: str
    signed_at: datetime
    is_published: bool


@dataclass(frozen=True)
class Places:
    """Leaves that follow each other in their chain and in the log: so many, from a leaf on, from an index on."""

    first_seq: int
    count: int
    first_index: int


@dataclass(frozen=True)
class LogStanding:
    """How a log stands: its size, transactions whose leaves await their places, what was signed, and how old that is.

    `unsigned_for` is None where nothing has grown since. `fault` is why it cannot be signed or published, "" if it can.
    """

    size: int
    pending: int
    signed: int
    unsigned_for: timedelta | None
    fault: str


async def log_standing(conn: Conn, tenant: str) -> LogStanding:
    """Return how the tenant's log stands."""
    row = await conn.row(
        """
        SELECT coalesce((SELECT size FROM log_heads WHERE tenant = %(t)s), 0) AS size,
               (SELECT count(*) FROM log_pending WHERE tenant = %(t)s) AS pending,
               coalesce((SELECT fault FROM log_leases WHERE tenant = %(t)s), '') AS fault,
               coalesce(max(size), 0) AS signed,
               clock_timestamp() - coalesce(max(signed_at), (SELECT min(created_at) FROM runs WHERE tenant = %(t)s))
                   AS age
          FROM log_checkpoints WHERE tenant = %(t)s
        """,
        {"t": tenant},
    )
    if row is None:
        raise LookupError("an aggregate that returns a row, did not")
    grown = row["size"] != row["signed"] or row["pending"]
    return LogStanding(row["size"], row["pending"], row["signed"], row["age"] if grown else None, row["fault"])


async def read_head(conn: Conn, tenant: str) -> TreeHead | None:
    """Return size and root of the tenant's log as it is committed, or None where there is none yet."""
    row = await conn.row("SELECT size, hashes FROM log_heads WHERE tenant = %s", (tenant,))
    if row is None:
        return None
    return range_of(row).head()


async def take_lease(conn: Conn, tenant: str, lasts: timedelta) -> bool:
    """Return whether the caller is now the one who signs and publishes, for so long by the database's clock."""
    done = await conn.execute(
        "INSERT INTO log_leases AS l (tenant, until) SELECT tenant, clock_timestamp() + %(lasts)s FROM tenants"
        " WHERE tenant = %(tenant)s ON CONFLICT (tenant) DO UPDATE SET until = EXCLUDED.until"
        " WHERE l.until <= clock_timestamp()",
        {"tenant": tenant, "lasts": lasts},
    )
    return done.rowcount == 1


async def extend_lease(conn: Conn, tenant: str, lasts: timedelta) -> None:
    """Hold the lease for so long from now on."""
    await conn.execute(
        "UPDATE log_leases SET until = clock_timestamp() + %s WHERE tenant = %s AND until > clock_timestamp()",
        (lasts, tenant),
    )


async def give_lease_back(conn: Conn, tenant: str) -> None:
    """Let the next one sign and publish."""
    await conn.execute("UPDATE log_leases SET until = clock_timestamp() WHERE tenant = %s", (tenant,))


async def note_fault(conn: Conn, tenant: str, fault: str) -> None:
    """Keep why the log cannot be signed or published."""
    await conn.execute("UPDATE log_leases SET fault = %s WHERE tenant = %s", (fault, tenant))


async def newest_checkpoint(conn: Conn, tenant: str, *, published: bool = False) -> Signed | None:
    """Return the checkpoint of the largest log, or of those that are published."""
    row = await conn.row(
        "SELECT size, root, note, signed_at, published_at FROM log_checkpoints"
        " WHERE tenant = %s AND (published_at IS NOT NULL OR NOT %s) ORDER BY size DESC LIMIT 1",
        (tenant, published),
    )
    if row is None:
        return None
    return Signed(TreeHead(row["size"], row["root"]), row["note"], row["signed_at"], row["published_at"] is not None)


async def keep_checkpoint(conn: Conn, tenant: str, signed: Signed) -> None:
    """Put a signed checkpoint on record, unless somebody has signed the log of this size a moment ago."""
    await conn.execute(
        "INSERT INTO log_checkpoints (tenant, size, root, note, signed_at) VALUES (%s, %s, %s, %s, %s)"
        " ON CONFLICT DO NOTHING",
        (tenant, signed.head.size, signed.head.root, signed.note, signed.signed_at),
    )


async def mark_published(conn: Conn, tenant: str, size: int, now: datetime) -> None:
    """Note that a checkpoint stands in the archive, behind all that it is over: nothing is in the way any more."""
    await conn.execute(
        "WITH mended AS (UPDATE log_leases SET fault = '' WHERE tenant = %(tenant)s AND fault <> '')"
        " UPDATE log_checkpoints SET published_at = %(now)s WHERE tenant = %(tenant)s AND size = %(size)s",
        {"tenant": tenant, "now": now, "size": size},
    )


async def checkpoint_at(conn: Conn, tenant: str, size: int) -> str:
    """Return the note that was signed of the log when it had this size."""
    return (await checkpoints_at(conn, tenant, {size}))[size]


async def checkpoints_at(conn: Conn, tenant: str, sizes: Collection[int]) -> dict[int, str]:
    """Return the notes that were signed of the log when it had these sizes; raise LookupError where one was not."""
    query = "SELECT size, note FROM log_checkpoints WHERE tenant = %s AND size = ANY(%s)"
    found = {row["size"]: str(row["note"]) for row in await conn.rows(query, (tenant, list(sizes)))}
    if missing := set(sizes) - found.keys():
        raise LookupError(f"no checkpoint of {min(missing)} leaves")
    return found


async def places_of(conn: Conn, lasts: Mapping[str, int]) -> dict[str, list[Places]]:
    """Return where the leaves of chains stand, each up to one of them, in the order of the chain."""
    rows = await conn.rows(
        """
        SELECT e.chain, e.first_seq, e.first_index, least(e.count, w.last - e.first_seq + 1) AS count
          FROM unnest(%s::text[], %s::int[]) AS w (chain, last)
          JOIN log_entries e ON e.chain = w.chain AND e.first_seq <= w.last
         ORDER BY e.chain, e.first_seq
        """,
        (list(lasts), list(lasts.values())),
    )
    found: dict[str, list[Places]] = {chain: [] for chain in lasts}
    for row in rows:
        found[row["chain"]].append(Places(row["first_seq"], row["count"], row["first_index"]))
    return found


async def tile_hashes(conn: Conn, tenant: str, level: int, number: int) -> bytes:
    """Return the hashes of a tile (level 0 over leaves, 1 over every 256, …) as it has grown until now."""
    row = await conn.row(
        "SELECT hashes FROM log_tiles WHERE tenant = %s AND level = %s AND number = %s", (tenant, level, number)
    )
    return bytes(row["hashes"]) if row else b""


_SPANS = """
    SELECT chain, first_seq + greatest(%(begin)s - first_index, 0) AS first,
           first_seq + least(%(end)s - first_index, count) - 1 AS last
      FROM log_entries
     WHERE tenant = %(tenant)s AND first_index < %(end)s AND first_index + count > %(begin)s
       AND first_index >= (SELECT max(first_index) FROM log_entries
                            WHERE tenant = %(tenant)s AND first_index <= %(begin)s)
     ORDER BY first_index
"""
_WANTED = """
    unnest(%(chains)s::text[], %(firsts)s::int[], %(lasts)s::int[]) WITH ORDINALITY AS w (chain, first, last, span)
"""
# Each from the leaf before the first on, whose hash that one names.
_OF_RUNS = f"""
    SELECT w.span, s.* FROM {_WANTED}
      JOIN LATERAL (SELECT * FROM leaf_sets
                     WHERE run_id = w.chain AND first_seq <= w.last
                       AND first_seq >= coalesce((SELECT max(first_seq) FROM leaf_sets
                                                   WHERE run_id = w.chain AND first_seq < w.first), 1)) AS s ON true
     ORDER BY w.span, s.first_seq
"""  # noqa: S608 - our own words
_OF_TENANT = f"""
    SELECT w.span, l.seq, l.hash, l.leaf FROM {_WANTED}
      JOIN tenant_leaves l ON l.tenant = %(tenant)s AND l.seq BETWEEN w.first - 1 AND w.last
     WHERE w.chain = %(own)s ORDER BY w.span, l.seq
"""  # noqa: S608 - our own words


async def log_entries(conn: Conn, tenant: str, begin: int, end: int) -> list[bytes]:
    """Return the entries of the log from an index up to, and not with, another: each leaf as its hash was taken."""
    spans = await conn.rows(_SPANS, {"tenant": tenant, "begin": begin, "end": end})
    ends = {f"{name}s": [span[name] for span in spans] for name in ("chain", "first", "last")}
    wanted = {**ends, "tenant": tenant, "own": chain_of(tenant)}
    found: dict[int, list[tuple[int, str, dict[str, Any]]]] = defaultdict(list)
    for row in await conn.rows(_OF_RUNS, wanted):
        found[row["span"]] += leaves_in(row)
    for row in await conn.rows(_OF_TENANT, wanted):
        found[row["span"]].append((row["seq"], row["hash"].hex(), row["leaf"]))
    return [entry for number, span in enumerate(spans, 1) for entry in _entries(span, found[number])]


def _entries(span: Mapping[str, Any], leaves: Iterable[tuple[int, str, Mapping[str, Any]]]) -> Iterator[bytes]:
    """Yield the entries of a span of leaves, which may come with some before them."""
    before = GENESIS.hash
    for seq, own, said in leaves:
        if span["first"] <= seq <= span["last"]:
            yield entry_of(canonical.dumps(said), span["chain"], seq, before)
        before = own


_STAMP_COLUMNS = (
    "SELECT s.size, c.note, s.stamp, s.asked_at FROM log_stamps s JOIN log_checkpoints c USING (tenant, size)"
)


@dataclass(frozen=True)
class Stamped:
    """A checkpoint (its size, its note), its stamp (DER), and when that was asked for, by our clock."""

    size: int
    note: str
    stamp: bytes
    asked_at: datetime


async def keep_stamp(conn: Conn, tenant: str, size: int, stamp: bytes, asked_at: datetime) -> None:
    """Put the stamp of a checkpoint on record, unless it has one."""
    await conn.execute(
        "INSERT INTO log_stamps (tenant, size, stamp, asked_at) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
        (tenant, size, stamp, asked_at),
    )


async def newest_stamped(conn: Conn, tenant: str) -> Stamped | None:
    """Return the largest checkpoint that has a stamp."""
    query = f"{_STAMP_COLUMNS} WHERE tenant = %s ORDER BY size DESC LIMIT 1"
    row = await conn.row(query, (tenant,))
    return Stamped(**row) if row else None


async def first_stamped(conn: Conn, tenant: str, size: int) -> Stamped | None:
    """Return the smallest checkpoint of a log of this size, or larger, that has a stamp."""
    query = f"{_STAMP_COLUMNS} WHERE tenant = %s AND size >= %s ORDER BY size LIMIT 1"
    row = await conn.row(query, (tenant, size))
    return Stamped(**row) if row else None


async def stamped_sizes(conn: Conn, tenant: str, least: Collection[int]) -> dict[int, int | None]:
    """Return for each number of leaves the size of the first log that has so many and a stamp, None where none has."""
    rows = await conn.rows(
        "SELECT w.least, (SELECT min(size) FROM log_stamps WHERE tenant = %s AND size >= w.least) AS size"
        " FROM unnest(%s::bigint[]) AS w (least)",
        (tenant, list(least)),
    )
    return {row["least"]: row["size"] for row in rows}


async def unpublished_stamps(conn: Conn, tenant: str) -> list[Stamped]:
    """Return what was stamped and does not stand in the archive, in order. They are published in their order."""
    rows = await conn.rows(
        """
        SELECT s.size, c.note, s.stamp, s.asked_at FROM log_stamps s JOIN log_checkpoints c USING (tenant, size)
         WHERE tenant = %(tenant)s AND size > coalesce((SELECT max(size) FROM log_stamps
                WHERE tenant = %(tenant)s AND published_at IS NOT NULL), 0)
         ORDER BY size
        """,
        {"tenant": tenant},
    )
    return [Stamped(**row) for row in rows]


async def mark_stamp_published(conn: Conn, tenant: str, size: int, now: datetime) -> None:
    """Note that a stamp stands in the archive."""
    await conn.execute("UPDATE log_stamps SET published_at = %s WHERE tenant = %s AND size = %s", (now, tenant, size))


async def unstamped_since(conn: Conn, tenant: str) -> datetime | None:
    """Return when the oldest checkpoint was signed that no stamp is over, or None where there is none."""
    query = """SELECT min(signed_at) AS since FROM log_checkpoints WHERE tenant = %(tenant)s
        AND size > coalesce((SELECT max(size) FROM log_stamps WHERE tenant = %(tenant)s), 0)"""
    row = await conn.row(query, {"tenant": tenant})
    return row["since"] if row else None
