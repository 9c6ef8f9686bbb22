"""Lists of runs that people save under a name: the filters, and the ids that they found then."""

from sqlalchemy import CheckConstraint, Column, ForeignKey, Table, Text

from runtime.store.schema.base import document, kept, metadata, moment, partial, words

# A list of runs under a name: its filters and the ids that they found when it was saved, the newest run first. Both are
# on record in the tenant's chain. What was deleted stays here.
run_lists = Table(
    "run_lists",
    metadata,
    words("list_id", primary_key=True),
    Column("tenant", Text, ForeignKey("tenants.tenant"), nullable=False),
    words("name"),
    document("filters"),
    document("run_ids"),
    words("saved_by"),
    moment("saved_at"),
    words("deleted_by", nullable=True),
    moment("deleted_at", nullable=True),
    CheckConstraint("(deleted_by IS NULL) = (deleted_at IS NULL)", name="deleted"),
    partial("uq_run_lists_name", "tenant", "name", where="deleted_at IS NULL", unique=True),
    info=kept("deleted_by", "deleted_at"),
)
