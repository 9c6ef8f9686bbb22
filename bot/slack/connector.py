"""Slack as a connector: what we post passes the gate like any other effect."""

import functools
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.cards.blocks import SECTION_LIMIT, Block, section
from bot.cards.card import BUDGET, card
from bot.cards.text import chunks, clip, mrkdwn, plain
from bot.slack.client import FAILURES, failure
from bot.slack.history import find_message
from bot.slack.operations import params_of
from runtime.clock import Clock
from runtime.desk.model import ApprovalView, CardLedger, Desk
from runtime.handlers import Call, Handler, JsonObject, OutcomeUnknownError, RefusedError, TransientError
from runtime.model.messages import DirectMessage, PostCard, PostMessage, PostTask, UpdateCard

CARD_EVENT, MESSAGE_EVENT = "countersign_card", "countersign_message"

_MESSAGE_UNITS, _MESSAGE_LINES, _FALLBACK_CHARS = BUDGET - 2000, 200, 2000
# Two clocks, ours and Slack's, decide whether a message is newer than its request.
_SKEW = timedelta(minutes=10)
# Each pass shows a newer revision, so this many passes mean that votes arrive faster than Slack answers.
_UPDATE_PASSES = 5

Run = Callable[[Call], Awaitable[Any]]


def _answered(run: Run) -> Run:
    """Turn a failed call into what it means for the effect."""

    @functools.wraps(run)
    async def wrapped(call: Call) -> Any:
        try:
            return await run(call)
        except FAILURES as error:
            raise failure(error) from error

    return wrapped


def _blocks(text: str) -> list[Block]:
    """Return data as paragraphs; what is left out is counted."""
    head, hidden = clip(text.strip(), _MESSAGE_UNITS, _MESSAGE_LINES)
    paragraphs = [section(part) for part in chunks(head, SECTION_LIMIT)]
    return [*paragraphs, section(plain(f"… {hidden:,} more characters"))] if hidden else paragraphs


