"""What the bot sees of the counter for installations of the Slack app."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, Protocol

from runtime.model.installed import Installed, NewInstallation, Place, Tokens

STATE_LIFE = timedelta(minutes=10)
"""How long somebody may take to say yes at Slack."""

EndedWhy = Literal["app_uninstalled", "tokens_revoked"]


class NotInstalledError(Exception):
    """The installation is not kept, and the message says why."""


@dataclass(frozen=True)
class Refreshing:
    """Leave to get new tokens for an installation, until `until`; nobody else has it meanwhile."""

    installation_id: str
    tokens: Tokens
    until: datetime


class InstallationDesk(Protocol):
    """Where the bot keeps installations of one tenant. Tokens are encrypted behind it."""

    async def live(self) -> list[Installed]:
        """Return the installations that have not ended, the oldest first."""
        ...

    async def issue_state(self, secret: str) -> str | None:
        """Return a state for whoever has a link with this secret, or None where it can't be used any more."""
        ...

    async def take_state(self, state: str) -> str | None:
        """Use a state up; return the id of its link, or None."""
        ...

    async def install(self, new: NewInstallation, link_id: str) -> None:
        """Keep an installation, by the leave of a link; raise NotInstalledError."""
        ...

    async def lease_refresh(self, installation_id: str) -> Refreshing | None:
        """Take on to get new tokens, or return None where nobody needs to."""
        ...

    async def refreshed(self, lease: Refreshing, tokens: Tokens) -> None:
        """Keep new tokens."""
        ...

    async def confirm(self, one: Installed) -> None:
        """Forget the refresh token before the present one: the present tokens have been used."""
        ...


class LifeDesk(Protocol):
    """Where the bot hands in what Slack says of the app's life in its workspaces, and of their members."""

    async def remove(self, place: Place, why: EndedWhy, said_at: datetime) -> bool:
        """End the installation there, unless it was made after that was said; return whether it has ended now."""
        ...

    async def note_member(self, team: str, user: str, *, is_active: bool) -> None:
        """Put on record that Slack says of an account of the directory whether it is active."""
        ...
