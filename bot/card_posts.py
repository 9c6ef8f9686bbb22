"""Cards in their channels: posted once, edited in place, and posted again where Slack allows no more edits."""

import asyncio
from datetime import timedelta
from weakref import WeakValueDictionary

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.client import FAILURES, error_code, slack_logger
from bot.posts import Posts, find_message
from bot.views.blocks import link, mrkdwn_text
from bot.views.card import Card, card
from bot.views.links import joined_links
from bot.views.text import Shown
from receipts.canonical import digest
from runtime.clock import Clock
from runtime.failpoints import Point, at
from runtime.handlers import JsonObject, RefusedError, TransientError
from runtime.model.messages import UpdateCard
from runtime.model.routing import is_person
from runtime.model.states import ApprovalStatus
from runtime.services.approval_view import ApprovalView
from runtime.services.approvals import ApprovalService
from runtime.services.cards import StoredCards

CARD_EVENT = "countersign_card"

# Two clocks, ours and Slack's, decide whether a message is newer than its request.
_SKEW = timedelta(minutes=10)
# Each pass shows a newer revision, so this many passes mean that votes arrive faster than Slack answers.
_UPDATE_PASSES = 5
# A message that is gone, and those that are there and stay as they are.
_GONE = "message_not_found"
NOT_EDITABLE = frozenset({_GONE, "cant_update_message", "edit_window_closed"})
Location = tuple[str, str]
Posted = tuple[Location, JsonObject]
"""Where a card stands, and the JSON that was shown or what is told of it."""


