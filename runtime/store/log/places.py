"""Places in the Merkle log: what waits for one, where what has one stands, and the tree over it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from receipts.log.hashes import HASH_BYTES
from receipts.log.range import EMPTY, CompactRange, Node
from receipts.log.tiles import TILE_HEIGHT, TILE_WIDTH
from receipts.tenant.acts import chain_of
from runtime.store.database.pool import Conn


@dataclass(frozen=True)
class Span:
    """Leaves of one chain that follow each other: the first one's sequence number, and their hashes."""

    chain: str
    first_seq: int
    hashes: list[bytes]


class MissingLeafError(Exception):
    """Leaves that were committed are not there any more, or not as many: somebody has changed the table."""


async def lock_range(conn: Conn, tenant: str) -> CompactRange | None:
    """Return the compact range of the tenant's log, locked in the transaction; None where another has locked it."""
    query = "SELECT size, hashes FROM log_heads WHERE tenant = %s FOR UPDATE SKIP LOCKED"
    row = await (await conn.execute(query, (tenant,))).fetchone()
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
    hashes = row["hashes"]
    cut = tuple(hashes[start : start + HASH_BYTES] for start in range(0, len(hashes), HASH_BYTES))
    return CompactRange(0, row["size"], cut)


async def take_pending(conn: Conn, tenant: str, most: int) -> list[Span]:
    """Take leaves that are committed and have no place, so many transactions' at most; raise MissingLeafError.

    Whatever is still being written is not seen, and is taken by a later call: nobody waits for it. In the order in
    which it returns them, the leaves of a chain stand as in their chain.
    """
    rows = await (
        await conn.execute(
            """
            WITH taken AS (
                DELETE FROM log_pending
                 WHERE ctid = ANY(ARRAY(SELECT ctid FROM log_pending WHERE tenant = %s LIMIT %s))
                RETURNING chain, first_seq, last_seq
            )
            SELECT chain, first_seq, last_seq,
                   ARRAY(SELECT hash FROM audit_leaves l
                          WHERE l.run_id = t.chain AND l.seq BETWEEN t.first_seq AND t.last_seq ORDER BY seq) AS hashes
              FROM taken t ORDER BY chain, first_seq
            """,
            (tenant, most),
        )
    ).fetchall()
    own = chain_of(tenant)
    for row in rows:
        if row["chain"] == own:
            row["hashes"] = await _own_hashes(conn, tenant, row["first_seq"], row["last_seq"])
        if len(row["hashes"]) != row["last_seq"] - row["first_seq"] + 1:
            raise MissingLeafError(
                f"leaves {row['first_seq']} to {row['last_seq']} of {row['chain']} are not all there"
            )
    return _joined([Span(row["chain"], row["first_seq"], row["hashes"]) for row in rows])


async def _own_hashes(conn: Conn, tenant: str, first_seq: int, last_seq: int) -> list[bytes]:
    """Return the hashes of leaves of the tenant's own chain."""
    query = "SELECT hash FROM tenant_leaves WHERE tenant = %s AND seq BETWEEN %s AND %s ORDER BY seq"
    return [row["hash"] for row in await (await conn.execute(query, (tenant, first_seq, last_seq))).fetchall()]


async def keep_places(conn: Conn, tenant: str, first_index: int, spans: Sequence[Span]) -> None:
    """Put on record where the spans stand, from an index on, one behind the other."""
    rows, index = [], first_index
    for span in spans:
        rows.append({"first_index": index, "count": len(span.hashes), "chain": span.chain, "first_seq": span.first_seq})
        index += len(span.hashes)
    await conn.execute(
        "INSERT INTO log_entries (tenant, first_index, count, chain, first_seq)"
        " SELECT %s, first_index, count, chain, first_seq FROM json_to_recordset(%s::json)"
        " AS r (first_index bigint, count int, chain text, first_seq int)",
        (tenant, orjson.dumps(rows).decode()),
    )


async def grow(conn: Conn, tenant: str, nodes: Iterable[Node], grown: CompactRange) -> None:
    """Write the nodes that are new into their tiles, behind those that stand there, and how far the log has grown."""
    new: dict[tuple[int, int], list[bytes]] = {}
    for node in nodes:  # of each level, in their order
        if node.level % TILE_HEIGHT == 0:
            new.setdefault((node.level // TILE_HEIGHT, node.index // TILE_WIDTH), []).append(node.hash)
    tiles = [
        {"level": level, "number": number, "hashes": "\\x" + b"".join(hashes).hex()}
        for (level, number), hashes in new.items()
    ]
    await conn.execute(
        """
        WITH grown AS (UPDATE log_heads SET size = %(size)s, hashes = %(hashes)s WHERE tenant = %(tenant)s)
        INSERT INTO log_tiles (tenant, level, number, hashes)
        SELECT %(tenant)s, level, number, hashes FROM json_to_recordset(%(tiles)s::json)
            AS r (level int, number bigint, hashes bytea)
        ON CONFLICT (tenant, level, number) DO UPDATE SET hashes = log_tiles.hashes || EXCLUDED.hashes
        """,
        {
            "size": grown.end,
            "hashes": b"".join(grown.hashes),
            "tenant": tenant,
            "tiles": orjson.dumps(tiles).decode(),
        },
    )


def _joined(spans: Sequence[Span]) -> list[Span]:
    """Make one span of those that follow each other in a chain."""
    joined: list[Span] = []
    for span in spans:
        last = joined[-1] if joined else None
        if last and last.chain == span.chain and last.first_seq + len(last.hashes) == span.first_seq:
            joined[-1] = Span(last.chain, last.first_seq, last.hashes + span.hashes)
        else:
            joined.append(span)
    return joined
