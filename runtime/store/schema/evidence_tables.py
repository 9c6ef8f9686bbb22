"""Tables of evidence: what proves what happened, signing keys, bundles, and legal holds on bundles.

Policy texts, decisions, receipts, reads and audit leaves are proof: no row of them changes. They are written by whoever
holds the rows of run and effect that they name, and need no foreign key to them.
"""

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from runtime.model.states import BundleStatus
from runtime.store.schema.base import (
    document,
    flag,
    insert_only,
    kept,
    metadata,
    moment,
    number,
    one_of,
    partial,
    words,
)

# The exact text of each policy that ever decided, by its digest.
policy_texts = Table(
    "policy_texts",
    metadata,
    words("digest", primary_key=True),
    document("files"),
    moment("first_seen"),
    info=insert_only(),
)


# Each decision of policy: question, answer, OPA's decision id, digest of the policy's text.
policy_decisions = Table(
    "policy_decisions",
    metadata,
    words("decision_id"),
    words("run_id"),
    words("effect_id"),
    number("seq"),  # of the audit leaf that names it
    words("outcome"),
    document("document"),
    Column("policy_digest", Text, ForeignKey("policy_texts.digest"), nullable=False),
    moment("at"),
    PrimaryKeyConstraint("run_id", "seq"),
    CheckConstraint("outcome IN ('allow', 'deny', 'needs_approval')", name="outcome"),
    info=insert_only(),
)


# What was attempted and what happened: one receipt for each attempt, failure and refusal. A key has one success.
receipts = Table(
    "receipts",
    metadata,
    words("receipt_id"),
    words("run_id"),
    words("tenant"),
    words("effect_id"),
    number("seq"),  # of the audit leaf that names it
    words("idempotency_key"),
    words("fingerprint"),
    words("outcome"),
    document("document"),
    document("response", nullable=True),  # what a repeat is answered with; not part of the evidence
    moment("at"),
    CheckConstraint("outcome IN ('success', 'failure', 'refusal', 'in_doubt')", name="outcome"),
    PrimaryKeyConstraint("run_id", "seq"),
    partial("uq_receipts_success", "tenant", "idempotency_key", where="outcome = 'success'", unique=True),
    info=insert_only(),
)


# What an attempt at a read asked for, got, used and cost.
reads = Table(
    "reads",
    metadata,
    words("run_id"),
    number("seq"),  # of the audit leaf that names it
    words("step"),
    number("attempt"),  # the lease's: a worker that lost its lease writes none
    words("outcome"),
    document("document"),
    PrimaryKeyConstraint("run_id", "seq"),
    ForeignKeyConstraint(["run_id", "step"], ["steps.run_id", "steps.path"]),
    UniqueConstraint("run_id", "step", "attempt"),
    CheckConstraint("outcome IN ('success', 'failure')", name="outcome"),
    info=insert_only(),
)


# A run's audit chain: state changes, each with the hash of what precedes it. A row has those of one transaction.
leaf_sets = Table(
    "leaf_sets",
    metadata,
    words("run_id"),
    number("first_seq"),
    moment("at"),
    words("request_id", nullable=True),
    Column("hashes", LargeBinary, nullable=False),
    document("leaves"),  # what each says beside the columns, and its place in the chain
    PrimaryKeyConstraint("run_id", "first_seq"),
    CheckConstraint("first_seq >= 1", name="first_seq"),
    CheckConstraint("length(hashes) >= 32 AND length(hashes) = 32 * json_array_length(leaves)", name="hashes"),
    info=insert_only(),
)


