"""User groups: asks Slack for the members of the directory's groups, at intervals and when Slack says that one changed.

Who may vote comes from the members on record, never from Slack at the moment of a click.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.client import FAILURES, error_code, retry_after, slack_logger
from bot.listeners.identity import profile_refusal, team_refusal
from bot.listeners.installation import Installation, InstallationWatch
from bot.origin import Origin, asked_from
from bot.payloads import User
from bot.workspaces import not_installed
from runtime.model.person import Member
from runtime.services.slack_people import UserGroupSync

REFRESH_SECONDS = 600.0
"""Seconds until Slack is asked again, though it has said nothing."""
CHANGED = ("subteam_updated", "subteam_members_changed")
"""Events by which Slack says that a user group is another now. What they say of it is not read: Slack is asked."""

_PATIENCE, _TRIES = 60, 4
_UNKNOWN = "no_such_subteam"


class UserGroupWatch:
    """Keeps the directory's groups at what their user groups are."""

    def __init__(self, client: AsyncWebClient, desk: UserGroupSync, installation: InstallationWatch) -> None:
        self._client = client
        self._desk = desk
        self._installation = installation
        self._changed = asyncio.Event()

    async def on_changed(self) -> None:
        """Take notice that a user group has changed."""
        self._changed.set()

    async def run(self) -> None:
        """Ask until canceled; what fails is made up by the next time, and until then groups stay as they are."""
        while True:
            self._changed.clear()
            try:
                await self.refresh()
            except Exception as error:  # noqa: BLE001 - whatever it is, nobody else has to stop for it
                slack_logger().warning("user groups were not read and will be: %s", type(error).__name__)
            with suppress(TimeoutError):
                async with asyncio.timeout(REFRESH_SECONDS):
                    await self._changed.wait()

    async def refresh(self) -> None:
        """Ask Slack for every user group that the directory names, and hand in what it said."""
        sources = await self._desk.sources()
        if not sources.groups:
            return
        places, known = await self._installation.everywhere(), await self._desk.users()
        found: dict[str, list[Member]] = {}
        for usergroup in dict.fromkeys(sources.groups.values()):
            try:
                found[usergroup] = await self._members(usergroup, places, known if sources.emails else None)
            except FAILURES as error:
                slack_logger().warning("user group %s stays as it was: %s", usergroup, error_code(error))
        if changed := await self._desk.refresh(found):
            slack_logger().info("user groups have changed: %s", ", ".join(one.group for one in changed.groups))

    async def _members(
        self,
        usergroup: str,
        places: Sequence[tuple[Installation, Origin | None]],
        known: Collection[str] | None,
    ) -> list[Member]:
        """Return the members, read in the one workspace that has the group; raise what Slack says where none has it.

        The addresses of those who are not `known` are asked for; nobody's where that is None.
        """
        error: SlackApiError = not_installed("any workspace")
        for installation, origin in places:
            with asked_from(origin):
                try:
                    users = await self._users(usergroup)
                except SlackApiError as refused:
                    if error_code(refused) != _UNKNOWN:
                        raise
                    error = refused
                    continue
                asks = [known is not None and user not in known for user in users]
                return [await self._member(user, installation, asks=one) for user, one in zip(users, asks, strict=True)]
        raise error

    async def _users(self, usergroup: str) -> list[str]:
        answer = await _patiently(lambda: self._client.usergroups_users_list(usergroup=usergroup))
        return [str(user) for user in answer.get("users", [])]

    async def _member(self, user: str, installation: Installation, *, asks: bool) -> Member:
        """Return a member, with their address where it is asked for and Slack says that it is confirmed."""
        if not asks:
            return Member(installation.team, user)
        profile = (await _patiently(lambda: self._client.users_info(user=user))).get("user")
        if not isinstance(profile, dict) or profile.get("id") != user:
            return Member(installation.team, user)
        team = str(profile.get("team_id", ""))
        refused = profile_refusal(profile) or team_refusal(User(id=user, team_id=team), installation, profile)
        email = (profile.get("profile") or {}).get("email")
        told = isinstance(email, str) and profile.get("is_email_confirmed") is True and refused is None
        return Member(team, user, str(email) if told else "")


async def _patiently(ask: Callable[[], Awaitable[Any]]) -> Any:
    """Ask, and wait as long as Slack says where it is asked too often."""
    for _ in range(_TRIES):
        try:
            return await ask()
        except SlackApiError as error:
            if not (pause := retry_after(error)):
                raise
            await asyncio.sleep(min(pause, _PATIENCE))
    return await ask()
