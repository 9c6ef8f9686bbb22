"""What Slack says of the app's life: recorded before it is acknowledged, so that a loss of ours is said again."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.listeners.payloads import Event, EventCallback, Member, Payload
from bot.slack.log import slack_logger
from bot.workspaces.known import Workspaces
from bot.workspaces.origin import Origin
from runtime.clock import Clock
from runtime.desk.workspaces.model import EndedWhy, LifeDesk
from runtime.model.workspaces.installed import Place

_SECONDS = 2.0
"""In which it has to be recorded; else Slack, which waits for three, says it again."""
_CHANNELS = {
    "channel_archive": "is archived: nothing can be posted there",
    "group_archive": "is archived: nothing can be posted there",
    "channel_deleted": "is deleted: nothing can be posted there",
    "group_deleted": "is deleted: nothing can be posted there",
    "channel_unarchive": "is in use again: what is held for it is tried again",
    "group_unarchive": "is in use again: what is held for it is tried again",
    "channel_left": "has no bot any more: invite it",
    "group_left": "has no bot any more: invite it",
}


EVENTS = frozenset({"app_uninstalled", "tokens_revoked", "user_change", "team_join", *_CHANNELS})
"""The events that are taken here."""


@dataclass(frozen=True)
class Life:
    """Hands in what Slack says of installations and members; what it says of channels stands in the log.

    What is held for a channel is tried again by itself, so nothing has to be done when it is in use again.
    """

    desk: LifeDesk
    workspaces: Workspaces | None  # None where the settings name one bot's token
    clock: Clock

    async def take(self, payload: Payload, origin: Origin) -> None:
        """Record what an event says; whatever else a payload is stays aside."""
        if not isinstance(payload, EventCallback):
            return
        event = payload.event
        async with asyncio.timeout(_SECONDS):
            if event.type == "app_uninstalled":
                await self._ended(payload, origin, "app_uninstalled")
            elif event.type == "tokens_revoked" and event.tokens and event.tokens.bot:
                await self._ended(payload, origin, "tokens_revoked")
            elif event.type in ("user_change", "team_join") and isinstance(event.user, Member):
                team = event.user.team_id or payload.team_id
                await self.desk.note_member(team, event.user.id, is_active=not event.user.deleted)
        _tell(event)

    async def _ended(self, payload: EventCallback, origin: Origin, why: EndedWhy) -> None:
        said_at = datetime.fromtimestamp(payload.event_time, UTC) if payload.event_time else self.clock()
        place = Place("" if origin.is_whole else origin.team, origin.enterprise)
        if await self.desk.remove(place, why, said_at):
            slack_logger().warning("the app is not installed in %s any more: %s", place, why)
        if self.workspaces is not None:
            await self.workspaces.load()


def _tell(event: Event) -> None:
    if (said := _CHANNELS.get(event.type)) and event.place:
        slack_logger().warning("channel %s %s", event.place, said)