# A run's bundle: status, SHA-256, size, location, retention; tries and the last error until it is stored.
evidence_bundles = Table(
    "evidence_bundles",
    metadata,
    Column("run_id", Text, ForeignKey("runs.run_id"), primary_key=True),
    words("status", server_default="sealing"),
    number("sealed_seq"),  # the last leaf inside; what comes later is about the bundle itself
    Column("sha256", String(64), nullable=True),
    Column("size", BigInteger, nullable=True),
    words("location", nullable=True),
    words("version_id", nullable=True),
    moment("retention_until", nullable=True),
    moment("created_at"),
    moment("next_try_at"),
    moment("stored_at", nullable=True),
    words("key_id"),  # of the key that seals it
    Column("log_size", BigInteger, nullable=True),  # of the log whose checkpoint proves its leaves, once that is signed
    flag("log_stamped"),  # that checkpoint's time stamp is inside
    Column("retain_days", Integer, nullable=True),  # as the definition wants it; None for what the archive gives
    number("file_number", 1),  # from the second on, part of its name in the archive
    number("tries", 0),  # to build and store it
    number("faults", 0),  # of our own, among the tries
    words("error", server_default=""),  # of the last try
    words("in_the_way", nullable=True),  # where the archive has what took its name, if that is why it is stuck
    # how many cards each approval had when the sealing began
    Column("sealed_cards", JSON, nullable=False, server_default=text("'{}'")),
    one_of("status", BundleStatus),
    CheckConstraint(
        "(status = 'stored') = (stored_at IS NOT NULL) AND (stored_at IS NULL) = (sha256 IS NULL)", name="stored"
    ),
    CheckConstraint("retain_days >= 1", name="retain_days"),
    partial("ix_evidence_bundles_open", "next_try_at", where="status = 'sealing'"),
    partial("ix_evidence_bundles_unstored", "run_id", where="stored_at IS NULL"),
    info=kept(
        "status",
        "sha256",
        "size",
        "location",
        "version_id",
        "retention_until",
        "next_try_at",
        "stored_at",
        "log_size",
        "log_stamped",
        "file_number",
        "tries",
        "faults",
        "error",
        "in_the_way",
    ),
)


# The register of keys that seal: since when, until when, revoked or not; a later key signs each entry.
signing_keys = Table(
    "signing_keys",
    metadata,
    Column("tenant", Text, ForeignKey("tenants.tenant"), nullable=False),
    number("number"),  # from 1, in the order in which they came to sign
    words("key_id"),
    document("entry"),
    PrimaryKeyConstraint("tenant", "number"),
    UniqueConstraint("tenant", "key_id"),
    info=kept("entry"),
)


# Legal holds: on which run or reference, by whom and why; who lifted it.
evidence_holds = Table(
    "evidence_holds",
    metadata,
    words("hold_id", primary_key=True),
    Column("tenant", Text, ForeignKey("tenants.tenant"), nullable=False),
    words("kind"),  # of what `subject` is: the id of a run, or the reference under which runs were triggered
    words("subject"),
    words("reason"),
    words("set_by"),
    moment("set_at"),
    words("lifted_reason", nullable=True),
    words("lifted_by", nullable=True),
    moment("lifted_at", nullable=True),
    CheckConstraint("kind IN ('run', 'reference')", name="kind"),
    CheckConstraint(
        "(lifted_at IS NULL) = (lifted_by IS NULL) AND (lifted_at IS NULL) = (lifted_reason IS NULL)", name="lifted"
    ),
    # what holds is asked about at every sealing
    partial("uq_evidence_holds_open", "tenant", "subject", "kind", where="lifted_at IS NULL", unique=True),
    info=kept("lifted_reason", "lifted_by", "lifted_at"),
)


# Stored bundles that a legal hold has named, and how far the archive has been told.
evidence_held = Table(
    "evidence_held",
    metadata,
    Column("run_id", Text, ForeignKey("evidence_bundles.run_id"), primary_key=True),
    number("acts", 1),  # how often a hold was set on it, or lifted from it
    number("told", 0),  # how many of these acts the archive has carried out
    flag("is_held"),  # there, as it was seen after the last of them
    number("tries", 0),  # to tell it of those that are left
    words("error", server_default=""),  # of the last try
    moment("next_try_at"),
    CheckConstraint("told <= acts", name="told"),
    partial("ix_evidence_held_due", "next_try_at", where="told < acts"),
    info=kept("acts", "told", "is_held", "tries", "error", "next_try_at"),
)
