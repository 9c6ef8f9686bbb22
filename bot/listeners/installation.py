"""Where the app is installed: asked at the start and again and again, never while a click waits for its answer."""

import asyncio
from dataclasses import dataclass

from slack_bolt.async_app import AsyncBoltContext
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.authorization.async_authorize import AsyncAuthorize
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.client import FAILURES, error_code
from bot.slack.origin import Origin
from bot.slack.profiles import machine_profiles

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
        """Return what is known; what the payload says about teams is not asked, and who acted is checked later."""
        user, bot = self._bot
        here = self._installation
        return AuthorizeResult(
            enterprise_id=here.enterprise if here else None,
            team_id=here.team if here else None,
            bot_user_id=user,
            bot_id=bot,
        )
