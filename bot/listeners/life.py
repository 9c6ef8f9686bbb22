"""What Slack says of the app's life: recorded before it is acknowledged, so that a loss of ours is said again."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.payloads import Event, EventCallback, Member, Payload
from bot.slack.known import Workspaces
from bot.slack.log import slack_logger
from bot.slack.origin import ORIGIN, Origin
from runtime.clock import Clock
from runtime.model.installed import Place
from runtime.services.workspaces_model import EndedWhy, LifeDesk

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

    async def let_in(self, payload: Payload, origin: Origin) -> bool:
        """Have what follows be for the workspace that a payload comes from, and record what it says of the app's life.

        False where that is not recorded: then it must not be acknowledged, and Slack says it again.
        """
        ORIGIN.set(origin)
        try:
            if isinstance(payload, EventCallback):
                await self._take(payload, origin)
        except Exception as error:  # noqa: BLE001 - the database's, say: nothing was recorded, whatever it is
            slack_logger().error("what Slack said of the app was not recorded: %s", type(error).__name__)
            return False
        return True

    async def _take(self, payload: EventCallback, origin: Origin) -> None:
        event = payload.event
        async with asyncio.timeout(_SECONDS):
            if event.type == "app_uninstalled":
                await self._ended(payload, origin, "app_uninstalled")
            elif event.type == "tokens_revoked" and event.tokens and event.tokens.bot:
                await self._ended(payload, origin, "tokens_revoked")
            elif event.type in ("user_change", "team_join") and isinstance(event.user, Member):
                # on Enterprise Grid the directory may know a member by any of these
                for team in {event.user.team_id, payload.team_id, origin.enterprise or None} - {None}:
                    await self.desk.note_member(str(team), event.user.id, is_active=not event.user.deleted)
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
