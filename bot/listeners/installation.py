"""Installation: where the app is installed, in one workspace or in many, and what Slack says when that changes.

Slack is asked at the start and again and again, never while a click waits for its answer. Events about uninstallation,
revoked tokens, members and channels are recorded before they are acknowledged, so Slack repeats what we lose.
"""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from slack_bolt.authorization import AuthorizeResult
from slack_bolt.authorization.async_authorize import AsyncAuthorize
from slack_sdk.web.async_client import AsyncWebClient

from bot.client import FAILURES, error_code, slack_logger
from bot.origin import ORIGIN, Origin
from bot.payloads import Event, EventCallback, Member, Payload
from bot.profiles import machine_profiles
from bot.workspace_client import WorkspaceClient
from bot.workspaces import Workspaces, not_installed, origin_or_none
from runtime.clock import Clock
from runtime.model.installation import Installation as Installed
from runtime.model.installation import InstallPlace
from runtime.services.installations import EndedWhy, InstallationLifecycle

ASK_AGAIN = 15.0
"""Seconds until a token that was good is looked at again."""

_PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0)
"""Seconds between questions that were not answered; the last one is kept to."""


@dataclass(frozen=True)
class Installation:
    """The team that installed the app, and the organization that the team is of, on Enterprise Grid.

    `address` is that of the workspace, with a slash at its end, as links to messages begin.
    """

    team: str
    enterprise: str | None = None
    address: str = ""


class InstallationWatch(AsyncAuthorize):
    """Knows the installation from auth.test. No request waits here for Slack, so each can be acknowledged in time."""

    def __init__(self, client: AsyncWebClient) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Bolt's
        self._client = client
        self.profiles = machine_profiles(client)
        self._bot: tuple[str | None, str | None] = (None, None)
        self._installation: Installation | None = None
        self._told = asyncio.Event()
        self.trouble: str | None = "auth.test has not been answered yet"

    async def run(self) -> None:
        """Ask until canceled."""
        failures = 0
        while True:
            failures = 0 if await self._ask() else failures + 1
            await asyncio.sleep(_PAUSES[min(failures, len(_PAUSES)) - 1] if failures else ASK_AGAIN)

    async def _ask(self) -> bool:
        try:
            answer = await self._client.auth_test()
            self._installation = Installation(
                str(answer["team_id"]), answer.get("enterprise_id"), str(answer.get("url", ""))
            )
        except (*FAILURES, KeyError) as error:
            self.trouble = f"auth.test: {error_code(error)}"
            return False
        self._bot = (answer.get("user_id"), answer.get("bot_id"))
        self.trouble = None
        self._told.set()
        return True

    async def known(self) -> Installation:
        """Return the installation, once Slack has told it."""
        await self._told.wait()
        assert self._installation is not None  # noqa: S101 - it is told
        return self._installation

    async def everywhere(self) -> list[tuple[Installation, Origin | None]]:
        """Return each installation, with the origin by which calls are for it; None where there is one at most."""
        return [(await self.known(), None)]

    async def __call__(self, **_: Any) -> AuthorizeResult:
        """Return what is known: what Bolt passes of the payload is not asked, and who acted is checked later."""
        user, bot = self._bot
        here = self._installation
        return AuthorizeResult(
            enterprise_id=here.enterprise if here else None,
            team_id=here.team if here else None,
            bot_user_id=user,
            bot_id=bot,
        )


class WorkspaceWatch(InstallationWatch):
    """Knows where the app is installed, and looks after them. An app that is installed nowhere is in order."""

    def __init__(self, client: WorkspaceClient, workspaces: Workspaces) -> None:
        super().__init__(client)
        self._workspaces = workspaces
        self.trouble: str | None = "the installations have not been looked at yet"

    async def run(self) -> None:
        """Look after them until canceled."""
        while True:
            await self._look()
            await asyncio.sleep(ASK_AGAIN)

    async def _look(self) -> None:
        """Look once. One workspace of several that is out of order keeps the others from nothing."""
        try:
            await self._workspaces.look()
        except Exception as error:  # noqa: BLE001 - the database's, say: it is looked at again, and said meanwhile
            self.trouble = f"the installations cannot be looked at: {type(error).__name__}"
            slack_logger().warning("%s", self.trouble)
            return
        troubles, live = self._workspaces.troubles, self._workspaces.live
        said = "; ".join(f"{place}: {why}" for place, why in troubles.items())
        self.trouble = said if live and len(troubles) == len(live) else None

    async def known(self) -> Installation:
        """Return the installation that the present request is for, or the only one; raise SlackApiError."""
        one = await origin_or_none(self._workspaces)
        if one is None and len(self._workspaces.live) == 1:
            one = self._workspaces.live[0]
        if one is None:
            raise not_installed("any workspace that asked")
        return Installation(str(one.place), one.place.enterprise or None)

    async def everywhere(self) -> list[tuple[Installation, Origin | None]]:
        """Return each installation as it is now."""
        await self._workspaces.load()
        places = [one.place for one in self._workspaces.live]
        return [
            (Installation(str(place), place.enterprise or None), Origin(place.team, place.enterprise, not place.team))
            for place in places
        ]

    async def __call__(self, **_: Any) -> AuthorizeResult:
        """Return what is known; who acted, and where, is checked later."""
        try:
            one: Installed | None = await origin_or_none(self._workspaces)
        except FAILURES:
            one = None
        place = one.place if one else None
        return AuthorizeResult(
            enterprise_id=place.enterprise if place else None,
            team_id=place.team or None if place else None,
            bot_user_id=one.bot_user if one else None,
            bot_id=one.bot_id if one else None,
        )


_SECONDS = 2.0
"""In which it has to be recorded; else Slack, which waits for three, says it again."""
_CHANNELS = {
    "channel_archive": "is archived: nothing can be posted there",
    "group_archive": "is archived: nothing can be posted there",
    "channel_deleted": "is deleted: nothing can be posted there",
    "group_deleted": "is deleted: nothing can be posted there",
    "channel_unarchive": "is in use again: what it blocked is tried again",
    "group_unarchive": "is in use again: what it blocked is tried again",
    "channel_left": "has no bot any more: invite it",
    "group_left": "has no bot any more: invite it",
}


EVENTS = frozenset({"app_uninstalled", "tokens_revoked", "user_change", "team_join", *_CHANNELS})
"""The events that are taken here."""


@dataclass(frozen=True)
class AppLifecycle:
    """Hands in what Slack says of installations and members; what it says of channels stands in the log.

    What a channel blocks is tried again by itself, so nothing has to be done when it is in use again.
    """

    desk: InstallationLifecycle
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
        place = InstallPlace("" if origin.is_whole else origin.team, origin.enterprise)
        if await self.desk.remove(place, why, said_at):
            slack_logger().warning("the app is not installed in %s any more: %s", place, why)
        if self.workspaces is not None:
            await self.workspaces.load()


def _tell(event: Event) -> None:
    if (said := _CHANNELS.get(event.type)) and event.place:
        slack_logger().warning("channel %s %s", event.place, said)
