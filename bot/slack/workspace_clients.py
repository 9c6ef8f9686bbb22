"""The Web API client of an app that is installed in many workspaces: each call goes with the token of one of them."""

from collections.abc import Mapping
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.slack.client import error_code, slack_client
from bot.slack.known import Workspaces, not_installed, origin_or_none
from bot.slack.log import slack_logger
from bot.slack.owners import Owners
from runtime.model.installed import Installed

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

    async def _call(self, method: str, one: Installed, how: Mapping[str, Any]) -> AsyncSlackResponse:
        headers = {**(how.get("headers") or {}), "Authorization": f"Bearer {one.tokens.access}"}
        return await super().api_call(method, **{**how, "headers": headers})

    async def _speaker(self, said: Mapping[str, Any]) -> Installed:
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


def _nowhere() -> Installed:
    raise not_installed("any workspace")
