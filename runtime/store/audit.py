"""Audit of the log: every place, each run with all that its leaves name, and the tenant's own chain.

All is read in one consistent view.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import Connection, IsolationLevel
from psycopg.rows import DictRow, dict_row

from receipts import canonical
from receipts.acts import SlackInstalled, SlackRemoved, act_record
from receipts.chain import GENESIS, PROGRAM
from receipts.hashes import TreeHead
from receipts.list_acts import RunListDeleted, RunListSaved, digest_of_ids
from receipts.passkey_records import PasskeyRegistered, PasskeyRevoked
from receipts.policy_acts import PolicyActivated, PolicyProposed, policy_name
from receipts.tenant_acts import (
    DefinitionActivated,
    DefinitionRetired,
    DelegationEnded,
    DelegationRecorded,
    HoldLifted,
    HoldSet,
    chain_of,
    definition_name,
    directory_record,
    key_name,
    life_record,
)
from runtime.model.questions import Question
from runtime.model.states import DefinitionStatus
from runtime.store.delegations import delegation_of
from runtime.store.passkeys import passkey_of
from runtime.store.run_history import asked, edit_document, leaves_in, question_document, vote_document
from runtime.store.tenants import (
    ACCOUNTS,
    ACTORS,
    POLICY_ACTIVATIONS,
    POLICY_VERSIONS,
    SETTINGS,
    rows_digest,
    said_of_version,
)

_AT_ONCE = 200
"""Runs that are read together."""
_ROWS = 2000
"""Places that are fetched at once."""


@dataclass(frozen=True)
class Place:
    """A place in the log, the leaf that has it, and that leaf's hash; None where it is not there."""

    index: int
    chain: str
    seq: int
    hash: bytes | None


@dataclass
class ChainRows:
    """A chain: where it ends, and its leaves (sequence number, hash in hexadecimal, what it says)."""

    chain: str
    audit_seq: int
    audit_hash: str
    leaves: list[tuple[int, str, dict[str, Any]]] = field(default_factory=list)
    placed: list[tuple[int, int]] = field(default_factory=list)  # first and last of those that have a place
    waiting: list[tuple[int, int]] = field(default_factory=list)  # … and of those that await one


@dataclass
class RunRows(ChainRows):
    """A run's chain, its own row, and what stands where its leaves say."""

    row: dict[str, Any] = field(default_factory=dict)
    bundle: dict[str, Any] | None = None
    records: dict[str, dict[int, Any]] = field(default_factory=lambda: defaultdict(dict))  # by table, by leaf
    asked: dict[str, dict[str, Any]] = field(default_factory=dict)  # requests by approval
    cards: dict[str, list[Any]] = field(default_factory=dict)
    votes: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    questions: dict[str, list[Question]] = field(default_factory=lambda: defaultdict(list))
    edits: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))


OF_RUN = (
    *("definition_name", "definition_version", "trigger_type", "trigger_ref", "requested_by", "submitted_by"),
    *("status", "outcome"),
)
"""The columns of a run that its leaves tell, too."""

_RUNS = f"""
    SELECT run_id, audit_seq, audit_hash, {", ".join(OF_RUN)} FROM runs
     WHERE tenant = %s AND run_id > %s ORDER BY run_id LIMIT %s
"""  # noqa: S608 - our own words
_WAITING = "SELECT chain, first_seq, first_seq - 1 + length(hashes) / 32 AS last_seq FROM log_pending WHERE tenant = %s"

View = Connection[DictRow]


@contextmanager
def open_view(dsn: str) -> Iterator[View]:
    """Give a connection to which nothing changes. A pooler may stand in between."""
    with psycopg.connect(dsn, row_factory=dict_row, prepare_threshold=None) as conn:
        conn.isolation_level = IsolationLevel.REPEATABLE_READ
        conn.read_only = True
        yield conn