class CardPosts:
    """The cards of a tenant. Where each stands is in the ledger, with what it showed."""

    def __init__(
        self, client: AsyncWebClient, posts: Posts, desk: ApprovalService, ledger: StoredCards, clock: Clock
    ) -> None:
        self._client = client
        self._posts = posts
        self._desk = desk
        self._ledger = ledger
        self._clock = clock
        self._replacing: WeakValueDictionary[tuple[str, str | None], asyncio.Lock] = WeakValueDictionary()

    async def approval(self, approval_id: str) -> ApprovalView:
        """Return the approval as it is now, or refuse."""
        view = await self._desk.approval(approval_id)
        if view is None:
            raise RefusedError(f"no approval {approval_id}")
        return view

    async def title(self, approval_id: str) -> str:
        """Return what the author of a request calls it, "" where it has no title."""
        return await self._ledger.title(approval_id)

    async def post(self, approval_id: str, place: str, key: str, copy_at: str | None = None) -> JsonObject:
        """Post a card to a conversation or a person, once; where it stands is remembered with what it showed.

        What is told of a card that was posted or edited now says its digest (`card`), which is on the run's chain.
        """
        known = await self._ledger.location(approval_id, copy_at)
        if known:
            return _place(known)
        view = await self.approval(approval_id)
        posted, shown = await self._post(view, await self._conversation(place), key, copy_at)
        return {**_place(posted), **_told(shown)}

    async def _conversation(self, place: str) -> str:
        """Return the conversation that a place is: with a person it is opened."""
        if not is_person(place):
            return place
        return str((await self._client.conversations_open(users=place))["channel"]["id"])

    async def _post(self, view: ApprovalView, channel: str, key: str, copy_at: str | None) -> Posted:
        shown = card(view, now=self._clock())
        metadata = {"event_type": CARD_EVENT, "event_payload": {"approval_id": view.approval_id, "key": key}}
        at(Point.CARD_POSTING)
        posted = await self._posts.post(channel, metadata, shown.text, shown.blocks, None)
        place = (posted["channel"], posted["ts"])
        at(Point.CARD_POSTED)
        await self._ledger.remember(view.approval_id, *place, shown.json(), copy_at)
        at(Point.CARD_REMEMBERED)
        return place, shown.json()

    async def find(self, approval_id: str, place: str, key: str, copy_at: str | None = None) -> JsonObject | None:
        """Find a card that was posted without an answer, and remember it as it stands."""
        view, channel = await self.approval(approval_id), await self._conversation(place)
        found = await find_message(self._client, channel, key, oldest=view.requested_at - _SKEW)
        if found is None:
            return None
        shown = {"text": found["text"], "blocks": found["blocks"]}
        await self._ledger.remember(approval_id, channel, found["ts"], shown, copy_at)
        return {**_place((channel, found["ts"])), **_told(shown)}

    async def update(self, approval_id: str, copy_at: str | None = None) -> JsonObject:
        """Show the present state; two who do this at once both end at the newest state."""
        location = await self.location(approval_id, copy_at)
        view = await self.approval(approval_id)
        for _ in range(_UPDATE_PASSES):
            shown = card(view, now=self._clock())
            location, told = await self._show(view, shown, location, copy_at)
            newest = await self.approval(approval_id)
            if newest.revision == view.revision:
                return {**_place(location), **told, "revision": view.revision}
            view = newest
        raise TransientError("the request changes faster than its card")

    async def location(self, approval_id: str, copy_at: str | None = None) -> Location:
        """Return where the card, or a copy, stands; raise TransientError before it is posted."""
        location = await self._ledger.location(approval_id, copy_at)
        if location is None:
            raise TransientError("the card is not posted yet")
        return location

    async def has_copy(self, params: UpdateCard) -> bool:
        """Return whether the copy that is to be edited was posted."""
        return await self._ledger.location(params.approval_id, params.copy_at) is not None

    async def ways(self, approval_id: str) -> Shown:
        """Return the ways to a request, "" where there are none to be had: what they are added to says enough."""
        return joined_links(await self._link(approval_id), self._desk.links.to_request(approval_id))

    async def _link(self, approval_id: str) -> Shown | None:
        location = await self._ledger.location(approval_id)
        if location is None:
            return None
        try:
            permalink = await self._client.chat_getPermalink(channel=location[0], message_ts=location[1])
        except FAILURES:
            return None
        return link(Shown("Open the card"), str(permalink["permalink"]))

    async def _show(self, view: ApprovalView, shown: Card, location: Location, copy_at: str | None) -> Posted:
        """Edit the card in place, or put another in its place where Slack says that it stays as it is.

        Return where it stands, and what is told of it.
        """
        try:
            await self._posts.edit(*location, shown.text, shown.blocks)
        except SlackApiError as error:
            code = error_code(error)
            if code not in NOT_EDITABLE:
                raise
            is_gone = code == _GONE
            if is_gone and view.status is not ApprovalStatus.REQUESTED:
                return location, {}  # somebody deleted it, and there is nothing left to decide
            return await self._replace(view, location, copy_at, is_gone=is_gone), {}
        await self._ledger.remember(view.approval_id, *location, shown.json(), copy_at)
        return location, _told(shown.json())

    async def thread_anew(self, approval_id: str) -> tuple[str, str | None]:
        """Return where to write instead of under a card that is gone: under another, where one is still needed."""
        view, location = await self.approval(approval_id), await self.location(approval_id)
        if view.status is not ApprovalStatus.REQUESTED:
            return location[0], None
        return await self._replace(view, location, None, is_gone=True)

    async def _replace(self, view: ApprovalView, old: Location, copy_at: str | None, *, is_gone: bool) -> Location:
        """Post a card in the place of one that can't be edited, once; the old one, if it is there, points to it."""
        lock = self._replacing.setdefault((view.approval_id, copy_at), asyncio.Lock())
        async with lock:
            known = await self._ledger.location(view.approval_id, copy_at)
            if known is not None and known != old:
                return known  # another did it meanwhile
            channel, ts = old
            key = f"card:{view.approval_id}:after:{ts}"
            found = await self.find(view.approval_id, channel, key, copy_at)
            place = (channel, str(found["ts"])) if found else (await self._post(view, channel, key, copy_at))[0]
        if not is_gone:
            await self._point(old, place)
        return place

    async def _point(self, old: Location, new: Location) -> None:
        """Say under the old card where the present one is; what can't be said there is only a pity."""
        metadata = {"event_type": CARD_EVENT, "event_payload": {"key": f"after:{new[1]}"}}
        try:
            permalink = await self._client.chat_getPermalink(channel=new[0], message_ts=new[1])
            here = link(Shown("Open the current card"), str(permalink["permalink"])) or ""
            text = Shown(f"This card is out of date. {here}")
            await self._posts.post(old[0], metadata, text, [{"type": "section", "text": mrkdwn_text(text)}], old[1])
        except (*FAILURES, TransientError) as error:
            slack_logger().warning("a card that is out of date does not say so: %s", error_code(error))


def _told(card: JsonObject) -> JsonObject:
    return {"card": digest(card)}


def _place(location: Location) -> JsonObject:
    return {"channel": location[0], "ts": location[1]}
