"""Finds a message of ours again by the idempotency key in its metadata."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from runtime.handlers import OutcomeUnknownError

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
