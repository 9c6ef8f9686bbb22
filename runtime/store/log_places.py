"""Places in the Merkle log: what waits for one, where what has one stands, and the tree over it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import orjson

from receipts.hashes import EMPTY, HASH_BYTES, CompactRange, Growth, Row
from receipts.tiles import TILE_HEIGHT, TILE_WIDTH
from runtime.store.database.pool import Conn


@dataclass(frozen=True)
class Span:
    """Leaves of one chain that follow each other: the first one's sequence number, and their hashes."""

    chain: str
    first_seq: int
    hashes: list[bytes]


async def lock_range(conn: Conn, tenant: str) -> CompactRange | None:
    """Return the compact range of the tenant's log, locked in the transaction; None where another has locked it."""
    query = "SELECT size, hashes FROM log_heads WHERE tenant = %s FOR UPDATE SKIP LOCKED"
    row = await conn.row(query, (tenant,))
    if row is not None:
        return range_of(row)
    made = await conn.execute(
        "INSERT INTO log_heads (tenant, size, hashes) SELECT tenant, 0, '' FROM tenants WHERE tenant = %s"
        " ON CONFLICT DO NOTHING",
        (tenant,),
    )
    return EMPTY if made.rowcount else None


def range_of(row: Mapping[str, Any]) -> CompactRange:
    """Return the compact range in a row of `log_heads`."""
    return CompactRange(row["size"], tuple(cut(row["hashes"])))


def cut(hashes: bytes) -> list[bytes]:
    """Return the hashes that stand one behind the other."""
    return [hashes[start : start + HASH_BYTES] for start in range(0, len(hashes), HASH_BYTES)]


async def take_pending(conn: Conn, tenant: str, most: int) -> list[Span]:
    """Take leaves that are committed and have no place, so many transactions' at most.

    Whatever is still being written is not seen, and is taken by a later call: nobody waits for it. In the order in
    which it returns them, the leaves of a chain stand as in their chain.
    """
    rows = await conn.rows(
        """
        DELETE FROM log_pending
         WHERE ctid = ANY(ARRAY(SELECT ctid FROM log_pending WHERE tenant = %s LIMIT %s))
        RETURNING chain, first_seq, hashes
        """,
        (tenant, most),
        binary=True,
    )
    rows.sort(key=itemgetter("chain", "first_seq"))
    return _joined(Span(row["chain"], row["first_seq"], cut(row["hashes"])) for row in rows)


async def keep_growth(conn: Conn, tenant: str, first_index: int, spans: Iterable[Span], grown: Growth) -> None:
    """Put on record where the spans stand, from an index on, one behind the other, and how the log has grown by them.

    Nodes that are new are written into their tiles, behind those that stand there.
    """
    await conn.execute(
        """
        WITH grown AS (UPDATE log_heads SET size = %(size)s, hashes = %(hashes)s WHERE tenant = %(tenant)s),
        placed AS (
            INSERT INTO log_entries (tenant, first_index, count, chain, first_seq)
            SELECT %(tenant)s, first_index, count, chain, first_seq FROM json_to_recordset(%(places)s::json)
                AS r (first_index bigint, count int, chain text, first_seq int)
        )
        INSERT INTO log_tiles (tenant, level, number, hashes)
        SELECT %(tenant)s, level, number, hashes FROM json_to_recordset(%(tiles)s::json)
            AS r (level int, number bigint, hashes bytea)
        ON CONFLICT (tenant, level, number) DO UPDATE SET hashes = log_tiles.hashes || EXCLUDED.hashes
        """,
        {
            "size": grown.range.size,
            "hashes": b"".join(grown.range.hashes),
            "tenant": tenant,
            "places": orjson.dumps(list(_places(first_index, spans))).decode(),
            "tiles": orjson.dumps(list(_tiles(grown.rows))).decode(),
        },
    )


def _places(index: int, spans: Iterable[Span]) -> Iterator[dict[str, Any]]:
    for span in spans:
        yield {"first_index": index, "count": len(span.hashes), "chain": span.chain, "first_seq": span.first_seq}
        index += len(span.hashes)


def _tiles(rows: Iterable[Row]) -> Iterator[dict[str, Any]]:
    """Yield what is new in each tile."""
    for row in rows:
        if row.level % TILE_HEIGHT == 0:
            first, behind = row.first, row.first + len(row.hashes)
            for number in range(first // TILE_WIDTH, (behind - 1) // TILE_WIDTH + 1):
                start, end = max(number * TILE_WIDTH - first, 0), (number + 1) * TILE_WIDTH - first
                new = b"".join(row.hashes[start:end])
                yield {"level": row.level // TILE_HEIGHT, "number": number, "hashes": f"\\x{new.hex()}"}


def _joined(spans: Iterable[Span]) -> list[Span]:
    """Make one span of those that follow each other in a chain."""
    joined: list[Span] = []
    for span in spans:
        last = joined[-1] if joined else None
        if last and last.chain == span.chain and last.first_seq + len(last.hashes) == span.first_seq:
            last.hashes.extend(span.hashes)
        else:
            joined.append(span)
    return joined