def places(conn: View, tenant: str) -> Iterator[Place]:
    """Yield the places of the log in their order."""
    query = """
        SELECT e.first_index + n AS index, e.chain, e.first_seq + n AS seq, coalesce(l.hash, o.hash) AS hash
          FROM log_entries e CROSS JOIN LATERAL generate_series(0, e.count - 1) AS n
          LEFT JOIN LATERAL (
               SELECT nullif(substring(hashes FROM 32 * (e.first_seq + n - first_seq) + 1 FOR 32), '') AS hash
                 FROM leaf_sets WHERE run_id = e.chain AND first_seq <= e.first_seq + n
                ORDER BY first_seq DESC LIMIT 1) AS l ON true
          LEFT JOIN tenant_leaves o ON e.chain = %(own)s AND o.tenant = e.tenant AND o.seq = e.first_seq + n
         WHERE e.tenant = %(tenant)s ORDER BY e.first_index, n
    """
    with conn.cursor(name="places") as cursor:
        cursor.itersize = _ROWS
        for row in cursor.execute(query.encode(), {"tenant": tenant, "own": chain_of(tenant)}):
            yield Place(row["index"], row["chain"], row["seq"], row["hash"])


def signed_heads(conn: View, tenant: str) -> list[TreeHead]:
    """Return what was signed of the log, the smallest first."""
    rows = all_rows(conn, "SELECT size, root FROM log_checkpoints WHERE tenant = %s ORDER BY size", tenant)
    return [TreeHead(row["size"], row["root"]) for row in rows]


def chains_without_run(conn: View, tenant: str) -> list[str]:
    """Return chains that have places, and of which there is no run: the tenant's own is of none."""
    query = """
        SELECT DISTINCT chain FROM log_entries e
         WHERE tenant = %s AND chain <> %s
           AND NOT EXISTS (SELECT FROM runs r WHERE r.run_id = e.chain AND r.tenant = e.tenant)
    """
    return [row["chain"] for row in all_rows(conn, query, tenant, chain_of(tenant))]


def runs(conn: View, tenant: str) -> Iterator[RunRows]:
    """Yield the tenant's runs, each with all that is to be compared."""
    waiting = pending(conn, tenant)
    last = ""
    while True:
        found = all_rows(conn, _RUNS, tenant, last, _AT_ONCE)
        if not found:
            return
        last = found[-1]["run_id"]
        yield from _filled(conn, {row["run_id"]: _run(row) for row in found}, waiting)


def _run(row: DictRow) -> RunRows:
    return RunRows(row["run_id"], row["audit_seq"], row["audit_hash"], row={name: row[name] for name in OF_RUN})


def _filled(
    conn: View, found: Mapping[str, RunRows], waiting: Mapping[str, Sequence[tuple[int, int]]]
) -> Iterator[RunRows]:
    ids = list(found)
    for row in all_rows(conn, "SELECT * FROM leaf_sets WHERE run_id = ANY(%s) ORDER BY first_seq", ids):
        found[row["run_id"]].leaves += leaves_in(row)
    for row in all_rows(conn, "SELECT chain, first_seq, count FROM log_entries WHERE chain = ANY(%s)", ids):
        found[row["chain"]].placed.append((row["first_seq"], row["first_seq"] + row["count"] - 1))
    for table in ("policy_decisions", "receipts", "reads"):
        for row in all_rows(conn, f"SELECT run_id, seq, document FROM {table} WHERE run_id = ANY(%s)", ids):  # noqa: S608
            found[row["run_id"]].records[table][row["seq"]] = row["document"]
    _fill_asked(conn, found, ids)
    for row in all_rows(conn, "SELECT * FROM evidence_bundles WHERE run_id = ANY(%s)", ids):
        found[row["run_id"]].bundle = row
    for run in found.values():
        run.waiting += waiting.get(run.chain, ())
        yield run


