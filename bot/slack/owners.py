"""Whose channel or account something is, where the app is installed in many workspaces."""

import functools
from collections.abc import Awaitable, Callable

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.known import Workspaces, not_installed
from runtime.model.installed import Installed

Asking = Callable[[Installed], Awaitable[bool]]


class Owners:
    """Whose a channel or a user is, asked of each workspace in turn and remembered."""

    def __init__(self, workspaces: Workspaces, client: AsyncWebClient) -> None:
        self._workspaces = workspaces
        self._client = client
        self._known: dict[str, str] = {}

    async def of_channel(self, channel: str, first: Installed | None) -> Installed:
        """Return the installation that sees a channel; raise SlackApiError as the last that was asked said."""
        return await self._look(channel, first, functools.partial(self._sees, channel))

    async def of_user(self, user: str) -> Installed:
        """Return the installation of the user's own workspace or organization; raise SlackApiError."""
        return await self._look(user, None, functools.partial(self._is_member, user))

    async def _look(self, name: str, first: Installed | None, asks: Asking) -> Installed:
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

    async def _sees(self, channel: str, one: Installed) -> bool:
        await self._client.conversations_info(channel=channel, token=one.tokens.access)
        return True

    async def _is_member(self, user: str, one: Installed) -> bool:
        profile = (await self._client.users_info(user=user, token=one.tokens.access)).get("user") or {}
        organization = (profile.get("enterprise_user") or {}).get("enterprise_id", "")
        return profile.get("team_id") == one.place.team or organization == (one.place.enterprise or None)
