"""What an audit reads of a tenant's own chain, in the same view as of its runs."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from receipts import canonical
from receipts.chain import GENESIS, PROGRAM
from receipts.passkeys import PasskeyRegistered, PasskeyRevoked, passkey_record
from receipts.tenant_acts import (
    DefinitionActivated,
    DefinitionRetired,
    DelegationEnded,
    DelegationRecorded,
    HoldLifted,
    HoldSet,
    chain_of,
    definition_name,
    delegation_record,
    directory_record,
    hold_record,
    key_name,
    life_record,
    policy_name,
)
from receipts.workspaces import SlackInstalled, SlackRemoved, slack_record
from runtime.model.states import DefinitionStatus
from runtime.store.audit import ChainRows, View, all_rows, pending
from runtime.store.delegations import delegation_of
from runtime.store.passkeys import passkey_of
from runtime.store.tenant_existing import ACCOUNTS, ACTORS, SETTINGS, rows_digest

_MOVES = {
    DefinitionStatus.ACTIVE: DefinitionActivated.event,
    DefinitionStatus.RETIRED: DefinitionRetired.event,
}
_LIVES = """
    SELECT l.name, l.version, d.digest, l.run_id, l.status, l.changed_by
      FROM definition_lives l JOIN definitions d USING (name, version) WHERE l.tenant = %s AND l.status <> 'draft'
"""


@dataclass
class TenantRows(ChainRows):
    """A tenant's chain, and by their names the digests of the records that its acts are about.

    `of_others` are names of records that all tenants share, and that another tenant's chain has.
    """

    records: dict[str, str] = field(default_factory=dict)
    of_others: set[str] = field(default_factory=set)


def own(conn: View, tenant: str) -> TenantRows:
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
    for row in all_rows(conn, "SELECT digest, files FROM policy_texts"):
        yield policy_name(row["digest"]), canonical.digest(row["files"])
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
        yield from hold_record(HoldSet.event, {**said, "reason": row["reason"]}, row["set_by"]).items()
        if row["lifted_at"] is not None:
            lifted = {**said, "reason": row["lifted_reason"]}
            yield from hold_record(HoldLifted.event, lifted, row["lifted_by"]).items()
    for row in all_rows(conn, "SELECT * FROM delegations WHERE tenant = %s", tenant):
        said = delegation_of(row).said()
        yield from delegation_record(DelegationRecorded.event, said, row["recorded_by"]).items()
        if row["ended_at"] is not None:
            ended = {"delegation_id": row["delegation_id"], "reason": row["ended_reason"]}
            yield from delegation_record(DelegationEnded.event, ended, row["ended_by"]).items()
    yield from _installations(conn, tenant)


def _installations(conn: View, tenant: str) -> Iterator[tuple[str, str]]:
    for row in all_rows(conn, "SELECT * FROM slack_installations WHERE tenant = %s", tenant):
        said = {name: row[name] for name in SlackInstalled.model_fields}
        yield from slack_record(SlackInstalled.event, said, row["installed_by"]).items()
        if row["removed_at"] is not None:
            removed = {"installation_id": row["installation_id"], "why": row["removed_why"]}
            yield from slack_record(SlackRemoved.event, removed, PROGRAM.id).items()
    yield from _passkeys(conn, tenant)


def _passkeys(conn: View, tenant: str) -> Iterator[tuple[str, str]]:
    for row in all_rows(conn, "SELECT * FROM passkeys WHERE tenant = %s", tenant):
        yield from passkey_record(PasskeyRegistered.event, passkey_of(row).said(), row["person"]).items()
        if row["revoked_at"] is not None:
            revoked = {"credential_id": row["credential_id"], "person": row["person"], "reason": row["revoked_reason"]}
            yield from passkey_record(PasskeyRevoked.event, revoked, row["revoked_by"]).items()


def _of_others(conn: View, tenant: str) -> list[str]:
    """Return the definitions and policies that other tenants' chains name."""
    query = """
        SELECT once FROM tenant_leaves
         WHERE tenant <> %s AND (once LIKE 'definition %%' OR once LIKE 'policy %%')
    """
    return [row["once"] for row in all_rows(conn, query, tenant)]
