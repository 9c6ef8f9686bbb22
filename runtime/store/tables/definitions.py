"""Definitions, and tenants."""

from sqlalchemy import (
    CheckConstraint,
    Column,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
)

from runtime.store.tables.base import metadata, moment, number, words

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
)