def _fill_asked(conn: View, found: Mapping[str, RunRows], ids: list[str]) -> None:
    """Fill in what people were asked, saw and said."""
    for row in all_rows(conn, "SELECT * FROM approvals WHERE run_id = ANY(%s)", ids):
        found[row["run_id"]].asked[row["approval_id"]] = asked(row)
        found[row["run_id"]].cards[row["approval_id"]] = row["cards"]
    query = "SELECT a.run_id, v.* FROM votes v JOIN approvals a USING (approval_id) WHERE a.run_id = ANY(%s)"
    for row in all_rows(conn, query, ids):
        found[row["run_id"]].votes[row["approval_id"]].append(vote_document(row))
    query = "SELECT a.run_id, q.* FROM questions q JOIN approvals a USING (approval_id) WHERE a.run_id = ANY(%s)"
    for row in all_rows(conn, query, ids):
        found[row["run_id"]].questions[row["approval_id"]].append(question_document(row))
    for row in all_rows(conn, "SELECT * FROM edits WHERE run_id = ANY(%s)", ids):
        found[row["run_id"]].edits[row["approval_id"]].append(edit_document(row))


def pending(conn: View, tenant: str) -> dict[str, list[tuple[int, int]]]:
    """Return by their chains the first and last of leaves that await a place."""
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for row in all_rows(conn, _WAITING, tenant):
        found[row["chain"]].append((row["first_seq"], row["last_seq"]))
    return found


def all_rows(conn: View, query: str, *values: Any) -> list[DictRow]:
    """Return the rows that a query gives."""
    return conn.execute(query.encode(), values).fetchall()


_MOVES = {
    DefinitionStatus.ACTIVE: DefinitionActivated.event,
    DefinitionStatus.RETIRED: DefinitionRetired.event,
}
_LIVES = """
    SELECT l.name, l.version, d.digest, l.run_id, l.status, l.changed_by
      FROM runbook_versions l JOIN definitions d USING (name, version) WHERE l.tenant = %s AND l.status <> 'draft'
"""


@dataclass
class TenantRows(ChainRows):
    """A tenant's chain, and by their names the digests of the records that its acts are about.

    `of_others` are names of records that all tenants share, and that another tenant's chain has.
    """

    records: dict[str, str] = field(default_factory=dict)
    of_others: set[str] = field(default_factory=set)


def tenant_rows(conn: View, tenant: str) -> TenantRows:
    """Return the tenant's chain with all that is to be compared."""
    chain = chain_of(tenant)
    ends = all_rows(conn, "SELECT audit_seq, audit_hash FROM tenants WHERE tenant = %s", tenant)
    rows = TenantRows(chain, **ends[0]) if ends else TenantRows(chain, GENESIS.seq, GENESIS.hash)
    for row in all_rows(conn, "SELECT seq, hash, leaf FROM tenant_leaves WHERE tenant = %s ORDER BY seq", tenant):
        rows.leaves.append((row["seq"], row["hash"].hex(), row["leaf"]))
    for row in all_rows(conn, "SELECT first_seq, count FROM log_entries WHERE chain = %s", chain):
        rows.placed.append((row["first_seq"], row["first_seq"] + row["count"] - 1))
    rows.waiting += pending(conn, tenant).get(chain, ())
    rows.records.update(_records(conn, tenant))
    rows.of_others.update(_of_others(conn, tenant))
    return rows


