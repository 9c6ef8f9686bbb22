"""Requests that were edited and resubmitted."""

from sqlalchemy import CheckConstraint, Column, ForeignKey, Index, Integer, Table, Text

from runtime.store.schema.base import document, insert_only, metadata, moment, run_id, words

edits = Table(
    "edits",
    metadata,
    Column("approval_id", Text, ForeignKey("approvals.approval_id"), primary_key=True),  # that it voided
    run_id(),
    Column("effect_id", Text, ForeignKey("effects.effect_id"), nullable=False),
    Column("seq", Integer, nullable=False),  # of its leaf in the run's chain
    words("person"),
    words("person_name"),
    document("groups"),
    words("reason"),
    words("team"),
    words("account"),
    words("replaced"),  # digest of the action as it was
    words("digest"),  # and as it is since
    document("changes"),  # by param, before and after
    Column("notification_id", Text, ForeignKey("notifications.notification_id"), nullable=False),
    moment("at"),
    CheckConstraint("digest <> replaced", name="another"),
    Index("ix_edits_effect_id", "effect_id"),
    info=insert_only(),
)
