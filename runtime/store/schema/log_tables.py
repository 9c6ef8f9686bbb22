"""Tables of the log: the order of leaves in each tenant's Merkle log."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
)

from runtime.store.schema.base import insert_only, kept, metadata, moment, number, words, working
from runtime.store.schema.role_names import DIRECTORY

# Leaves that a transaction wrote and that have no place in the log yet: their hashes, by chain.
log_pending = Table(
    "log_pending",
    metadata,
    words("tenant"),
    words("chain"),  # the run, or the id of the tenant's own
    number("first_seq"),
    Column("hashes", LargeBinary, nullable=False),
    CheckConstraint("first_seq >= 1", name="first_seq"),
    CheckConstraint("length(hashes) >= 32 AND length(hashes) % 32 = 0", name="hashes"),
    info=working(added_by=(DIRECTORY,)),
)


# Where leaves stand in the tenant's Merkle log: so many leaves of a chain, from an index on.
log_entries = Table(
    "log_entries",
    metadata,
    words("tenant"),
    Column("first_index", BigInteger, nullable=False),
    number("count"),
    words("chain"),
    number("first_seq"),
    PrimaryKeyConstraint("tenant", "first_index"),
    UniqueConstraint("chain", "first_seq"),
    CheckConstraint("count >= 1", name="count"),
    info=insert_only(),
)


# How far the log has grown: its size, and the hashes of its compact range.
log_heads = Table(
    "log_heads",
    metadata,
    Column("tenant", Text, ForeignKey("tenants.tenant"), primary_key=True),
    Column("size", BigInteger, nullable=False),
    Column("hashes", LargeBinary, nullable=False),
    CheckConstraint("size >= 0", name="size"),
    info=kept("tenant", "size", "hashes"),
)


# The log's hashes of every eighth level, in tiles of 256. The last tile of each level grows.
log_tiles = Table(
    "log_tiles",
    metadata,
    words("tenant"),
    number("level"),
    Column("number", BigInteger, nullable=False),
    Column("hashes", LargeBinary, nullable=False),
    PrimaryKeyConstraint("tenant", "level", "number"),
    CheckConstraint("length(hashes) BETWEEN 32 AND 8192 AND length(hashes) % 32 = 0", name="hashes"),
    info=kept("tenant", "level", "number", "hashes"),
)


# Checkpoints: what was signed of the log, and what of it is published.
log_checkpoints = Table(
    "log_checkpoints",
    metadata,
    Column("tenant", Text, ForeignKey("tenants.tenant"), nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("root", LargeBinary, nullable=False),
    words("note"),
    moment("signed_at"),
    moment("published_at", nullable=True),
    PrimaryKeyConstraint("tenant", "size"),
    CheckConstraint("length(root) = 32", name="root"),
    info=kept("published_at"),
)


# Time stamps of checkpoints by a time stamping authority (RFC 3161).
log_stamps = Table(
    "log_stamps",
    metadata,
    words("tenant"),
    Column("size", BigInteger, nullable=False),
    Column("stamp", LargeBinary, nullable=False),  # DER of a TimeStampResp (RFC 3161)
    moment("asked_at"),  # by our clock; the authority's time stands in the stamp
    moment("published_at", nullable=True),
    PrimaryKeyConstraint("tenant", "size"),
    ForeignKeyConstraint(["tenant", "size"], ["log_checkpoints.tenant", "log_checkpoints.size"]),
    CheckConstraint("length(stamp) <= 65536", name="stamp"),
    info=kept("published_at"),
)


# Which process signs and publishes the log now.
log_leases = Table(
    "log_leases",
    metadata,
    Column("tenant", Text, ForeignKey("tenants.tenant"), primary_key=True),
    moment("until"),
    words("fault", server_default=""),  # why the last one could not, and no further try can; "" once one has
    info=working(),
)
