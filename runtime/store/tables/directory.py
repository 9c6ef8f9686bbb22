"""People, agents and their Slack accounts, and which version of the directory is loaded."""

from sqlalchemy import (
    CheckConstraint,
    ForeignKeyConstraint,
    PrimaryKeyConstraint,
    Table,
)

from runtime.store.tables.base import document, metadata, moment, number, words

directories = Table(
    "directories",
    metadata,
    words("tenant", primary_key=True),
    number("version"),  # of the file that was loaded last; 0 where it names none
    words("digest"),  # SHA-256 of what it says
    moment("loaded_at"),
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
