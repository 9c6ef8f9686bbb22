"""The workspace file: who and what exists in this stand-in Slack before anything happens."""

from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sandbox.slack_errors import WorkspaceError

DEFAULT_SCOPES = (
    "app_mentions:read",
    "channels:history",
    "channels:read",
    "chat:write",
    "commands",
    "groups:history",
    "groups:read",
    "im:history",
    "im:read",
    "im:write",
    "links:read",
    "links:write",
    "metadata.message:read",
    "team:read",
    "users:read",
    "usergroups:read",
    "users:read.email",
)

TeamId = Annotated[str, Field(pattern=r"^[TE][A-Z0-9]{1,20}$")]
UserId = Annotated[str, Field(pattern=r"^[UW][A-Z0-9]{1,20}$")]
EnterpriseId = Annotated[str, Field(pattern=r"^E[A-Z0-9]{1,20}$")]
UserGroupId = Annotated[str, Field(pattern=r"^S[A-Z0-9]{1,20}$")]
Domain = Annotated[str, Field(pattern=r"^[a-z0-9-]+(\.[a-z0-9-]+)*$")]
ChannelId = Annotated[str, Field(pattern=r"^[CG][A-Z0-9]{1,20}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Team(_Strict):
    """The host workspace; one of an Enterprise Grid names its organization."""

    id: TeamId
    name: str
    domain: str
    enterprise_id: EnterpriseId | None = None


class User(_Strict):
    """A person or bot.

    Another `team_id` than the workspace's makes a Slack Connect stranger, or, with the workspace's `enterprise_id`, a
    member of another workspace of the same Enterprise Grid. With `is_restricted: null` Slack's word on it is missing.
    """

    id: UserId
    name: str
    real_name: str
    title: str = ""
    team_id: str = ""
    enterprise_id: str = ""
    email: str = ""
    is_email_confirmed: bool = True
    is_bot: bool = False
    is_restricted: bool | None = False
    is_ultra_restricted: bool = False
    deleted: bool = False


class Channel(_Strict):
    """A channel and its members."""

    id: ChannelId
    name: str
    members: list[UserId]
    is_private: bool = False
    is_archived: bool = False


class UserGroup(_Strict):
    """A user group as it is at first; who is in it may change."""

    id: UserGroupId
    handle: Annotated[str, Field(pattern=r"^[a-z0-9_-]{1,21}$")]
    name: str
    users: list[UserId]
    is_disabled: bool = False


class App(_Strict):
    """The one installed app. Without `request_url` interactivity goes through Socket Mode."""

    id: Annotated[str, Field(pattern=r"^A[A-Z0-9]{1,20}$")]
    bot_user_id: UserId
    bot_token: Annotated[str, Field(pattern=r"^xoxb-")]
    app_token: Annotated[str, Field(pattern=r"^xapp-")]
    signing_secret: Annotated[str, Field(min_length=8)]
    request_url: Annotated[str, Field(pattern=r"^https?://")] | None = None
    client_id: Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+$")] = "1.1"
    client_secret: str = ""  # "": nobody can install it by OAuth
    redirect_uris: list[str] = []
    token_rotation: bool = False  # tokens that OAuth grants expire after twelve hours
    is_org_install: bool = False  # to install it is to install it for the whole organization
    is_installed: bool = True  # from the beginning, with `bot_token`
    commands: list[str] = ["/countersign"]
    shortcuts: list[str] = ["countersign_new_request"]
    message_shortcuts: list[str] = ["countersign_ask_approval"]
    scopes: list[str] = list(DEFAULT_SCOPES)
    unfurl_domains: Annotated[list[Domain], Field(max_length=5)] = []  # as many as Slack takes


class Workspace(_Strict):
    """All of it, checked for dangling and repeated ids."""

    team: Team
    users: list[User]
    channels: list[Channel]
    usergroups: list[UserGroup] = []
    app: App

    @model_validator(mode="after")
    def _check_references(self) -> Self:
        users = [user.id for user in self.users]
        channels, groups = [channel.id for channel in self.channels], [group.id for group in self.usergroups]
        for kind, ids in (("user", users), ("channel", channels), ("user group", groups)):
            repeated = {one for one in ids if ids.count(one) > 1}
            if repeated:
                raise ValueError(f"{kind} id repeated: {', '.join(sorted(repeated))}")
        members = {f"channel {channel.id}": channel.members for channel in self.channels}
        members |= {f"user group {group.id}": group.users for group in self.usergroups}
        for name, named in members.items():
            unknown = set(named) - set(users)
            if unknown:
                raise ValueError(f"{name} has unknown members: {', '.join(sorted(unknown))}")
        if self.app.bot_user_id not in users:
            raise ValueError(f"app.bot_user_id {self.app.bot_user_id} is not among the users")
        return self

    @property
    def bot_id(self) -> str:
        """Return the id of the bot, as distinct from the id of its user."""
        return "B" + self.app.id[1:]

    def user(self, user_id: str) -> User | None:
        """Return the user of that id."""
        return next((user for user in self.users if user.id == user_id), None)

    def channel(self, channel_id: str) -> Channel | None:
        """Return the channel of that id."""
        return next((channel for channel in self.channels if channel.id == channel_id), None)

    def usergroup(self, group_id: str) -> UserGroup | None:
        """Return the user group of that id."""
        return next((group for group in self.usergroups if group.id == group_id), None)

    def team_of(self, user: User) -> str:
        """Return the user's own team."""
        return user.team_id or self.team.id

    def is_foreign(self, user: User) -> bool:
        """Say whether the user belongs to another organisation."""
        return self.team_of(user) != self.team.id and not self.is_colleague(user)

    def is_colleague(self, user: User) -> bool:
        """Say whether the user belongs to the workspace's own organization, whichever workspace of it is theirs."""
        return self.team.enterprise_id is not None and self.enterprise_of(user) == self.team.enterprise_id

    def enterprise_of(self, user: User) -> str | None:
        """Return the user's organization: what the file says, or the workspace's for its own users."""
        own = self.team.enterprise_id if self.team_of(user) == self.team.id else None
        return user.enterprise_id or own

    def members(self, channel_id: str) -> list[str]:
        """Return who is in a channel or in a direct conversation with the bot."""
        channel = self.channel(channel_id)
        if channel:
            return channel.members
        user = self.user("U" + channel_id[1:]) or self.user("W" + channel_id[1:])
        return [user.id, self.app.bot_user_id] if channel_id.startswith("D") and user else []

    def shares_channel_with_bot(self, user: User) -> bool:
        """Say whether the user is in any channel with the app."""
        return any({user.id, self.app.bot_user_id} <= set(channel.members) for channel in self.channels)


def is_whole(workspace: Workspace) -> bool:
    """Say whether the app is installed for the whole organization."""
    return workspace.app.is_org_install and workspace.team.enterprise_id is not None


def dm_id(user_id: str) -> str:
    """Return the id of the direct conversation between the bot and a user."""
    return "D" + user_id[1:]


def parse_workspace(document: Any, source: str) -> Workspace:
    """Check a workspace document; every fault is named with its place."""
    try:
        return Workspace.model_validate(document)
    except ValidationError as error:
        places = (f"{'.'.join(map(str, e['loc'])) or 'workspace'}: {e['msg']}" for e in error.errors())
        raise WorkspaceError(f"{source}: " + "; ".join(places)) from error


def load_workspace(path: Path | str) -> Workspace:
    """Read a workspace file."""
    try:
        document = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise WorkspaceError(f"{path}: {error}") from error
    return parse_workspace(document, str(path))
