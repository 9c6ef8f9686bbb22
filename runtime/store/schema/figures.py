"""What figures are made of, beside what is on record."""

from sqlalchemy import Column, ForeignKey, PrimaryKeyConstraint, Table, Text

from runtime.model.figures import Mark
from runtime.store.schema.base import metadata, moment, one_of, words, working

marks = Table(
    "marks",
    metadata,
    Column("approval_id", Text, ForeignKey("approvals.approval_id"), nullable=False),
    words("mark"),
    words("who"),  # looked, each person once; else the moment of the wait that it was
    moment("at"),
    PrimaryKeyConstraint("approval_id", "mark", "who"),
    one_of("mark", Mark),
    info=working(),
)
