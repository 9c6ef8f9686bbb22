"""What people were told directly, and what was gathered because it was too much: working tables, no records."""

from sqlalchemy import CheckConstraint, Column, ForeignKey, Index, PrimaryKeyConstraint, Table, Text

from runtime.store.schema.base import document, flag, metadata, moment, words, working

# one message for much that was said to somebody within an hour
gatherings = Table(
    "gatherings",
    metadata,
    words("gathering_id", primary_key=True),
    words("tenant"),
    words("account"),  # of Slack, that is told
    words("poster"),  # key of the message that posts it
    moment("begun_at"),
    words("channel", nullable=True),
    words("ts", nullable=True),  # of Slack's message, once it is posted
    CheckConstraint("(channel IS NULL) = (ts IS NULL)", name="posted"),
    Index("ix_gatherings_begun", "tenant", "account", "begun_at"),
    info=working(),
)


# each message to somebody who is not told more than so often; rows are kept for a month; and for a day each
# private answer, by the digest of what it answers and says: deliveries of one click are answered once
told = Table(
    "told",
    metadata,
    words("tenant"),
    words("message"),  # its idempotency key
    words("account"),
    moment("at"),
    Column("gathering_id", Text, ForeignKey("gatherings.gathering_id", ondelete="CASCADE")),  # NULL: said by itself
    document("said"),
    words("card_of", nullable=True),  # the approval that it is about
    flag("asks"),  # the person to decide that
    PrimaryKeyConstraint("tenant", "message"),
    Index("ix_told_at", "tenant", "account", "at"),
    Index("ix_told_gathering", "gathering_id"),
    info=working(),
)
