"""Card watch: cards that others edited or deleted in Slack are restored or posted again, and an edit raises an alarm.

A deleted card to which a Home links is posted again, too.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from slack_bolt.async_app import AsyncBoltContext
from slack_sdk.web.async_client import AsyncWebClient

from bot.client import FAILURES, error_code
from bot.payloads import Edited, EventCallback
from runtime.clock import Clock
from runtime.services.cards import StoredCards
from runtime.services.home import Entry

EVENTS = ("message.channels", "message.groups", "message.im")
"""What the app subscribes to; each comes as an event of the type `message`."""


class ChangedCards:
    """The listener for messages that were changed. What anybody writes is not looked at."""

    def __init__(self, ledger: StoredCards) -> None:
        self._ledger = ledger

    async def on_message(self, body: dict[str, Any], context: AsyncBoltContext) -> None:
        """Look after a card that is gone, or that somebody else than we edited."""
        event = EventCallback.model_validate(body).event
        if event.place is None:
            return
        if event.subtype == "message_deleted" and event.deleted_ts:
            await self._deleted(event.place, event.deleted_ts)
        edited = event.message.edited if event.message else None
        if event.message and edited and edited.user not in (context.bot_user_id, context.bot_id):
            await self._edited(event.place, event.message.ts, edited)

    async def _deleted(self, channel: str, ts: str) -> None:
        if approval_id := await self._ledger.standing_at(channel, ts):
            await self._ledger.lost(approval_id, channel, ts)

    async def _edited(self, channel: str, ts: str, edited: Edited) -> None:
        if approval_id := await self._ledger.standing_at(channel, ts):
            await self._ledger.tampered(approval_id, edited.user, f"{channel}:{ts}:{edited.ts}")


LOOK_AGAIN = timedelta(seconds=5)
"""How long a card that was there is taken to be there: a burst of looks at Homes is one question."""

_REMEMBERED = 5000


class CardChecks:
    """Asks Slack for cards, each once in a while, and after the Home that links to it is drawn."""

    def __init__(self, client: AsyncWebClient, ledger: StoredCards, clock: Clock) -> None:
        self._client = client
        self._ledger = ledger
        self._clock = clock
        self._seen: dict[tuple[str, str], datetime] = {}

    async def look_after(self, entries: Iterable[Entry]) -> None:
        """Have those posted again that are gone. What Slack does not answer is asked another time."""
        now = self._clock()
        for entry in entries:
            if entry.card is None or now < self._seen.get(entry.card, now - LOOK_AGAIN) + LOOK_AGAIN:
                continue
            self._remember(entry.card, now)
            await self._look(entry.view.approval_id, entry.card)

    async def _look(self, approval_id: str, card: tuple[str, str]) -> None:
        try:
            await self._client.chat_getPermalink(channel=card[0], message_ts=card[1])
        except FAILURES as error:
            self._seen.pop(card, None)
            if error_code(error) == "message_not_found":
                await self._ledger.lost(approval_id, *card)

    def _remember(self, card: tuple[str, str], now: datetime) -> None:
        self._seen.pop(card, None)
        self._seen[card] = now
        while len(self._seen) > _REMEMBERED:
            del self._seen[next(iter(self._seen))]
