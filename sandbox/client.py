"""Acts as one person in a sandbox workspace, over HTTP: for demonstrations and tests."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import Any, Self

import aiohttp

Json = dict[str, Any]
WAIT_SECONDS = 60.0


class SandboxError(Exception):
    """The sandbox refused an act, or what was waited for did not appear."""


class SandboxUser:
    """A person. Use as ``async with SandboxUser(url, "U1") as ann:``."""

    def __init__(self, base_url: str, user_id: str) -> None:
        self.user_id = user_id
        self._base = base_url.rstrip("/")
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None, connect=5))

    async def __aenter__(self) -> Self:
        """Arrive."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave."""
        await self.aclose()

    async def aclose(self) -> None:
        """Hang up."""
        await self._session.close()

    async def see(self) -> Json:
        """Return everything the person sees now."""
        async with self._session.get(f"{self._base}/sandbox/state", params={"user": self.user_id}) as response:
            return await _result(response)

    async def click(self, card: Json, action_id: str, **how: Any) -> Json:
        """Press a button on a card that `see` or `find_card` gave; confirms any dialog.

        `how` may be `confirmed`, `chosen` (an option's value or several), `deliveries` (repeat the same payload at
        once) and `editions_ago` (click the card as it looked that many edits before).
        """
        place = {"channel": card["channel"], "ts": card["ts"]}
        return await self._act("click", {**place, "action_id": action_id, "confirmed": True, **how})

    async def click_view(self, view: str, action_id: str, **how: Any) -> Json:
        """Press a button in the open ``modal`` or on the ``home``."""
        return await self._act("click", {"view": view, "action_id": action_id, "confirmed": True, **how})

    async def submit(self, values: Mapping[str, str | list[str]] | None = None) -> Json:
        """Submit the open modal; values go by ``block_id/action_id`` or ``action_id``."""
        return await self._act("submit", {"values": dict(values or {})})

    async def close_modal(self) -> Json:
        """Dismiss the open modal."""
        return await self._act("close", {})

    async def say(self, channel: str, text: str, thread_ts: str = "") -> Json:
        """Write a message."""
        return await self._act("say", {"channel": channel, "text": text, "thread_ts": thread_ts})

    async def write(self, text: str) -> Json:
        """Write without sending."""
        return await self._act("write", {"text": text})

    async def command(self, channel: str, text: str) -> Json:
        """Give a slash command, such as ``/countersign help``."""
        return await self._act("command", {"channel": channel, "text": text})

    async def shortcut(self, callback_id: str) -> Json:
        """Use a global shortcut of the app's."""
        return await self._act("shortcut", {"callback_id": callback_id})

    async def message_shortcut(self, card: Json, callback_id: str) -> Json:
        """Use a shortcut of the app's on a message that `see` or `find_card` gave."""
        place = {"channel": card["channel"], "ts": card["ts"]}
        return await self._act("message_shortcut", {**place, "callback_id": callback_id})

    async def uninstall(self) -> Json:
        """Take the app out of the workspace."""
        return await self._act("uninstall", {})

    async def change_channel(self, channel: str, change: str) -> Json:
        """Do to a channel what an admin may: archive, unarchive, remove_bot, invite_bot."""
        return await self._act("channel", {"channel": channel, "change": change})

    async def change_member(self, member: str, change: str) -> Json:
        """Deactivate, or activate, an account."""
        return await self._act("member", {"member": member, "change": change})

    async def regroup(self, usergroup: str) -> Json:
        """Come into a user group, or leave it."""
        return await self._act("regroup", {"usergroup": usergroup})

    async def open_home(self) -> Json:
        """Look at the App Home; returns the acknowledgement, `see` has the view."""
        return await self._act("open_home", {})

    async def find_card(self, predicate: Callable[[Json], bool], timeout: float = WAIT_SECONDS) -> Json:  # noqa: ASYNC109 - a wait
        """Wait for a message (reply and ephemeral included, newest first) that fits; it has its `channel`."""

        def look(state: Json) -> Json | None:
            return next((message for message in messages(state) if predicate(message)), None)

        found: Json = await self.wait_for(look, timeout)
        return found

    async def find_modal(self, timeout: float = WAIT_SECONDS) -> Json:  # noqa: ASYNC109 - a wait
        """Wait for a modal to be open."""
        found: Json = await self.wait_for(lambda state: state["modal"], timeout)
        return found

    async def wait_for(self, look: Callable[[Json], Any], timeout: float = WAIT_SECONDS) -> Any:  # noqa: ASYNC109 - a wait
        """Look again at every change until `look` gives something true."""
        try:
            async with asyncio.timeout(timeout):
                async for state in self._states():
                    if found := look(state):
                        return found
        except TimeoutError:
            seen = "; ".join(message.get("text", "")[:80] for message in messages(await self.see())[:5])
            raise SandboxError(f"{self.user_id} waited {timeout} s in vain; newest messages: {seen}") from None
        raise SandboxError("the sandbox closed the stream of events")

    async def _states(self) -> AsyncIterator[Json]:
        """Give what the person sees now, and again after every change."""
        async with self._session.get(f"{self._base}/sandbox/events") as response:
            async for line in response.content:
                if line.startswith(b"data:"):
                    yield await self.see()

    async def _act(self, action: str, details: Json) -> Json:
        body = {"user": self.user_id, "action": action, **details}
        async with self._session.post(f"{self._base}/sandbox/act", json=body) as response:
            return await _result(response)


async def _result(response: aiohttp.ClientResponse) -> Json:
    result: Json = await response.json()
    if response.status != 200:  # noqa: PLR2004 - anything else is a refusal with its reason
        raise SandboxError(result["problem"])
    return result


def messages(state: Json) -> list[Json]:
    """Return all messages of a state, newest first, replies too, each with its `channel`."""
    found = [
        {**message, "channel": channel["id"]}
        for channel in state["channels"]
        for parent in channel["messages"]
        for message in (parent, *parent["replies"])
    ]
    return sorted(found, key=lambda message: float(message["ts"]), reverse=True)
