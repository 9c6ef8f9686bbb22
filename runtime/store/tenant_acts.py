"""The chain of a tenant's acts: each is on record in the transaction that does it, and gets its place in the log."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import orjson

from receipts.act import Act
from receipts.chain import PROGRAM, Actor, Correlation, Head, Written, next_leaf
from receipts.tenant_acts import chain_of
from runtime.store.database.pool import Conn
from runtime.store.tenant_existing import existing
from runtime.store.tenant_rows import ChainEnd, lock_chain


async def put_act(conn: Conn, tenant: str, act: Act, actor: Actor, at: datetime) -> bool:
    """Put an act on record in the caller's transaction; return whether it was not there yet, if it is done only once.

    Until that transaction ends, the tenant's other acts wait. A chain begins with what was there before it.
    """
    if await _is_on_record(conn, tenant, act):
        return False
    end = await lock_chain(conn, tenant, act.once)
    if end.head.seq == 0:
        before = [one for one in await existing(conn, tenant) if one != act]
        end = _append(conn, tenant, end, before, PROGRAM, at)
    if end.has:  # since somebody else put it there while we waited
        return False
    _append(conn, tenant, end, [act], actor, at)
    return True


async def _is_on_record(conn: Conn, tenant: str, act: Act) -> bool:
    if act.once is None:
        return False
    query = "SELECT 1 FROM tenant_leaves WHERE tenant = %(tenant)s AND once = %(once)s"
    return await (await conn.read(query, {"tenant": tenant, "once": act.once})).fetchone() is not None


def _append(conn: Conn, tenant: str, end: ChainEnd, acts: Sequence[Act], actor: Actor, at: datetime) -> ChainEnd:
    """Append acts to the chain, whose end the caller has locked; return its end."""
    at = max(at, end.at or at)  # a clock that was set back must not make what came later look earlier
    head, rows = end.head, []
    for act in acts:
        written = _leaf(tenant, head, act, actor, at)
        head = Head(written.leaf.seq, written.leaf.hash)
        said = orjson.Fragment(written.said)
        rows.append({"seq": head.seq, "hash": f"\\x{head.hash}", "leaf": said, "once": act.once})
    if rows:
        _write(conn, tenant, rows, head)
    return ChainEnd(head, at, end.has)


def _leaf(tenant: str, head: Head, act: Act, actor: Actor, at: datetime) -> Written:
    data = act.model_dump()
    return next_leaf(
        head, run_id=chain_of(tenant), at=at, event=act.event, actor=actor, correlation=Correlation(), data=data
    )


def _write(conn: Conn, tenant: str, rows: Sequence[dict[str, Any]], head: Head) -> None:
    conn.put(
        """
        WITH kept AS (
            INSERT INTO tenant_leaves (tenant, seq, hash, leaf, once)
            SELECT %(tenant)s, seq, hash, leaf, once FROM json_to_recordset(%(rows)s::json)
                AS r (seq int, hash bytea, leaf json, once text)
        ), waiting AS (
            INSERT INTO log_pending (tenant, chain, first_seq, hashes)
            VALUES (%(tenant)s, %(chain)s, %(first)s, %(hashes)s)
        )
        UPDATE tenants SET audit_seq = %(last)s, audit_hash = %(hash)s WHERE tenant = %(tenant)s
        """,
        {
            "tenant": tenant,
            "rows": orjson.dumps(rows).decode(),
            "chain": chain_of(tenant),
            "first": rows[0]["seq"],
            "hashes": b"".join(bytes.fromhex(row["hash"][2:]) for row in rows),
            "last": head.seq,
            "hash": head.hash,
        },
    )
