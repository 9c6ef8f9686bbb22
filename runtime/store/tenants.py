"""Tenants: the salt of each, and the chain of its acts.

Each act is on record in the transaction that does it, and gets its place in the log. Whoever appends locks the end of
the chain: one at a time. The first act of a chain tells what was there before there was a chain: the directory, keys,
definitions and policies. What a start loads is put on record when it differs from what the start before loaded. Votes
rest on acts, which are found by their names, whole.
"""

import hashlib
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from receipts import canonical
from receipts.acts import Act, LoadedAct
from receipts.chain import GENESIS, PROGRAM, Actor, Correlation, Head, Written, next_leaf
from receipts.policy_acts import PolicyActivated, PolicyProposed, PolicySeen
from receipts.tenant_acts import (
    DefinitionStored,
    DirectoryLoaded,
    KeyRegistered,
    chain_of,
)
from runtime.store.database.buffered_connection import at_once
from runtime.store.database.pool import Conn


@dataclass(frozen=True)
class ChainEnd:
    """The last leaf of a tenant's chain and when that was said; None where the chain is empty.

    `has` says whether what was looked for stands in the chain.
    """

    head: Head
    at: datetime | None
    has: bool


async def salt_of(conn: Conn, tenant: str) -> str:
    """Return the tenant's salt, which is made on first use."""
    query = "SELECT salt FROM tenants WHERE tenant = %s"
    row = await conn.row(query, (tenant,))
    if row is None:
        await _make_tenant(conn, tenant)
        row = await conn.row(query, (tenant,))
    if row is None:
        raise LookupError(f"no tenant {tenant}")
    return str(row["salt"])


async def bind_tenant(conn: Conn, tenant: str, *, mocked: bool) -> bool:
    """Return whether the tenant is of that kind: its first start says whether its runs are on mocks, once for all."""
    await _make_tenant(conn, tenant, mocked=mocked)
    row = await conn.read_row("SELECT mocked FROM tenants WHERE tenant = %(tenant)s", {"tenant": tenant})
    return row is not None and bool(row["mocked"]) == mocked


async def lock_chain(conn: Conn, tenant: str, once: str | None = None) -> ChainEnd:
    """Return the end of the tenant's chain, locked in the caller's transaction: one at a time appends to it.

    The lock keeps away nobody who only refers to the tenant. `once` is what is looked for in the chain.
    """
    end = await _lock(conn, tenant, once)
    if end is None:
        await _make_tenant(conn, tenant)
        end = await _lock(conn, tenant, once)
    if end is None:
        raise LookupError(f"no tenant {tenant}")
    return end


async def _lock(conn: Conn, tenant: str, once: str | None) -> ChainEnd | None:
    # two statements: one that has waited for the lock does not see what came meanwhile
    conn.put("SELECT FROM tenants WHERE tenant = %(tenant)s FOR NO KEY UPDATE", {"tenant": tenant})
    query = """
        SELECT audit_seq, audit_hash,
               (SELECT (l.leaf ->> 'at')::timestamptz FROM tenant_leaves l
                 WHERE l.tenant = t.tenant AND l.seq = t.audit_seq) AS at,
               EXISTS (SELECT FROM tenant_leaves l WHERE l.tenant = t.tenant AND l.once = %(once)s) AS has
          FROM tenants t WHERE t.tenant = %(tenant)s
    """
    row = await conn.read_row(query, {"tenant": tenant, "once": once})
    return ChainEnd(Head(row["audit_seq"], row["audit_hash"]), row["at"], row["has"]) if row else None


async def _make_tenant(conn: Conn, tenant: str, *, mocked: bool = False) -> None:
    """Make the tenant's row, if it is not there: otherwise this would wait for those who append to the chain.

    The lock: a policy version that is added or activated at the same time is on record before the row is made, or its
    transaction sees the row and records it in this chain too.
    """
    await conn.execute(
        "WITH held AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(hashtextextended('policy_versions', 0)))"
        " INSERT INTO tenants (tenant, salt, mocked) SELECT %s, %s, %s FROM held ON CONFLICT DO NOTHING",
        (tenant, secrets.token_hex(16), mocked),
    )


async def is_mocked(conn: Conn, tenant: str) -> bool:
    """Return whether the tenant's runs are on mocks."""
    row = await conn.read_row("SELECT mocked FROM tenants WHERE tenant = %(tenant)s", {"tenant": tenant})
    return bool(row and row["mocked"])


