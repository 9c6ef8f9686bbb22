"""Cards to which a Home links are looked after: one that somebody deleted is posted again."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.client import FAILURES, error_code
from runtime.clock import Clock
from runtime.services.cards import CardLedger
from runtime.services.home_model import Entry

LOOK_AGAIN = timedelta(seconds=5)
"""How long a card that was there is taken to be there: a burst of looks at Homes is one question."""

_REMEMBERED = 5000


class CardsThere:
    """Asks Slack for cards, each once in a while, and after the Home that links to it is drawn."""

    def __init__(self, client: AsyncWebClient, ledger: CardLedger, clock: Clock) -> None:
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
