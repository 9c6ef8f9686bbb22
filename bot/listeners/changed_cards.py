"""Cards that others edited or deleted in Slack: put back, posted again, and an edit is told as an alarm."""

from typing import Any

from slack_bolt.async_app import AsyncBoltContext

from bot.payloads import Edited, EventCallback
from runtime.services.cards import CardLedger

EVENTS = ("message.channels", "message.groups", "message.im")
"""What the app subscribes to; each comes as an event of the type `message`."""


class ChangedCards:
    """The listener for messages that were changed. What anybody writes is not looked at."""

    def __init__(self, ledger: CardLedger) -> None:
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
