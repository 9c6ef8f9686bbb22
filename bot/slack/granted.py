"""What Slack answers when it grants tokens: to who has installed the app, and to us when we ask for new ones."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from slack_sdk.web.async_client import AsyncWebClient

from runtime.model.installed import Place, Tokens

Id = Annotated[str, Field(pattern=r"^[A-Z0-9]{2,32}$")]
Token = Annotated[str, Field(pattern=r"^[!-~]{1,1000}$")]


@dataclass(frozen=True)
class AppCredentials:
    """What the app shows Slack when it asks for tokens."""

    client_id: str
    client_secret: str = field(repr=False)


class _Granted(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)


class _Named(_Granted):
    id: Id
    name: str = ""


class _Person(_Granted):
    id: Id


class Renewed(_Granted):
    """New tokens of the bot's."""

    token_type: Literal["bot"]
    access_token: Token
    refresh_token: Token | None = None
    expires_in: Annotated[int, Field(gt=0, le=10**8)] | None = None  # seconds

    def tokens(self, now: datetime, before: str | None = None) -> Tokens:
        """Return the tokens, as of the moment when they were asked for."""
        expires_at = now + timedelta(seconds=self.expires_in) if self.expires_in else None
        return Tokens(access=self.access_token, refresh=self.refresh_token, before=before, expires_at=expires_at)


class Granted(Renewed):
    """What somebody who installed the app has granted."""

    app_id: Id
    bot_user_id: Id
    scope: str
    team: _Named | None = None
    enterprise: _Named | None = None
    is_enterprise_install: bool = False
    authed_user: _Person

    @property
    def place(self) -> Place | None:
        """Return where the app is installed now, or None where Slack names no place."""
        enterprise = self.enterprise.id if self.enterprise else ""
        if self.is_enterprise_install:
            return Place("", enterprise) if enterprise else None
        return Place(self.team.id, enterprise) if self.team else None

    @property
    def name(self) -> str:
        """Return what people call the place."""
        named = self.enterprise if self.is_enterprise_install else self.team
        return named.name if named else ""


async def exchange(client: AsyncWebClient, app: AppCredentials, **given: Any) -> dict[str, Any]:
    """Ask Slack for tokens, for a code or a refresh token; return its answer."""
    said = {"client_id": app.client_id, "client_secret": app.client_secret, **given}
    answer = await client.api_call("oauth.v2.access", data=said)
    return dict(answer.data) if isinstance(answer.data, dict) else {}