class SlackConnector:
    """The operations of the chat."""

    def __init__(self, client: AsyncWebClient, desk: Desk, ledger: CardLedger, clock: Clock) -> None:
        self._client = client
        self._desk = desk
        self._ledger = ledger
        self._clock = clock

    async def _approval(self, approval_id: str) -> ApprovalView:
        view = await self._desk.approval(approval_id)
        if view is None:
            raise RefusedError(f"no approval {approval_id}")
        return view

    async def post_card(self, call: Call) -> JsonObject:
        """Post an approval's card, once; where it stands is remembered with exactly what it showed."""
        return await self._post_card(params_of(PostCard, call), call.key)

    async def post_task(self, call: Call) -> JsonObject:
        """Post the card of a review."""
        return await self._post_card(params_of(PostTask, call), call.key)

    async def _post_card(self, params: PostCard, key: str) -> JsonObject:
        known = await self._ledger.location(params.approval_id)
        if known:
            return {"channel": known[0], "ts": known[1]}
        shown = card(await self._approval(params.approval_id), now=self._clock())
        place = await self._post(
            params.channel,
            {"event_type": CARD_EVENT, "event_payload": {"approval_id": params.approval_id, "key": key}},
            shown.text,
            shown.blocks,
        )
        await self._ledger.remember(params.approval_id, place["channel"], place["ts"], shown.json())
        return place

    async def reconcile_card(self, call: Call) -> JsonObject | None:
        """Find a card that was posted without an answer, and remember it as it stands."""
        params = params_of(PostTask, call)
        view = await self._approval(params.approval_id)
        since = view.requested_at - _SKEW
        found = await find_message(self._client, params.channel, call.key, oldest=since)
        if found is None:
            return None
        shown = {"text": found["text"], "blocks": found["blocks"]}
        await self._ledger.remember(params.approval_id, params.channel, found["ts"], shown)
        return {"channel": params.channel, "ts": found["ts"]}

    async def update_card(self, call: Call) -> JsonObject:
        """Show the present state on the card; two who do this at once both end at the newest state."""
        params = params_of(UpdateCard, call)
        location = await self._ledger.location(params.approval_id)
        if location is None:
            raise TransientError("the card is not posted yet")
        channel, ts = location
        view = await self._approval(params.approval_id)
        for _ in range(_UPDATE_PASSES):
            shown = card(view, now=self._clock())
            await self._client.chat_update(channel=channel, ts=ts, text=shown.text, blocks=shown.blocks)
            await self._ledger.remember(params.approval_id, channel, ts, shown.json())
            newest = await self._approval(params.approval_id)
            if newest.revision == view.revision:
                return {"channel": channel, "ts": ts, "revision": view.revision}
            view = newest
        raise TransientError("the request changes faster than its card")

    async def post_message(self, call: Call) -> JsonObject:
        """Post text into the thread of a card, or into a channel."""
        params = params_of(PostMessage, call)
        channel, thread = await self._thread(params)
        return await self._post_text(channel, params.text, call.key, thread)

    async def _thread(self, params: PostMessage) -> tuple[str, str | None]:
        if params.thread_of is None:
            return params.channel, None
        location = await self._ledger.location(params.thread_of)
        if location is None:
            raise TransientError("the card is not posted yet")
        return location

    async def reconcile_message(self, call: Call) -> JsonObject | None:
        """Find a message that was posted without an answer."""
        params = params_of(PostMessage, call)
        channel, thread = await self._thread(params)
        return _place(channel, await find_message(self._client, channel, call.key, thread=thread))

    async def direct_message(self, call: Call) -> JsonObject:
        """Write to one person."""
        params = params_of(DirectMessage, call)
        return await self._post_text(await self._direct(params), params.text, call.key, None)

    async def reconcile_direct(self, call: Call) -> JsonObject | None:
        """Find a direct message that was posted without an answer."""
        channel = await self._direct(params_of(DirectMessage, call))
        return _place(channel, await find_message(self._client, channel, call.key))

    async def _direct(self, params: DirectMessage) -> str:
        response = await self._client.conversations_open(users=params.user)
        return str(response["channel"]["id"])

    async def _post_text(self, channel: str, text: str, key: str, thread: str | None) -> JsonObject:
        metadata = {"event_type": MESSAGE_EVENT, "event_payload": {"key": key}}
        return await self._post(channel, metadata, mrkdwn(text[:_FALLBACK_CHARS]), _blocks(text), thread)

    async def _post(
        self, channel: str, metadata: Mapping[str, Any], text: str, blocks: list[Block], thread: str | None = None
    ) -> JsonObject:
        response = await self._client.chat_postMessage(
            channel=channel,
            text=text,
            blocks=blocks,
            thread_ts=thread,
            metadata=dict(metadata),
            unfurl_links=False,
            unfurl_media=False,
        )
        if not response.get("ts"):
            raise OutcomeUnknownError("Slack answered without a message")
        return {"channel": str(response["channel"]), "ts": str(response["ts"])}


def _place(channel: str, message: Mapping[str, Any] | None) -> JsonObject | None:
    return {"channel": channel, "ts": message["ts"]} if message else None


def slack_handlers(client: AsyncWebClient, desk: Desk, ledger: CardLedger, clock: Clock) -> dict[str, Handler]:
    """Return the chat's handlers. `client` must not retry by itself (see client.py)."""
    slack = SlackConnector(client, desk, ledger, clock)
    find_card = _answered(slack.reconcile_card)
    return {
        "slack::post_card": Handler(_answered(slack.post_card), find_card),
        "slack::post_task": Handler(_answered(slack.post_task), find_card),
        "slack::update_card": Handler(_answered(slack.update_card)),
        "slack::post_message": Handler(_answered(slack.post_message), _answered(slack.reconcile_message)),
        "slack::direct_message": Handler(_answered(slack.direct_message), _answered(slack.reconcile_direct)),
    }
