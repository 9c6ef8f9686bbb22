"""Tables of policy shadows: windows of candidate policies, and the differences found.

No decision reads them.
"""

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, PrimaryKeyConstraint, String, Table, Text

from runtime.store.schema.base import document, insert_only, kept, metadata, moment, partial, words

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
