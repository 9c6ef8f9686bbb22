"""The app of the gallery's workspace: it opens the modal that is to be looked at, whatever is clicked."""

import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from bot.slack.client import SlackClient


class Showing:
    """An app that answers a click with a modal, and its submission with what is wrong; it serves pages, too."""

    def __init__(self, pages: Mapping[str, bytes], faults: Mapping[str, str]) -> None:
        self.client: SlackClient | None = None
        self.modal: dict[str, Any] = {}
        self._faults = faults
        self._pages = pages
        self.app = web.Application()
        self.app.router.add_post("/", self._answer)
        self.app.router.add_get("/{name}", self._page)

    async def _answer(self, request: web.Request) -> web.Response:
        sent = json.loads(str((await request.post()).get("payload", "{}")))
        if sent.get("type") == "view_submission":
            return web.json_response({"response_action": "errors", "errors": dict(self._faults)})
        if sent.get("type") == "block_actions" and self.client:
            await self.client.views_open(trigger_id=sent["trigger_id"], view=self.modal)
        return web.Response(text="")

    async def _page(self, request: web.Request) -> web.Response:
        return web.Response(body=self._pages[request.match_info["name"]], content_type="text/html", charset="utf-8")
