"""Workspaces: where the app is installed, kept at hand so that no request waits for Slack, and the tokens of each.

Slack grants tokens when somebody installs the app, and new ones when the old ones are about to expire.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.client import FAILURES, NOT_INSTALLED, error_code, slack_client, slack_logger
from bot.origin import ORIGIN, Origin
from runtime.clock import Clock
from runtime.model.installation import Installation, InstallPlace, Tokens
from runtime.services.installations import Installations, Refreshing

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
    def place(self) -> InstallPlace | None:
        """Return where the app is installed now, or None where Slack names no place."""
        enterprise = self.enterprise.id if self.enterprise else ""
        if self.is_enterprise_install:
            return InstallPlace("", enterprise) if enterprise else None
        return InstallPlace(self.team.id, enterprise) if self.team else None

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


_REFRESH_BEFORE = timedelta(hours=2)


def not_installed(place: str) -> SlackApiError:
    """Return the error of a call for which there is no token, in the form in which Slack refuses."""
    refused = AsyncSlackResponse(
        client=None, http_verb="POST", api_url="", req_args={}, headers={}, status_code=200,
        data={"ok": False, "error": NOT_INSTALLED},
    )  # fmt: skip
    return SlackApiError(f"the app is not installed in {place}", refused)  # type: ignore[no-untyped-call]  # Slack's


class Workspaces:
    """What is installed now. `troubles` says by name with which of them something is wrong."""

    def __init__(self, desk: Installations, app: AppCredentials, clock: Clock, base_url: str | None) -> None:
        self._desk = desk
        self._app = app
        self._clock = clock
        self._client = slack_client(None, base_url)
        self._live: Mapping[str, Installation] = {}
        self.troubles: dict[str, str] = {}

    @property
    def live(self) -> list[Installation]:
        """Return the installations as they were when they were looked at last."""
        return list(self._live.values())

    async def load(self) -> None:
        """Look at them anew."""
        self._live = {one.installation_id: one for one in await self._desk.live()}

    async def here(self, origin: Origin) -> Installation:
        """Return the installation that a request is for; raise SlackApiError where there is none."""
        if (found := self._find(origin)) is None:
            await self.load()  # another process may have seen it installed just now
            found = self._find(origin)
        if found is None:
            raise not_installed(origin.team or origin.enterprise or "this workspace")
        return found

    def _find(self, origin: Origin) -> Installation | None:
        """Return the workspace's own installation, or else its organization's."""
        own = (one for one in self.live if one.place.team and one.place.team == origin.team)
        whole = (one for one in self.live if not one.place.team and one.place.enterprise == origin.enterprise)
        return next(own, None) or next(whole, None)

    async def renewed(self, one: Installation) -> Installation | None:
        """Return an installation with other tokens than those, where somebody has got some, or None."""
        await self.load()
        now = self._live.get(one.installation_id)
        return now if now and now.tokens.access != one.tokens.access else None

    async def look(self) -> None:
        """Look at all installations: get tokens anew that expire soon, and ask Slack whether they are good."""
        await self.load()
        await asyncio.gather(*(self._refresh(one) for one in self.live if self._is_due(one)))
        troubles = await asyncio.gather(*(self._ask(one) for one in self.live))
        self.troubles = {str(one.place): why for one, why in zip(self.live, troubles, strict=True) if why}

    def _is_due(self, one: Installation) -> bool:
        expires = one.tokens.expires_at
        return expires is not None and expires - self._clock() <= _REFRESH_BEFORE

    async def _refresh(self, one: Installation) -> None:
        """Get new tokens, if nobody else does; what fails is tried again as long as the present ones last."""
        lease = await self._desk.lease_refresh(one.installation_id)
        if lease is None:
            return
        try:
            await self._desk.refreshed(lease, await self._new_tokens(lease))
        except (*FAILURES, ValidationError) as error:
            slack_logger().warning("no new token for %s: %s", one.place, error_code(error))
        await self.load()

    async def _new_tokens(self, lease: Refreshing) -> Tokens:
        """Ask by the newest refresh token, and where Slack does not know it, by the one before: an answer was lost."""
        now, tokens = self._clock(), lease.tokens
        try:
            answer = await self._exchange(tokens.refresh)
        except SlackApiError as error:
            if tokens.before is None or error_code(error) != "invalid_refresh_token":
                raise
            answer = await self._exchange(tokens.before)
        return Renewed.model_validate(answer).tokens(now, before=tokens.refresh)

    async def _exchange(self, refresh: str | None) -> dict[str, Any]:
        return await exchange(self._client, self._app, grant_type="refresh_token", refresh_token=refresh)

    async def _ask(self, one: Installation) -> str:
        """Return what is wrong with an installation's token, "" where Slack takes it."""
        try:
            await self._client.auth_test(token=one.tokens.access)
        except FAILURES as error:
            return f"auth.test: {error_code(error)}"
        if one.tokens.before is not None:
            await self._desk.confirm(one)
        return ""


async def origin_or_none(workspaces: Workspaces) -> Installation | None:
    """Return the installation behind what is being answered, or None where nobody asked; raise SlackApiError."""
    origin = ORIGIN.get()
    return None if origin is None else await workspaces.here(origin)