ACTORS = "SELECT actor_id AS id, kind, name, groups, grants, notices, sign_in FROM actors WHERE tenant = %s"
ACCOUNTS = "SELECT team, account, actor_id FROM slack_accounts WHERE tenant = %s"
_MAY_LACK = ("notices", "sign_in")
SETTINGS = "SELECT remind, usergroups FROM directories WHERE tenant = %s"


def rows_digest(
    actors: Iterable[Mapping[str, Any]], accounts: Iterable[Mapping[str, Any]], settings: Iterable[Mapping[str, Any]]
) -> str:
    """Return the digest of a directory's rows, as `ACTORS`, `ACCOUNTS` and `SETTINGS` give them in any order.

    How people are told and sign in, and which groups are user groups of Slack, is in it only where that is said.
    """
    people = [{name: value for name, value in one.items() if value or name not in _MAY_LACK} for one in actors]
    said = [found for one in settings if (found := {name: value for name, value in one.items() if value})]
    rows = {"actors": _sorted(people), "accounts": _sorted(accounts)}
    return canonical.digest({**rows, "settings": said} if said else rows)


async def directory_digest(conn: Conn, tenant: str) -> str:
    """Return the digest of the tenant's directory as it stands in the tables."""
    actors, accounts, settings = await at_once(*(_all(conn, query, tenant) for query in (ACTORS, ACCOUNTS, SETTINGS)))
    return rows_digest(actors, accounts, settings)


async def existing_records(conn: Conn, tenant: str) -> list[Act]:
    """Return what was there before there was a chain to put it on."""
    definitions, policies, versions, activations, directories, keys = await at_once(
        _all(conn, "SELECT name, version, digest FROM definitions ORDER BY created_at, name, version"),
        _all(conn, "SELECT digest FROM policy_texts ORDER BY first_seen, digest"),
        _all(conn, f"{POLICY_VERSIONS} ORDER BY version"),
        _all(conn, f"{POLICY_ACTIVATIONS} ORDER BY number"),
        _all(conn, "SELECT version, digest FROM directories WHERE tenant = %s", tenant),
        _all(conn, "SELECT key_id, entry FROM signing_keys WHERE tenant = %s ORDER BY number", tenant),
    )
    return [
        *(DefinitionStored(**row) for row in definitions),
        *(PolicySeen(**row) for row in policies),
        *(policy_proposed(row) for row in versions),
        *(PolicyActivated(**row) for row in activations),
        *[DirectoryLoaded(**row, rows=await directory_digest(conn, tenant)) for row in directories],
        *(KeyRegistered(key_id=row["key_id"], digest=canonical.digest(row["entry"])) for row in keys),
    ]


POLICY_VERSIONS = """
    SELECT version, digest, bundle, rules::text AS rules, report::text AS report, tenant, author, comment
      FROM policy_versions
"""
POLICY_ACTIVATIONS = "SELECT number, version, replaces, activated_by AS by, run_id FROM policy_activations"


def policy_proposed(row: Mapping[str, Any]) -> PolicyProposed:
    """Return the act of a row that `POLICY_VERSIONS` gives."""
    return PolicyProposed(**said_of_version(row))


