"""The declared tables (design, section 7). Every invariant that the database can hold, it holds here.

Documents whose digest matters are `json`, not `jsonb`: the text is kept as it was written.
"""

from runtime.store.schema.approval_tables import approvals, edits, marks, questions, refusals, votes
from runtime.store.schema.base import insert_only, metadata, rights_of
from runtime.store.schema.definition_tables import definitions, entities, entity_changes, tenant_leaves, tenants
from runtime.store.schema.evidence_tables import (
    audit_leaves,
    evidence_bundles,
    evidence_held,
    evidence_holds,
    policy_decisions,
    policy_texts,
    reads,
    receipts,
    signing_keys,
)
from runtime.store.schema.log_tables import (
    log_checkpoints,
    log_entries,
    log_heads,
    log_leases,
    log_pending,
    log_stamps,
    log_tiles,
)
from runtime.store.schema.people_tables import (
    actors,
    delegations,
    directories,
    gatherings,
    passkey_links,
    passkeys,
    slack_absentees,
    slack_accounts,
    slack_installations,
    slack_links,
    slack_states,
    slack_tokens,
    told,
)
from runtime.store.schema.run_tables import breakers, effects, notifications, runs, steps, waits

__all__ = [
    "INSERT_ONLY",
    "actors",
    "approvals",
    "audit_leaves",
    "breakers",
    "definitions",
    "delegations",
    "directories",
    "edits",
    "effects",
    "entities",
    "entity_changes",
    "evidence_bundles",
    "evidence_held",
    "evidence_holds",
    "gatherings",
    "log_checkpoints",
    "log_entries",
    "log_heads",
    "log_leases",
    "log_pending",
    "log_stamps",
    "log_tiles",
    "marks",
    "metadata",
    "notifications",
    "passkey_links",
    "passkeys",
    "policy_decisions",
    "policy_texts",
    "questions",
    "reads",
    "receipts",
    "refusals",
    "rights_of",
    "runs",
    "signing_keys",
    "slack_absentees",
    "slack_accounts",
    "slack_installations",
    "slack_links",
    "slack_states",
    "slack_tokens",
    "steps",
    "tenant_leaves",
    "tenants",
    "told",
    "votes",
    "waits",
]

INSERT_ONLY = tuple(name for name, table in metadata.tables.items() if table.info == insert_only(*rights_of(table)))
"""The tables of proof."""
