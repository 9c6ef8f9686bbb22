"""Circuit breakers of connectors and targets."""

from sqlalchemy import CheckConstraint, PrimaryKeyConstraint, Table

from runtime.store.schema.base import metadata, moment, number, words, working

breakers = Table(
    "breakers",
    metadata,
    words("tenant"),
    words("connector"),
    words("target"),  # "" for the connector as a whole
    number("failures"),  # in a row
    moment("failed_at"),
    moment("open_until", nullable=True),  # left alone until then, and after it tried with one call at a time
    PrimaryKeyConstraint("tenant", "connector", "target"),
    CheckConstraint("failures >= 0", name="failures"),
    info=working(),
)
