"""Direct messages: each is sent by itself, or, where there are too many, in one message that grows.

That message links to the person's Home, by what Slack says of our app; Slack is asked for that once.
"""

import re
from collections.abc import Awaitable, Callable, Sequence

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.card_posts import NOT_EDITABLE
from bot.client import FAILURES, error_code
from bot.posts import Posts, find_message
from bot.views.messages import gathered_message
from bot.views.text import Shown
from bot.views.wording import headline
from runtime.clock import Clock
from runtime.handlers import JsonObject, NotTakenError, TransientError
from runtime.model.approval import AskKind
from runtime.model.delivery import GatheredMessage, Gathering, Notice, NotNeeded, SendGathered, SendLater
from runtime.model.messages import DirectMessage, Plain, Reminder, Said, TimeRunsShort
from runtime.services.approval_view import ApprovalView
from runtime.services.approvals import ApprovalService

_ID = re.compile(r"[A-Z0-9]{1,30}")


class HomeLink:
    """A link into Slack itself; without one the words around it say where to look."""

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client
        self._link: Shown | None = None
        self._workspace = ""

    async def workspace(self) -> str:
        """Return the address of the workspace, "" where Slack does not tell it."""
        if not self._workspace:
            try:
                self._workspace = str((await self._client.auth_test())["url"])
            except (*FAILURES, KeyError):
                return ""
        return self._workspace

    async def link(self) -> Shown | None:
        """Return the link, or None where Slack does not tell by what to link."""
        if self._link is None:
            try:
                who = await self._client.auth_test()
                bot = await self._client.bots_info(bot=str(who["bot_id"]))
                team, app = str(who["team_id"]), str(bot["bot"]["app_id"])
            except (*FAILURES, KeyError):
                return None
            if _ID.fullmatch(team) and _ID.fullmatch(app):
                self._link = Shown(f"<slack://app?team={team}&amp;id={app}&amp;tab=home|Open your Home>")
        return self._link


MESSAGE_EVENT = "countersign_message"

_NOT_YET = 2.0
"""Seconds until it is looked again whether a gathering is posted."""
_PASSES = 6
# Each pass shows more, so this many mean that it grows faster than Slack answers.


class DirectMessages:
    """What people are told one by one, and what is gathered for them."""

    def __init__(self, client: AsyncWebClient, posts: Posts, desk: ApprovalService, clock: Clock) -> None:
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
        return not isinstance(await self._desk.notices.take_turn(_of_copy(view, user)), SendGathered | NotNeeded)

    async def _in_turn(self, notice: Notice, alone: Callable[[str], Awaitable[JsonObject]]) -> JsonObject:
        turn = await self._desk.notices.take_turn(notice)
        match turn:
            case NotNeeded():
                return {"is_needed": False}
            case SendLater():
                raise NotTakenError("it falls into quiet hours", (turn.at - self._clock()).total_seconds())
            case SendGathered():
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

    async def _post(self, found: Gathering) -> Sequence[GatheredMessage]:
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
            if error_code(error) not in NOT_EDITABLE:
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
