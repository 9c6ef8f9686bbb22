"""People, agents and their Slack accounts, which version of the directory is loaded, and who stands in for whom."""

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    PrimaryKeyConstraint,
    Table,
    Text,
)

from runtime.store.tables.base import document, metadata, moment, number, partial, words

directories = Table(
    "directories",
    metadata,
    words("tenant", primary_key=True),
    number("version"),  # of the file that was loaded last; 0 where it names none
    words("digest"),  # SHA-256 of what it says
    moment("loaded_at"),
    document("remind", default="{}"),  # when those are reminded who are asked, where nothing else says it
    CheckConstraint("version >= 0", name="version"),
)


actors = Table(
    "actors",
    metadata,
    words("tenant"),
    words("actor_id"),
    words("kind"),
    words("name"),
    document("groups"),
    document("grants"),  # what an agent may do at the edge
    document("notices", default="{}"),  # how a person is told: quiet hours, how often
    PrimaryKeyConstraint("tenant", "actor_id"),
    CheckConstraint("kind IN ('person', 'agent')", name="kind"),
)


slack_accounts = Table(
    "slack_accounts",
    metadata,
    words("tenant"),
    words("team"),
    words("account"),
    words("actor_id"),
    # two people behind one account is a state to refuse, not to forbid: the click must be answered
    PrimaryKeyConstraint("team", "account", "tenant", "actor_id"),
    ForeignKeyConstraint(["tenant", "actor_id"], ["actors.tenant", "actors.actor_id"], ondelete="CASCADE"),
)


# who votes for whom; the directory is replaced as a whole, so no row here refers to it
delegations = Table(
    "delegations",
    metadata,
    words("delegation_id", primary_key=True),
    Column("tenant", Text, ForeignKey("tenants.tenant"), nullable=False),
    words("delegator"),
    words("delegate"),
    document("groups"),  # of the delegator's, those in which the delegate votes for them
    moment("starts_at"),
    moment("ends_at"),
    words("recorded_by"),
    words("reason"),
    moment("recorded_at"),
    moment("ended_at", nullable=True),  # before its time, on somebody's word
    words("ended_by", nullable=True),
    words("ended_reason", nullable=True),
    CheckConstraint("delegate NOT IN (delegator, recorded_by)", name="of_two"),
    CheckConstraint("starts_at < ends_at", name="lasts"),
    CheckConstraint(
        "(ended_at IS NULL) = (ended_by IS NULL) AND (ended_at IS NULL) = (ended_reason IS NULL)", name="ended"
    ),
    partial("ix_delegations_delegate", "tenant", "delegate", where="ended_at IS NULL"),
)
