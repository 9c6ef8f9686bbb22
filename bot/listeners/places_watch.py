"""The installation behind each request, where there are many, as listeners ask for it."""

import asyncio

from slack_bolt.async_app import AsyncBoltContext
from slack_bolt.authorization import AuthorizeResult

from bot.listeners.installation import ASK_AGAIN, Installation, InstallationWatch
from bot.slack.client import FAILURES
from bot.slack.known import Workspaces, not_installed, origin_or_none
from bot.slack.log import slack_logger
from bot.slack.origin import Origin
from bot.slack.workspace_clients import WorkspaceClient
from runtime.model.installed import Installed


class WorkspaceWatch(InstallationWatch):
    """Knows the installations from the desk, and looks after them. An app that is installed nowhere is in order."""

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

    async def __call__(
        self,
        *,
        context: AsyncBoltContext,  # noqa: ARG002 - Bolt's signature
        enterprise_id: str | None,  # noqa: ARG002
        team_id: str | None,  # noqa: ARG002
        user_id: str | None,  # noqa: ARG002
        actor_enterprise_id: str | None = None,  # noqa: ARG002
        actor_team_id: str | None = None,  # noqa: ARG002
        actor_user_id: str | None = None,  # noqa: ARG002
    ) -> AuthorizeResult:
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
