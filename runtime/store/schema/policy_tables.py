"""Tables of policies: their versions, which of them came into force when, and the shadows of candidates."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

from runtime.store.schema.base import document, insert_only, kept, metadata, moment, partial, words

# A version of the policy, as it was proposed: all tenants of the database share it. Without any the database is for
# development, and decides by what OPA serves.
policy_versions = Table(
    "policy_versions",
    metadata,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("digest", Text, ForeignKey("policy_texts.digest"), nullable=False, unique=True),
    Column("bundle", LargeBinary, nullable=False),  # signed, as OPA takes it
    words("tenant"),  # in which its activation is signed
    words("author"),
    words("comment"),
    document("rules"),  # of its text, by title and place: for comparison without OPA
    document("report", nullable=True),  # of its backtest; null for the version that came with the installation
    moment("proposed_at"),
    CheckConstraint("version >= 1", name="version"),
    info=insert_only(),
)


# Each activation of a version, in order: the last one says which version is in force (`policy_in_force`).
policy_activations = Table(
    "policy_activations",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("version", Integer, ForeignKey("policy_versions.version"), nullable=False),
    Column("replaces", Integer, ForeignKey("policy_versions.version"), nullable=True),  # null for the first one
    words("activated_by"),
    words("run_id", nullable=True),  # that asked policy and people; no foreign key: it would wait for the run's lock
    moment("activated_at"),
    CheckConstraint("number >= 1 AND (number = 1) = (replaces IS NULL)", name="number"),
    CheckConstraint("(number = 1) = (run_id IS NULL)", name="run_id"),  # all but the first one are signed in a run
    partial("uq_policy_activations_run_id", "run_id", where="run_id IS NOT NULL", unique=True),
    info=insert_only(),
)


# A window of a candidate policy: its digest, the range of the tenant's log that it was asked about, decisions by class.
policy_shadows = Table(
    "policy_shadows",
    metadata,
    words("shadow_id", primary_key=True),
    Column("tenant", Text, ForeignKey("tenants.tenant"), nullable=False),
    Column("candidate", String(64), nullable=False),
    moment("began_at"),
    moment("ended_at", nullable=True),
    Column("first_place", BigInteger, nullable=False),  # in the log; decisions before it are of no concern
    Column("next_place", BigInteger, nullable=False),  # those before it have been asked
    document("counts", default="{}"),  # decisions by their class
    CheckConstraint("next_place >= first_place", name="next_place"),
    partial("uq_policy_shadows_open", "tenant", where="ended_at IS NULL", unique=True),
    info=kept("ended_at", "next_place", "counts"),
)


# A decision that a candidate would change: the first ones of each class of a window.
shadow_differences = Table(
    "shadow_differences",
    metadata,
    Column("shadow_id", Text, ForeignKey("policy_shadows.shadow_id"), nullable=False),
    words("decision_id"),
    words("kind"),
    document("document"),
    PrimaryKeyConstraint("shadow_id", "decision_id"),
    info=insert_only(),
)
