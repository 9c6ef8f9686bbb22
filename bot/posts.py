"""Posts: puts messages into conversations, each in its turn, with the idempotency key that finds it again.

The pace is about one message a second into a channel, a few at once, and none while Slack says wait. A message whose
answer was lost is found again by the key in its metadata.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.client import retry_after
from bot.views.blocks import Block
from runtime.handlers import JsonObject, NotTakenError, OutcomeUnknownError

PER_SECOND, BURST = 1.0, 5
PATIENCE = 5.0
"""Seconds that a call may wait for its turn; what has to wait longer comes back later."""

_IDLE = 600.0


@dataclass
class _Channel:
    """`level` messages may go at once, as of `at`; none before `closed_until`. Seconds of a monotonic clock."""

    level: float
    at: float
    closed_until: float = 0.0


class Pace:
    """The turns of one process's messages, by channel. What Slack says about one of them holds for all."""

    def __init__(self, now: Callable[[], float], sleep: Callable[[float], Awaitable[None]]) -> None:
        self._now = now
        self._sleep = sleep
        self._channels: dict[str, _Channel] = {}

    async def open(self, channel: str) -> None:
        """Wait until Slack lets anything into a channel; raise NotTakenError where that takes too long."""
        known = self._channels.get(channel)
        await self._wait(known.closed_until - self._now() if known else 0.0, "Slack asked to wait with this channel")

    async def turn(self, channel: str) -> None:
        """Wait for the turn to post into a channel; raise NotTakenError where that takes too long."""
        await self.open(channel)
        now = self._now()
        self._forget(now)
        turns = self._channels.setdefault(channel, _Channel(BURST, now))
        level = min(BURST, turns.level + (now - turns.at) * PER_SECOND)
        wait = (1 - level) / PER_SECOND
        if wait <= PATIENCE:
            turns.level, turns.at = level - 1, now  # this turn is taken, though its time may be still to come
        await self._wait(wait, "too many messages at once for this channel")

    async def _wait(self, seconds: float, why: str) -> None:
        if seconds > PATIENCE:
            raise NotTakenError(why, seconds)
        if seconds > 0:
            await self._sleep(seconds)

    def close(self, channel: str, seconds: float) -> None:
        """Take Slack's word that nothing may go into a channel for so long."""
        now = self._now()
        bucket = self._channels.setdefault(channel, _Channel(BURST, now))
        bucket.closed_until = max(bucket.closed_until, now + seconds)

    def _forget(self, now: float) -> None:
        """Drop channels that have been silent."""
        idle = [name for name, one in self._channels.items() if max(one.at, one.closed_until) < now - _IDLE]
        for name in idle:
            del self._channels[name]


def machine_pace() -> Pace:
    """Return the pace of this process, by the event loop's clock."""
    return Pace(lambda: asyncio.get_running_loop().time(), asyncio.sleep)


class Posts:
    """Posts and edits. What Slack says about the pace of a channel holds for all that go there."""

    def __init__(self, client: AsyncWebClient, pace: Pace) -> None:
        self._client = client
        self._pace = pace

    async def post(
        self, channel: str, metadata: Mapping[str, Any], text: str, blocks: list[Block], thread: str | None
    ) -> JsonObject:
        """Post; return {channel, ts} of the message."""
        await self._pace.turn(channel)
        try:
            response = await self._client.chat_postMessage(
                channel=channel,
                text=text,
                blocks=blocks,
                thread_ts=thread,
                metadata=dict(metadata),
                unfurl_links=False,
                unfurl_media=False,
            )
        except SlackApiError as error:
            self._slow_down(channel, error)
            raise
        if not response.get("ts"):
            raise OutcomeUnknownError("Slack answered without a message")
        return {"channel": str(response["channel"]), "ts": str(response["ts"])}

    async def edit(self, channel: str, ts: str, text: str, blocks: list[Block]) -> None:
        """Change a message of ours in its place."""
        await self._pace.open(channel)
        try:
            await self._client.chat_update(channel=channel, ts=ts, text=text, blocks=blocks)
        except SlackApiError as error:
            self._slow_down(channel, error)
            raise

    def _slow_down(self, channel: str, error: SlackApiError) -> None:
        seconds = retry_after(error)
        if seconds:
            self._pace.close(channel, seconds)


_PAGE, _PAGES = 200, 20


def _is_ours(message: Mapping[str, Any], key: str) -> bool:
    metadata = message.get("metadata") or {}
    return (metadata.get("event_payload") or {}).get("key") == key


async def _page(
    client: AsyncWebClient, channel: str, thread: str | None, cursor: str | None, oldest: str | None
) -> AsyncSlackResponse:
    if thread:
        return await client.conversations_replies(
            channel=channel, ts=thread, cursor=cursor, limit=_PAGE, include_all_metadata=True, oldest=oldest
        )
    return await client.conversations_history(
        channel=channel, cursor=cursor, limit=_PAGE, include_all_metadata=True, oldest=oldest
    )


async def find_message(
    client: AsyncWebClient, channel: str, key: str, *, thread: str | None = None, oldest: datetime | None = None
) -> Mapping[str, Any] | None:
    """Return the message, or None when all that could be it was read; too much to read leaves it unknown."""
    cursor: str | None = None
    since = f"{oldest.timestamp():.6f}" if oldest else None
    for _ in range(_PAGES):
        page = await _page(client, channel, thread, cursor, since)
        messages: list[dict[str, Any]] = page.get("messages", [])
        found = next((message for message in messages if _is_ours(message, key)), None)
        if found:
            return found
        paging: dict[str, str] | None = page.get("response_metadata")
        cursor = paging.get("next_cursor") if paging else None
        if not cursor:
            return None
    raise OutcomeUnknownError(f"the message is not among the last {_PAGE * _PAGES:,} of {channel}")
