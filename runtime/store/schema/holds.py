"""Legal holds, and the bundles that the archive was told to hold for them."""

from sqlalchemy import CheckConstraint, Column, ForeignKey, Table, Text

from runtime.store.schema.base import flag, kept, metadata, moment, number, partial, words

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


# a stored bundle that any hold has named, and how far the archive has been told
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
