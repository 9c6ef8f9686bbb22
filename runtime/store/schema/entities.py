"""Business entities that packs declare, and what was done to them under which key."""

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, PrimaryKeyConstraint, Table, UniqueConstraint

from runtime.store.schema.base import document, flag, insert_only, kept, metadata, number, words

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
