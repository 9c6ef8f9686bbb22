"""Publishes a person's App Home whenever they open it."""

import asyncio
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.cards.home import HELD_SHOWN, SHOWN, home, home_refusal
from bot.cards.refusals import refusal_words
from bot.listeners.identity import identify
from bot.listeners.installation import InstallationWatch
from bot.listeners.payloads import EventCallback, User
from bot.slack.client import FAILURES, error_code
from runtime.clock import Clock
from runtime.desk.model import ApprovalView, CardLedger, Desk

AT_ONCE = 2
"""Homes that are drawn at the same time: they share what clicks need, and clicks don't wait for them."""


class HomeTab:
    """The listener for app_home_opened."""

    def __init__(
        self, client: AsyncWebClient, desk: Desk, ledger: CardLedger, installation: InstallationWatch, clock: Clock
    ) -> None:
        self._client = client
        self._installation = installation
        self._desk = desk
        self._ledger = ledger
        self._clock = clock
        self._turn = asyncio.Semaphore(AT_ONCE)

    async def on_opened(self, body: dict[str, Any]) -> None:
        """Show what waits for the person who looks."""
        payload = EventCallback.model_validate(body)
        if not isinstance(payload.event.user, str) or payload.event.tab != "home":
            return
        # The envelope names the team of the installation; users.info corrects it to the user's own.
        user = User(id=payload.event.user, team_id=payload.team_id)
        async with self._turn:
            await self._client.views_publish(user_id=user.id, view=await self._view(user))

    async def _view(self, user: User) -> dict[str, Any]:
        identity = await identify(user, self._installation.known, self._client, self._desk)
        if identity.refusal or identity.person is None:
            return home_refusal(refusal_words(identity.refusal) if identity.refusal else "")
        pending = await self._desk.pending(identity.person.id, SHOWN)
        links = await asyncio.gather(*(self._permalink(view) for view in pending.views))
        held = await self._desk.held.waiting(identity.person, HELD_SHOWN)
        return home(list(zip(pending.views, links, strict=True)), pending.total, held, now=self._clock())

    async def _permalink(self, view: ApprovalView) -> str | None:
        location = await self._ledger.location(view.approval_id)
        if location is None:
            return None
        try:
            response = await self._client.chat_getPermalink(channel=location[0], message_ts=location[1])
        except FAILURES as error:
            if error_code(error) == "message_not_found":
                await self._ledger.lost(view.approval_id, *location)
            return None
        return str(response["permalink"])
