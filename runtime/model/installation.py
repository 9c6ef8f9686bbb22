"""Installations of the Slack app: where it is installed, its tokens, and what Slack says when it is made."""

from dataclasses import dataclass, field
from datetime import datetime

from pydantic import AwareDatetime, BaseModel, ConfigDict


class Tokens(BaseModel):
    """What an installation is called with. It is kept encrypted, as JSON.

    `before` is the refresh token that gave this one: it is kept until `access` has been used, since Slack revokes it
    then, and an answer may have been lost meanwhile.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    access: str
    refresh: str | None = None
    before: str | None = None
    expires_at: AwareDatetime | None = None

    def __repr__(self) -> str:
        """Say nothing of what it holds."""
        return "Tokens(…)"


@dataclass(frozen=True)
class InstallPlace:
    """Where the app is installed: a team, or a whole organization of Enterprise Grid, whose `team` is ""."""

    team: str
    enterprise: str  # "" for a team of no organization

    def __str__(self) -> str:
        """Name it as Slack does."""
        return self.team or self.enterprise


@dataclass(frozen=True)
class NewInstallation:
    """What Slack answers when somebody has installed the app. `user` is their account."""

    place: InstallPlace
    name: str
    app_id: str
    bot_user: str
    bot_id: str
    scopes: tuple[str, ...]
    user: str
    tokens: Tokens = field(repr=False)


@dataclass(frozen=True)
class Installation:
    """An installation that has not ended."""

    installation_id: str
    place: InstallPlace
    name: str
    bot_user: str
    bot_id: str
    scopes: tuple[str, ...]
    installed_at: datetime
    tokens: Tokens = field(repr=False)


@dataclass(frozen=True)
class EndedInstallation:
    """A place where the app was installed, and is not now."""

    place: InstallPlace
    name: str
    removed_at: datetime
    why: str
