"""Tables of people: directory, accounts, delegations, passkeys, console, Slack installations, direct messages.

The tables of direct messages hold working data, not records: their rows are deleted after a while.
"""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
)
from sqlalchemy import UniqueConstraint as Unique

from runtime.model.passkey import LinkPurpose
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
    working,
)
from runtime.store.schema.role_names import DIRECTORY

# The directory file that was loaded last: version and digest, defaults for reminders, Slack user groups.
directories = Table(
    "directories",
    metadata,
    words("tenant", primary_key=True),
    number("version"),  # of the file that was loaded last; 0 where it names none
    words("digest"),  # SHA-256 of what it says
    moment("loaded_at"),
    document("remind", default="{}"),  # when those are reminded who are asked, where nothing else says it
    document("usergroups", default="{}"),  # which groups are user groups of Slack, and whose address is which
    moment("refreshed_at", nullable=True),  # when Slack was last asked who is in them
    CheckConstraint("version >= 0", name="version"),
    info=kept("tenant", "version", "digest", "loaded_at", "remind", "usergroups", "refreshed_at", by=(DIRECTORY,)),
)


# The directory: people and agents, their groups, what an agent may do, how a person wants to be notified. The bot
# changes who is in a Slack user group, through the function `refresh_usergroups`.
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
    document("sign_in", default="{}"),  # to the console: `email` in small letters, `accounts` of identity providers
    PrimaryKeyConstraint("tenant", "actor_id"),
    CheckConstraint("kind IN ('person', 'agent')", name="kind"),
    info=working(DIRECTORY),
)


# Slack accounts of people; `linked` ones come from a Slack user group and an address. An account may name two people,
# so that a click by it can be refused and answered.
slack_accounts = Table(
    "slack_accounts",
    metadata,
    words("tenant"),
    words("team"),
    words("account"),
    words("actor_id"),
    flag("linked"),  # told by an address, not listed
    # two people behind one account is a state to refuse, not to forbid: the click must be answered
    PrimaryKeyConstraint("team", "account", "tenant", "actor_id"),
    ForeignKeyConstraint(["tenant", "actor_id"], ["actors.tenant", "actors.actor_id"], ondelete="CASCADE"),
    Index("ix_slack_accounts_actor", "tenant", "actor_id"),  # what accounts somebody has
    info=working(DIRECTORY),
)


# Who votes for whom, in which groups and from when to when. The directory is replaced as a whole, so nothing here
# refers to it.
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
    info=kept("ended_at", "ended_by", "ended_reason"),
)


# Passkeys with which people sign: public key, origin, how often the authenticator has signed; who invited, who
# revoked.
passkeys = Table(
    "passkeys",
    metadata,
    Column("tenant", Text, ForeignKey("tenants.tenant"), nullable=False),
    words("credential_id"),
    words("person"),
    words("public_key"),  # SubjectPublicKeyInfo, in base64url
    Column("cose_key", LargeBinary, nullable=False),  # the same, as its authenticator wrote it
    number("algorithm"),  # of COSE
    words("origin"),  # for which it was made
    Column("sign_count", BigInteger, nullable=False),  # how often its authenticator had signed when it did last
    words("invited_by"),
    words("reason"),  # of whoever invited
    moment("registered_at"),
    moment("revoked_at", nullable=True),
    words("revoked_by", nullable=True),
    words("revoked_reason", nullable=True),
    PrimaryKeyConstraint("tenant", "credential_id"),
    CheckConstraint("invited_by <> person", name="by_two"),
    CheckConstraint(
        "(revoked_at IS NULL) = (revoked_by IS NULL) AND (revoked_at IS NULL) = (revoked_reason IS NULL)",
        name="revoked",
    ),
    Index("ix_passkeys_person", "tenant", "person"),
    info=kept("sign_count", "revoked_at", "revoked_by", "revoked_reason"),
)


