"""Slack's record of users: asked once for many who want it, kept for a minute, and never asked before Slack allows it.

Members that nobody here reads are not kept.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.client import Tally, error_code, is_limit, retry_after

FRESH = 60.0
"""Seconds for which a profile is good, counted from the moment at which Slack was asked."""

_AT_ONCE = 8
_MOST = 10_000
_PAUSE = 1.0
"""Seconds to wait where Slack limits us and does not say for how long."""
_READ = (
    *("id", "team_id", "deleted", "is_bot", "is_workflow_bot", "is_restricted", "is_ultra_restricted"),
    *("is_stranger", "enterprise_user"),
)
_NOBODY = frozenset({"user_not_found", "user_not_visible", "users_not_found"})

Profile = Mapping[str, Any]
_Key = tuple[str, str]  # the team where it is asked, and the user


@dataclass(frozen=True)
class _Kept:
    profile: Profile
    until: float


class Profiles:
    """The profiles of one process. Each workspace has its own limits, so what Slack says of one holds for that one."""

    def __init__(self, client: AsyncWebClient, now: Callable[[], float]) -> None:
        self._client = client
        self._now = now
        self._kept: dict[_Key, _Kept] = {}
        self._asking: dict[_Key, asyncio.Task[Profile]] = {}
        self._closed_until: dict[str, float] = {}
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self.limited = Tally("Slack has limited users.info; who is known waits for it")
        self.missed = asyncio.Event()  # set where somebody could not wait for an answer any longer

    async def of(self, place: str, user: str) -> Profile:
        """Return a user's profile as the team `place` sees it, {} where Slack has none; raise what Slack says."""
        key = (place, user)
        kept = self._kept.get(key)
        if kept is not None and kept.until > self._now():
            return kept.profile
        task = self._asking.get(key)
        if task is None:
            task = self._asking[key] = asyncio.create_task(self._find(key))
            task.add_done_callback(lambda done: self._end(key, done))
        return await asyncio.shield(task)

    def forget(self, user: str) -> None:
        """Forget a user whom Slack says has changed: an answer that is under way is not kept, either."""
        for known in (self._kept, self._asking):
            for key in [key for key in known if key[1] == user]:
                del known[key]

    async def on_changed(self, body: Mapping[str, Any]) -> None:
        """Take notice of `user_change`."""
        self.forget(str(body["event"]["user"]["id"]))

    def _end(self, key: _Key, done: asyncio.Task[Profile]) -> None:
        if self._asking.get(key) is done:
            del self._asking[key]
        if not done.cancelled():
            done.exception()  # it is raised to who waits; nobody may be left

    async def _find(self, key: _Key) -> Profile:
        """Ask as soon as Slack allows it, and again where it limits us."""
        place, user = key
        while True:
            await self._open(place)
            async with self._turns:
                if self._closed_for(place) > 0:
                    continue
                asked_at = self._now()
                try:
                    profile = await self._ask(user)
                except SlackApiError as error:
                    if not is_limit(error):
                        raise
                    self.limited.add()
                    pause = retry_after(error) or _PAUSE
                    self._closed_until[place] = max(self._closed_until.get(place, 0.0), self._now() + pause)
                    continue
            if self._asking.get(key) is asyncio.current_task():
                self._keep(key, profile, asked_at + FRESH)
            return profile

    async def _open(self, place: str) -> None:
        while (wait := self._closed_for(place)) > 0:
            await asyncio.sleep(wait)

    def _closed_for(self, place: str) -> float:
        return self._closed_until.get(place, 0.0) - self._now()

    async def _ask(self, user: str) -> Profile:
        try:
            found = (await self._client.users_info(user=user)).get("user")
        except SlackApiError as error:
            if error_code(error) in _NOBODY:
                return {}
            raise
        return {name: found[name] for name in _READ if name in found} if isinstance(found, dict) else {}

    def _keep(self, key: _Key, profile: Profile, until: float) -> None:
        if len(self._kept) >= _MOST:
            now = self._now()
            self._kept = {known: one for known, one in self._kept.items() if one.until > now}
        if len(self._kept) < _MOST:
            self._kept[key] = _Kept(profile, until)


def machine_profiles(client: AsyncWebClient) -> Profiles:
    """Return the profiles of this process, by the event loop's clock."""
    return Profiles(client, lambda: asyncio.get_running_loop().time())
