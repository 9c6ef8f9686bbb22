"""The way to the Home of our app and to its messages: by what Slack says of the app, which is asked for once."""

import re

from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.client import FAILURES
from bot.views.text import Shown

_ID = re.compile(r"[A-Z0-9]{1,30}")


class HomeLink:
    """A link into Slack itself; without one the words around it say where to look."""

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client
        self._link: Shown | None = None
        self._workspace = ""

    async def workspace(self) -> str:
        """Return the address of the workspace, "" where Slack does not tell it."""
        if not self._workspace:
            try:
                self._workspace = str((await self._client.auth_test())["url"])
            except (*FAILURES, KeyError):
                return ""
        return self._workspace

    async def link(self) -> Shown | None:
        """Return the link, or None where Slack does not tell by what to link."""
        if self._link is None:
            try:
                who = await self._client.auth_test()
                bot = await self._client.bots_info(bot=str(who["bot_id"]))
                team, app = str(who["team_id"]), str(bot["bot"]["app_id"])
            except (*FAILURES, KeyError):
                return None
            if _ID.fullmatch(team) and _ID.fullmatch(app):
                self._link = Shown(f"<slack://app?team={team}&amp;id={app}&amp;tab=home|Open your Home>")
        return self._link