# Links to the pages where people sign or register a passkey, by the SHA-256 of the token. The first opening is noted.
passkey_links = Table(
    "passkey_links",
    metadata,
    words("link_id", primary_key=True),  # SHA-256 of the token, in hex
    Column("tenant", Text, ForeignKey("tenants.tenant"), nullable=False),
    words("person"),
    words("purpose"),
    words("nonce"),
    moment("made_at"),
    moment("expires_at"),
    Column("approval_id", Text, ForeignKey("approvals.approval_id"), nullable=True),  # that is to be signed
    words("stamp"),  # of the approval, as the person saw it
    words("reason"),  # of the vote; to register, of whoever invited
    words("ticket"),  # of an emergency, "" where break-glass is not used
    words("team"),
    words("account"),
    words("invited_by"),
    document("policy", nullable=True),  # which decision allowed the invitation
    moment("opened_at", nullable=True),
    document("console", nullable=True),  # as on a vote, where it is given in the console
    one_of("purpose", LinkPurpose),
    CheckConstraint(
        "(purpose = 'sign') = (approval_id IS NOT NULL) AND (purpose = 'register') = (policy IS NOT NULL)",
        name="about",
    ),
    info=kept("opened_at"),
)


def _tenant() -> Column[str]:
    return Column("tenant", Text, ForeignKey("tenants.tenant"), nullable=False)


# Operators' links to install the Slack app, by the SHA-256 of the secret. A link serves one installation.
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

# States of OAuth that are under way, by their SHA-256.
slack_states = Table(
    "slack_states",
    metadata,
    words("state_sha256", primary_key=True),
    Column("link_id", Text, ForeignKey("slack_links.link_id"), nullable=False),
    moment("expires_at"),
    info=working(),
)

# Where the Slack app is or was installed. A workspace or organization has one live installation over all tenants.
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

# Tokens of an installation, encrypted; who is refreshing one. Deleted when the installation ends.
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

# Slack accounts that Slack says are deactivated.
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


# One direct message for much that was said to a person within an hour.
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


# Each direct message to a person whose messages are limited, kept for a month. Each private answer to a click, by its
# digest, kept for a day: deliveries of one click are answered once.
direct_messages = Table(
    "direct_messages",
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
    Index("ix_direct_messages_at", "tenant", "account", "at"),
    Index("ix_direct_messages_gathering", "gathering_id"),
    info=working(),
)


# Sessions of people in the console, opened by a link or by an account of an identity provider. Of the secret in a
# browser, and of the link, only the digest is here; a link opens one session.
console_sessions = Table(
    "console_sessions",
    metadata,
    words("session_id", primary_key=True),
    Column("tenant", Text, ForeignKey("tenants.tenant"), nullable=False),
    words("secret_digest"),
    words("actor_id"),
    words("link_digest", nullable=True),
    moment("opened_at"),
    moment("expires_at"),
    moment("ended_at", nullable=True),  # when its person left, or somebody ended it, before it expired
    words("issuer", nullable=True),  # of the account that signed in, and its subject
    words("subject", nullable=True),
    words("address", nullable=True),  # by which that account was known; NULL where the directory lists it
    Unique("secret_digest"),
    Unique("link_digest"),
    CheckConstraint(
        "(link_digest IS NULL) = (issuer IS NOT NULL) AND (issuer IS NULL) = (subject IS NULL)"
        " AND (address IS NULL OR issuer IS NOT NULL)",
        name="opened_by",
    ),
    info=kept("ended_at"),
)

# Accounts of identity providers that signed in by an address of the directory: the first one of an address stays its
# only one, as long as it is the same person's.
linked_accounts = Table(
    "linked_accounts",
    metadata,
    Column("tenant", Text, ForeignKey("tenants.tenant"), nullable=False),
    words("issuer"),
    words("subject"),
    words("actor_id"),
    words("address"),
    moment("linked_at"),
    PrimaryKeyConstraint("tenant", "issuer", "subject", "address"),
    Unique("tenant", "issuer", "actor_id", "address"),
    info=insert_only(),
)
