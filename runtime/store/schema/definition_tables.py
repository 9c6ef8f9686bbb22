"""Tables of definitions, of tenants with their chains, and of the business entities that packs declare."""

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
)

from receipts.chain import GENESIS
from runtime.model.states import DefinitionStatus
from runtime.store.schema.base import document, flag, insert_only, kept, metadata, moment, number, one_of, words
from runtime.store.schema.role_names import DIRECTORY, PROGRAM

# Canonical JSON of each version of a runbook, and its digest.
definitions = Table(
    "definitions",
    metadata,
    words("name"),
    number("version"),
    words("digest"),
    Column("canonical", LargeBinary, nullable=False),
    moment("created_at"),
    PrimaryKeyConstraint("name", "version"),
    CheckConstraint("version >= 1", name="version"),
    info=insert_only(),
)


# A tenant: the salt behind commitments to redacted values, whether its runs are on mocks, the head of its own chain.
tenants = Table(
    "tenants",
    metadata,
    words("tenant", primary_key=True),
    words("salt"),  # of the commitments that stand in for redacted values; never in evidence
    flag("mocked"),  # its runs are on mocks, all of them, or none
    number("audit_seq", 0),  # of the last leaf of its own chain
    words("audit_hash", server_default=GENESIS.hash),  # … and that leaf's hash
    info=kept("audit_seq", "audit_hash", by=(PROGRAM, DIRECTORY)),
)


# Where a version stands in a tenant: draft, active or retired; who moved it last, and in which run. Each move is on
# record in the tenant's chain.
runbook_versions = Table(
    "runbook_versions",
    metadata,
    Column("tenant", Text, ForeignKey("tenants.tenant"), nullable=False),
    words("name"),
    number("version"),
    words("trigger_type"),  # as the definition has it
    words("trigger_when", nullable=True),  # … and its condition; null where it takes each trigger of the type
    words("status"),
    words("changed_by", nullable=True),  # the actor behind the last move; None for a draft that never moved
    # the run that asked policy, and people, for the last move; None for what came active at a start
    Column("run_id", Text, ForeignKey("runs.run_id")),
    moment("arrived_at"),
    moment("changed_at"),
    PrimaryKeyConstraint("tenant", "name", "version"),
    ForeignKeyConstraint(["name", "version"], ["definitions.name", "definitions.version"]),
    one_of("status", DefinitionStatus),
    # only what nobody has moved yet is nobody's
    CheckConstraint("(status = 'draft') = (changed_by IS NULL)", name="changed_by"),
    Index("ix_runbook_versions_trigger", "tenant", "trigger_type"),  # every trigger asks what it starts
    info=kept("trigger_when", "status", "changed_by", "run_id", "changed_at"),
)


# The tenant's own audit chain: acts that belong to no run, each leaf in a row of its own.
tenant_leaves = Table(
    "tenant_leaves",
    metadata,
    Column("tenant", Text, ForeignKey("tenants.tenant"), nullable=False),
    number("seq"),
    Column("hash", LargeBinary, nullable=False),
    document("leaf"),
    words("once", nullable=True),  # what the leaf says and no other may say again
    PrimaryKeyConstraint("tenant", "seq"),
    UniqueConstraint("tenant", "once"),
    CheckConstraint("seq >= 1", name="seq"),
    CheckConstraint("length(hash) = 32", name="hash"),
    info=insert_only(PROGRAM, DIRECTORY),
)


# Business entities that packs declare: version, fields, and the mark of a deleted one.
entities = Table(
    "entities",
    metadata,
    words("tenant"),
    words("entity"),  # its kind, as a pack declares it
    words("entity_id"),
    number("version"),  # counts its changes
    flag("deleted"),  # nothing is deleted but by this mark
    document("fields"),
    PrimaryKeyConstraint("tenant", "entity", "entity_id"),
    ForeignKeyConstraint(["tenant"], ["tenants.tenant"]),
    CheckConstraint("version >= 1", name="version"),
    info=kept("version", "deleted", "fields"),
)

# What was done to an entity, under which idempotency key, and what was answered.
entity_changes = Table(
    "entity_changes",
    metadata,
    words("tenant"),
    words("idempotency_key"),  # under which it was done, once
    words("entity"),
    words("entity_id"),
    number("version"),  # that it made, which nothing else has made
    words("digest"),  # of what was asked
    document("result"),  # what was answered
    PrimaryKeyConstraint("tenant", "idempotency_key"),
    UniqueConstraint("tenant", "entity", "entity_id", "version"),
    ForeignKeyConstraint(
        ["tenant", "entity", "entity_id"], ["entities.tenant", "entities.entity", "entities.entity_id"]
    ),
    info=insert_only(),
)
