"""The Web API client of an app in many workspaces: each call uses the token of one of them.

That is the workspace that asked, or the one that owns the channel or the account; owners are asked once and remembered.
"""

import functools
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.client import error_code, slack_client, slack_logger
from bot.workspaces import Workspaces, not_installed, origin_or_none
from runtime.model.installation import Installation

Asking = Callable[[Installation], Awaitable[bool]]


class Owners:
    """Whose a channel or a user is, asked of each workspace in turn and remembered."""

    def __init__(self, workspaces: Workspaces, client: AsyncWebClient) -> None:
        self._workspaces = workspaces
        self._client = client
        self._known: dict[str, str] = {}

    async def of_channel(self, channel: str, first: Installation | None) -> Installation:
        """Return the installation that sees a channel; raise SlackApiError as the last that was asked said."""
        return await self._look(channel, first, functools.partial(self._sees, channel))

    async def of_user(self, user: str) -> Installation:
        """Return the installation of the user's own workspace or organization; raise SlackApiError."""
        return await self._look(user, None, functools.partial(self._is_member, user))

    async def _look(self, name: str, first: Installation | None, asks: Asking) -> Installation:
        live = sorted(self._workspaces.live, key=lambda one: one != first)
        known = next((one for one in live if one.installation_id == self._known.get(name)), None)
        if known is not None:
            return known
        error: SlackApiError = not_installed(f"the workspace of {name}")
        for one in live:
            try:
                found = await asks(one)
            except SlackApiError as refused:
                error = refused
                continue
            if found:
                self._known[name] = one.installation_id
                return one
        raise error

    async def _sees(self, channel: str, one: Installation) -> bool:
        await self._client.conversations_info(channel=channel, token=one.tokens.access)
        return True

    async def _is_member(self, user: str, one: Installation) -> bool:
        profile = (await self._client.users_info(user=user, token=one.tokens.access)).get("user") or {}
        organization = (profile.get("enterprise_user") or {}).get("enterprise_id", "")
        return profile.get("team_id") == one.place.team or organization == (one.place.enterprise or None)


_STALE = frozenset({"token_expired", "token_revoked", "invalid_auth"})
"""What Slack says of a token in whose place another process may have got a new one. Nothing was done then."""


class WorkspaceClient(AsyncWebClient):
    """As `slack_client`, but for whose token it is: that of the workspace that asked, or of the channel or person."""

    def __init__(self, workspaces: Workspaces, base_url: str | None) -> None:
        super().__init__(
            base_url=base_url or AsyncWebClient.BASE_URL, timeout=10, retry_handlers=[], logger=slack_logger()
        )
        self._workspaces = workspaces
        self._owners = Owners(workspaces, slack_client(None, base_url))

    async def api_call(self, api_method: str, **how: Any) -> AsyncSlackResponse:
        """Call with the right token; with another where that one has been replaced meanwhile."""
        said = {**(how.get("params") or {}), **(how.get("data") or {}), **(how.get("json") or {})}
        one = await self._speaker(said)
        try:
            return await self._call(api_method, one, how)
        except SlackApiError as error:
            if error_code(error) not in _STALE or (fresh := await self._workspaces.renewed(one)) is None:
                raise
            return await self._call(api_method, fresh, how)

    async def _call(self, method: str, one: Installation, how: Mapping[str, Any]) -> AsyncSlackResponse:
        headers = {**(how.get("headers") or {}), "Authorization": f"Bearer {one.tokens.access}"}
        return await super().api_call(method, **{**how, "headers": headers})

    async def _speaker(self, said: Mapping[str, Any]) -> Installation:
        """Return the installation that a call is for; raise SlackApiError."""
        here = await origin_or_none(self._workspaces)
        if not self._workspaces.live:
            await self._workspaces.load()
        live = self._workspaces.live
        if len(live) <= 1:
            return here or next(iter(live), None) or _nowhere()
        channel, user = str(said.get("channel") or ""), str(said.get("users") or said.get("user") or "")
        if channel:
            return await self._owners.of_channel(channel, here)
        if here is None and not user:
            raise not_installed("a workspace that the call names: there are several")
        return here or await self._owners.of_user(user)


def _nowhere() -> Installation:
    raise not_installed("any workspace")
