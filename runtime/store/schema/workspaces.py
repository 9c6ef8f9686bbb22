"""Where the Slack app is installed: leave to install it, its installations, their tokens, and who has left."""

from sqlalchemy import CheckConstraint, Column, ForeignKey, LargeBinary, PrimaryKeyConstraint, Table, Text
from sqlalchemy import UniqueConstraint as Unique

from runtime.store.schema.base import document, kept, metadata, moment, partial, words, working


def _tenant() -> Column[str]:
    return Column("tenant", Text, ForeignKey("tenants.tenant"), nullable=False)


slack_links = Table(
    "slack_links",
    metadata,
    words("link_id", primary_key=True),
    _tenant(),
    words("secret_sha256"),  # of what the link says: who reads the table can't install by it
    words("made_by"),
    words("reason"),
    document("policy"),  # the decision that allowed it
    moment("made_at"),
    moment("expires_at"),
    moment("used_at", nullable=True),  # it serves one installation
    Unique("secret_sha256"),
    CheckConstraint("made_at < expires_at", name="lasts"),
    info=kept("used_at"),
)

slack_states = Table(
    "slack_states",
    metadata,
    words("state_sha256", primary_key=True),
    Column("link_id", Text, ForeignKey("slack_links.link_id"), nullable=False),
    moment("expires_at"),
    info=working(),
)

slack_installations = Table(
    "slack_installations",
    metadata,
    words("installation_id", primary_key=True),
    _tenant(),
    words("team"),  # "" where the app is installed for the whole organization
    words("enterprise"),  # the organization, "" for a workspace of none
    words("name"),
    words("app_id"),
    words("bot_user"),
    words("bot_id"),
    document("scopes"),
    Column("link_id", Text, ForeignKey("slack_links.link_id"), nullable=False),
    words("installed_by"),
    moment("installed_at"),
    moment("removed_at", nullable=True),
    words("removed_why", nullable=True),
    CheckConstraint("team <> '' OR enterprise <> ''", name="place"),
    CheckConstraint("(removed_at IS NULL) = (removed_why IS NULL)", name="removed"),
    CheckConstraint("removed_why IN ('app_uninstalled', 'tokens_revoked', 'installed_again')", name="removed_why"),
    # a workspace is one tenant's
    partial("uq_slack_installations_team", "team", where="removed_at IS NULL AND team <> ''", unique=True),
    partial("uq_slack_installations_enterprise", "enterprise", where="removed_at IS NULL AND team = ''", unique=True),
    info=kept("removed_at", "removed_why"),
)

slack_tokens = Table(
    "slack_tokens",
    metadata,
    Column("installation_id", Text, ForeignKey("slack_installations.installation_id"), primary_key=True),
    words("key_id"),  # of the key that it is encrypted with
    Column("token", LargeBinary, nullable=False),
    moment("expires_at", nullable=True),  # None: never
    moment("refreshing_until", nullable=True),  # somebody is getting another one
    info=working(),
)

slack_absentees = Table(
    "slack_absentees",
    metadata,
    _tenant(),
    words("team"),
    words("account"),
    moment("since"),
    PrimaryKeyConstraint("tenant", "team", "account"),
    info=working(),
)