def said_of_version(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what that act says: digests stand for the bundle and the texts."""
    report = row["report"]
    digests = {
        "bundle": hashlib.sha256(row["bundle"]).hexdigest(),
        "rules": hashlib.sha256(row["rules"].encode()).hexdigest(),
        "report": None if report is None else hashlib.sha256(report.encode()).hexdigest(),
    }
    return {**row, **digests}


async def _all(conn: Conn, query: str, *values: str) -> Sequence[Mapping[str, Any]]:
    return await conn.read(query, values)


def _sorted(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return sorted(map(dict, rows), key=canonical.dumps)


async def put_act(conn: Conn, tenant: str, act: Act, actor: Actor, at: datetime) -> bool:
    """Put an act on record in the caller's transaction; return whether it was not there yet, if it is done only once.

    Until that transaction ends, the tenant's other acts wait. A chain begins with what was there before it.
    """
    if await _is_on_record(conn, tenant, act):
        return False
    end = await lock_chain(conn, tenant, act.once)
    if end.head.seq == 0:
        end = await _begin(conn, tenant, end, act, at)
    if end.has:  # since somebody else put it there while we waited
        return False
    _append(conn, tenant, end, [act], actor, at)
    return True


async def put_acts(conn: Conn, tenant: str, acts: Sequence[Act], actor: Actor, at: datetime) -> None:
    """Put acts that are done only once on record, those that are not there yet, as `put_act` does."""
    end = await lock_chain(conn, tenant)
    if end.head.seq == 0:
        end = await _begin(conn, tenant, end, None, at)
    query = "SELECT once FROM tenant_leaves WHERE tenant = %(tenant)s AND once = ANY(%(names)s)"
    there = await conn.read(query, {"tenant": tenant, "names": [act.once for act in acts]})
    known = {row["once"] for row in there}
    _append(conn, tenant, end, [act for act in acts if act.once not in known], actor, at)


async def _begin(conn: Conn, tenant: str, end: ChainEnd, act: Act | None, at: datetime) -> ChainEnd:
    """Begin a chain with what was there before it, all but the act that comes now; return its end."""
    before = [one for one in await existing_records(conn, tenant) if one != act]
    return _append(conn, tenant, end, before, PROGRAM, at)


async def _is_on_record(conn: Conn, tenant: str, act: Act) -> bool:
    if act.once is None:
        return False
    query = "SELECT 1 FROM tenant_leaves WHERE tenant = %(tenant)s AND once = %(once)s"
    return await conn.read_row(query, {"tenant": tenant, "once": act.once}) is not None


def _append(conn: Conn, tenant: str, end: ChainEnd, acts: Sequence[Act], actor: Actor, at: datetime) -> ChainEnd:
    """Append acts to the chain, whose end the caller has locked; return its end."""
    at = max(at, end.at or at)  # a clock that was set back must not make what came later look earlier
    head, rows = end.head, []
    for act in acts:
        written = _leaf(tenant, head, act, actor, at)
        head = written.head
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


async def acts_named(conn: Conn, tenant: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the whole leaves of the tenant's chain of these names (`Act.once`), oldest first."""
    query = """
        SELECT l.seq, encode(l.hash, 'hex') AS hash, l.leaf, encode(before.hash, 'hex') AS prev_hash
          FROM tenant_leaves l LEFT JOIN tenant_leaves before ON before.tenant = l.tenant AND before.seq = l.seq - 1
         WHERE l.tenant = %s AND l.once = ANY(%s) ORDER BY l.seq
    """
    rows = await conn.read(query, (tenant, list(names)))
    return [
        {
            **row["leaf"],
            "run_id": chain_of(tenant),
            "seq": row["seq"],
            "prev_hash": row["prev_hash"] or GENESIS.hash,
            "hash": row["hash"],
        }
        for row in rows
    ]


async def acts_of_votes(conn: Conn, tenant: str, run_ids: Sequence[str]) -> dict[str, list[tuple[int, int | None]]]:
    """Return which acts of the tenant's chain votes of runs rest on: number, and index in the log, None without one.

    A run whose votes rest on none is left out.
    """
    query = """
        SELECT acts.run_id, acts.seq, e.first_index + acts.seq - e.first_seq AS index
          FROM (SELECT DISTINCT a.run_id, (act ->> 'seq')::int AS seq
                  FROM approvals a JOIN votes v USING (approval_id),
                       LATERAL (SELECT json_array_elements(v.passkey -> 'acts') AS act
                                UNION ALL SELECT json_array_elements(v.delegation -> 'acts')) AS told
                 WHERE a.run_id = ANY(%(runs)s)) AS acts
          LEFT JOIN log_entries e
            ON e.chain = %(chain)s AND e.first_seq <= acts.seq AND e.first_seq + e.count > acts.seq
         ORDER BY acts.run_id, acts.seq
    """
    found: dict[str, list[tuple[int, int | None]]] = {}
    for row in await conn.rows(query, {"runs": list(run_ids), "chain": chain_of(tenant)}):
        found.setdefault(row["run_id"], []).append((row["seq"], row["index"]))
    return found


async def put_if_changed(conn: Conn, tenant: str, act: LoadedAct, at: datetime) -> bool:
    """Put on record what a start brought, and return whether it is other than what holds by the record.

    Safe by many processes at once. Where nothing ever was, and there is nothing, nothing is written.
    """
    if not await _is_other(conn, tenant, act):
        return False
    async with conn.transaction():
        await lock_chain(conn, tenant)
        return await _is_other(conn, tenant, act) and await put_act(conn, tenant, act, PROGRAM, at)


async def _is_other(conn: Conn, tenant: str, act: LoadedAct) -> bool:
    query = """
        SELECT leaf -> 'data' AS data FROM tenant_leaves
         WHERE tenant = %s AND leaf ->> 'event' = %s ORDER BY seq DESC LIMIT 1
    """
    last = await conn.row(query, (tenant, act.event))
    if last is None:
        return any(act.brought.values())
    return act.brought != type(act).model_validate(last["data"]).brought
