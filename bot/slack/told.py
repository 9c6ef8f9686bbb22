"""Messages to one person: said by themselves, or gathered into one that grows, when they are too many."""

from collections.abc import Awaitable, Callable, Sequence

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.card_posts import FINAL
from bot.slack.client import error_code
from bot.slack.history import find_message
from bot.slack.home_link import HomeLink
from bot.slack.posts import Posts
from bot.views.gathered import gathered_message
from bot.views.wording import headline
from runtime.clock import Clock
from runtime.handlers import JsonObject, NotTakenError, TransientError
from runtime.model.approval import AskKind
from runtime.model.delivery import Gathered, Gathering, Later, Needless, Notice, Together
from runtime.model.messages import DirectMessage, Plain, Reminder, Said, TimeRunsShort
from runtime.services.approval_view import ApprovalView
from runtime.services.desk_model import Desk

MESSAGE_EVENT = "countersign_message"

_NOT_YET = 2.0
"""Seconds until it is looked again whether a gathering is posted."""
_PASSES = 6
# Each pass shows more, so this many mean that it grows faster than Slack answers.


class Told:
    """What people are told one by one, and what is gathered for them."""

    def __init__(self, client: AsyncWebClient, posts: Posts, desk: Desk, clock: Clock) -> None:
        self._client = client
        self._posts = posts
        self._desk = desk
        self._clock = clock
        self._home = HomeLink(client)

    async def tell(self, params: DirectMessage, key: str, alone: Callable[[str], Awaitable[JsonObject]]) -> JsonObject:
        """Say something to one person, by itself or with much else; or say why it is not said, or not yet."""
        asks = isinstance(params.said, Reminder | TimeRunsShort)
        return await self._in_turn(Notice(key, params.user, _document(params.said), params.card_of, asks), alone)

    async def copy(self, view: ApprovalView, user: str, post: Callable[[str], Awaitable[JsonObject]]) -> JsonObject:
        """Post somebody's own copy of a card, as one of what they are told; where it is too much it is a line."""
        return await self._in_turn(_of_copy(view, user), post)

    async def count_copy(self, view: ApprovalView, user: str) -> bool:
        """Count somebody's copy as one of what they are told; return whether it is a card, be it later.

        It is none where it is a line among others, or needless.
        """
        return not isinstance(await self._desk.notices.take_turn(_of_copy(view, user)), Together | Needless)

    async def _in_turn(self, notice: Notice, alone: Callable[[str], Awaitable[JsonObject]]) -> JsonObject:
        turn = await self._desk.notices.take_turn(notice)
        match turn:
            case Needless():
                return {"is_needed": False}
            case Later():
                raise NotTakenError("it falls into quiet hours", (turn.at - self._clock()).total_seconds())
            case Together():
                return await self._show(notice, turn.gathering_id)
        return await alone(await self.channel(notice.account))

    async def channel(self, user: str) -> str:
        """Return the conversation with a person."""
        response = await self._client.conversations_open(users=user)
        return str(response["channel"]["id"])

    async def _show(self, notice: Notice, gathering_id: str) -> JsonObject:
        """Have the message say all that is gathered by now: post it, or edit it until it does."""
        found, is_shown = await self._find(gathering_id), True
        if found.place is None and found.poster != notice.key:
            raise NotTakenError("the message that gathers it is not posted yet", _NOT_YET)
        shown = await self._post(found) if found.place is None else ()
        for _ in range(_PASSES):
            newest = await self._find(gathering_id)
            if newest.items == shown:
                return {"gathered_in": gathering_id, "is_shown": is_shown}
            is_shown, shown = await self._edit(newest), newest.items
        raise TransientError("more is gathered than can be shown")

    async def _find(self, gathering_id: str) -> Gathering:
        found = await self._desk.notices.gathering(gathering_id)
        if found is None:
            raise LookupError(f"no gathering {gathering_id}")
        return found

    async def _post(self, found: Gathering) -> Sequence[Gathered]:
        """Post it, unless it was posted and that was not kept; return what it shows then, as far as that is known."""
        channel, key = await self.channel(found.account), f"gathering:{found.gathering_id}"
        there = await find_message(self._client, channel, key)
        if there is not None:
            await self._desk.notices.posted(found.gathering_id, channel, str(there["ts"]))
            return ()
        text, blocks = gathered_message(found, await self._home.link(), await self._home.workspace())
        metadata = {"event_type": MESSAGE_EVENT, "event_payload": {"key": key}}
        place = await self._posts.post(channel, metadata, text, blocks, None)
        await self._desk.notices.posted(found.gathering_id, place["channel"], place["ts"])
        return found.items

    async def _edit(self, found: Gathering) -> bool:
        """Return whether the message shows it: not where it is gone, or may not be edited."""
        assert found.place is not None  # noqa: S101 - it was posted before
        text, blocks = gathered_message(found, await self._home.link(), await self._home.workspace())
        try:
            await self._posts.edit(*found.place, text, blocks)
        except SlackApiError as error:
            if error_code(error) not in FINAL:
                raise
            return False
        return True


def _document(said: Said) -> JsonObject:
    return said.model_dump(mode="json")


def _of_copy(view: ApprovalView, user: str) -> Notice:
    """Return a copy of a card as something that is told; its key is that of the effect which posts it."""
    said = Plain(text=f"Your decision is needed: {headline(view)}")
    key, is_doubt = f"slack:card:{view.approval_id}:{user}", view.kind is AskKind.IN_DOUBT
    return Notice(key, user, _document(said), view.approval_id, asks=True, is_alarm=is_doubt)
