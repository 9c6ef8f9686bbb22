"""Definitions, and tenants with their own chains."""

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
)

from receipts.chain import GENESIS
from runtime.store.tables.base import document, flag, metadata, moment, number, words

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
)


tenants = Table(
    "tenants",
    metadata,
    words("tenant", primary_key=True),
    words("salt"),  # of the commitments that stand in for redacted values; never in evidence
    flag("mocked"),  # its runs are on mocks, all of them, or none
    number("audit_seq", 0),  # of the last leaf of its own chain
    words("audit_hash", server_default=GENESIS.hash),  # … and that leaf's hash
)


# what belongs to no run, in the form of `audit_leaves`
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
)