def _records(conn: View, tenant: str) -> Iterator[tuple[str, str]]:
    for row in all_rows(conn, "SELECT name, version, canonical FROM definitions"):
        yield definition_name(row["name"], row["version"]), hashlib.sha256(row["canonical"]).hexdigest()
    yield from _policies(conn)
    for row in all_rows(conn, "SELECT key_id, entry FROM signing_keys WHERE tenant = %s", tenant):
        yield key_name(row["key_id"]), canonical.digest(row["entry"])
    for row in all_rows(conn, "SELECT version, digest FROM directories WHERE tenant = %s", tenant):
        read = (all_rows(conn, query, tenant) for query in (ACTORS, ACCOUNTS, SETTINGS))
        rows = rows_digest(*read)
        yield from directory_record({**row, "rows": rows}).items()
    for row in all_rows(conn, _LIVES, tenant):
        said = {name: row[name] for name in ("name", "version", "digest", "run_id")}
        yield from life_record(_MOVES[DefinitionStatus(row["status"])], said, row["changed_by"]).items()
    for row in all_rows(conn, "SELECT * FROM evidence_holds WHERE tenant = %s", tenant):
        said = {name: row[name] for name in ("hold_id", "kind", "subject")}
        yield from act_record(HoldSet, {**said, "reason": row["reason"]}, row["set_by"]).items()
        if row["lifted_at"] is not None:
            lifted = {**said, "reason": row["lifted_reason"]}
            yield from act_record(HoldLifted, lifted, row["lifted_by"]).items()
    yield from _lists(conn, tenant)
    for row in all_rows(conn, "SELECT * FROM delegations WHERE tenant = %s", tenant):
        said = delegation_of(row).said()
        yield from act_record(DelegationRecorded, said, row["recorded_by"]).items()
        if row["ended_at"] is not None:
            ended = {"delegation_id": row["delegation_id"], "reason": row["ended_reason"]}
            yield from act_record(DelegationEnded, ended, row["ended_by"]).items()
    yield from _installations(conn, tenant)


def _lists(conn: View, tenant: str) -> Iterator[tuple[str, str]]:
    for row in all_rows(conn, "SELECT * FROM run_lists WHERE tenant = %s", tenant):
        named = {"list_id": row["list_id"], "name": row["name"]}
        found = {"filters": row["filters"], "runs": len(row["run_ids"]), "sha256": digest_of_ids(row["run_ids"])}
        yield from act_record(RunListSaved, {**named, **found}, row["saved_by"]).items()
        if row["deleted_at"] is not None:
            yield from act_record(RunListDeleted, named, row["deleted_by"]).items()


def _policies(conn: View) -> Iterator[tuple[str, str]]:
    for row in all_rows(conn, "SELECT digest, files FROM policy_texts"):
        yield policy_name(row["digest"]), canonical.digest(row["files"])
    # rows that somebody changed may say what no act can, and are compared all the same
    for row in all_rows(conn, POLICY_VERSIONS):
        yield from PolicyProposed.model_construct(**said_of_version(row)).record.items()
    for row in all_rows(conn, POLICY_ACTIVATIONS):
        yield from PolicyActivated.model_construct(**row).record.items()


def _installations(conn: View, tenant: str) -> Iterator[tuple[str, str]]:
    for row in all_rows(conn, "SELECT * FROM slack_installations WHERE tenant = %s", tenant):
        said = {name: row[name] for name in SlackInstalled.model_fields}
        yield from act_record(SlackInstalled, said, row["installed_by"]).items()
        if row["removed_at"] is not None:
            removed = {"installation_id": row["installation_id"], "why": row["removed_why"]}
            yield from act_record(SlackRemoved, removed, PROGRAM.id).items()
    yield from _passkeys(conn, tenant)


def _passkeys(conn: View, tenant: str) -> Iterator[tuple[str, str]]:
    for row in all_rows(conn, "SELECT * FROM passkeys WHERE tenant = %s", tenant):
        yield from act_record(PasskeyRegistered, passkey_of(row).said(), row["person"]).items()
        if row["revoked_at"] is not None:
            revoked = {"credential_id": row["credential_id"], "person": row["person"], "reason": row["revoked_reason"]}
            yield from act_record(PasskeyRevoked, revoked, row["revoked_by"]).items()


def _of_others(conn: View, tenant: str) -> list[str]:
    """Return the definitions and policies that other tenants' chains name."""
    query = """
        SELECT once FROM tenant_leaves
         WHERE tenant <> %s AND (once LIKE 'definition %%' OR once LIKE 'policy %%')
    """
    return [row["once"] for row in all_rows(conn, query, tenant)]
