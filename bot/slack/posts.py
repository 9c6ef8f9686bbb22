"""Puts messages into conversations: each at its turn, with the key by which it is found again."""

from collections.abc import Mapping
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.client import retry_after
from bot.slack.pace import Pace
from bot.views.blocks import Block
from runtime.handlers import JsonObject, OutcomeUnknownError


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
