"""Slack as a connector: what we post passes the gate like any other effect.

The parameters of its operations are read strictly. Messages that ask for a step's repair say in the end what came of
the step, and lose their buttons.
"""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from pydantic import ValidationError
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.card_posts import NOT_EDITABLE, CardPosts
from bot.client import FAILURES, error_code, failure
from bot.direct_messages import MESSAGE_EVENT, DirectMessages
from bot.posts import Posts, find_message, machine_pace
from bot.views.blocks import SECTION_LIMIT, Block, call_of, context, dated, mrkdwn_text, section
from bot.views.buttons import answer_button
from bot.views.card import BUDGET
from bot.views.messages import closed_words, message_moments, message_text
from bot.views.states import sign_of
from bot.views.step_repair import repair_buttons
from bot.views.text import Shown, chunks, clip, legible, plain, units
from runtime.clock import Clock
from runtime.handlers import Call, Done, Handler, JsonObject, Reconciled, RefusedError, TransientError, Untouched
from runtime.model.chat_message import Message
from runtime.model.messages import (
    DirectMessage,
    PostCard,
    PostMessage,
    PostTask,
    QuestionAnswered,
    QuestionAsked,
    RequestHanded,
    Said,
    StepNeedsAttention,
    UpdateCard,
    UpdateMessage,
)
from runtime.model.routing import is_person
from runtime.model.states import ApprovalStatus
from runtime.services.approvals import ApprovalService
from runtime.services.cards import StoredCards

P = TypeVar("P", bound=Message)


def params_of(model: type[P], call: Call) -> P:
    """Return the parameters of a call; what is wrong with them is refused by name."""
    try:
        return model.model_validate(call.params)
    except ValidationError as error:
        places = "; ".join(f"params.{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise RefusedError(f"{call.operation}: {places}") from None


class StepQuestions:
    """What was asked in the chat, by the effects that posted it."""

    def __init__(self, posts: Posts, desk: ApprovalService) -> None:
        self._posts = posts
        self._desk = desk

    async def close(self, effect_id: str, text: str, blocks: list[Block]) -> bool:
        """Return whether the message shows this now: not where it is gone, or may not be edited.

        Raise TransientError before it is posted.
        """
        question = await self._desk.step_repair.question(effect_id)
        if question.place is None and question.may_come:
            raise TransientError("the message is not posted yet")
        return question.place is not None and await self._edit(*question.place, text, blocks)

    async def _edit(self, channel: str, ts: str, text: str, blocks: list[Block]) -> bool:
        try:
            await self._posts.edit(channel, ts, text, blocks)
        except SlackApiError as error:
            if error_code(error) not in NOT_EDITABLE:
                raise
            return False
        return True


_MESSAGE_UNITS, _MESSAGE_LINES, _FALLBACK_CHARS = BUDGET - 2000, 200, 2000
# What Slack says of a thread whose first message is gone.
_NO_THREAD = frozenset({"cannot_reply_to_message", "thread_not_found", "message_not_found"})

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


def message_blocks(text: str, moments: Sequence[datetime] = ()) -> list[Block]:
    """Return data as paragraphs, its moments in the reader's own time zone; what is left out is counted."""
    shown = dated(legible(text.strip()), moments)
    if moments and units(shown) <= SECTION_LIMIT:
        return [{"type": "section", "text": mrkdwn_text(shown)}]
    head, hidden = clip(text.strip(), _MESSAGE_UNITS, _MESSAGE_LINES)
    paragraphs = [section(part) for part in chunks(head, SECTION_LIMIT)]
    return [*paragraphs, section(plain(f"… {hidden:,} more characters"))] if hidden else paragraphs


class SlackConnector:
    """The operations of the chat."""

    def __init__(
        self,
        client: AsyncWebClient,
        posts: Posts,
        cards: CardPosts,
        questions: StepQuestions,
        told: DirectMessages,
        *,
        mocked: bool,
    ) -> None:
        self._prefix = "On mocks: " if mocked else ""
        self._questions = questions
        self._told = told
        self._client = client
        self._posts = posts
        self._cards = cards

    async def post_card(self, call: Call) -> JsonObject:
        """Post an approval's card, or a copy of it, once."""
        params = params_of(PostCard, call)
        copy_at = _copy_at(params)
        if copy_at is None or not is_person(copy_at):
            return await self._cards.post(params.approval_id, params.channel, call.key, copy_at)
        view = await self._cards.approval(params.approval_id)
        post = partial(self._cards.post, params.approval_id, key=call.key, copy_at=copy_at)
        return await self._told.copy(view, copy_at, post)

    async def post_task(self, call: Call) -> JsonObject:
        """Post the card of a review."""
        params = params_of(PostTask, call)
        return await self._cards.post(params.approval_id, params.channel, call.key)

    async def reconcile_card(self, call: Call) -> Reconciled:
        """Find a card that was posted without an answer."""
        params = params_of(PostTask, call)
        found = await self._cards.find(params.approval_id, params.channel, call.key, _copy_at(params))
        return Untouched() if found is None else Done(found)

    async def update_card(self, call: Call) -> JsonObject:
        """Show the present state on the card."""
        params = params_of(UpdateCard, call)
        if params.copy_at and is_person(params.copy_at) and not await self._cards.has_copy(params):
            view = await self._cards.approval(params.approval_id)
            is_over = view.status is not ApprovalStatus.REQUESTED  # a copy that was not posted by now asks nothing
            if is_over or not await self._told.count_copy(view, params.copy_at):
                return {"is_shown": False}
        return await self._cards.update(params.approval_id, params.copy_at)

    async def post_message(self, call: Call) -> JsonObject:
        """Post text into the thread of a card, or into a channel."""
        params = params_of(PostMessage, call)
        if params.thread_of is None:
            return await self._say(params, params.channel, call.key, None)
        channel, card = await self._cards.location(params.thread_of)
        try:
            return await self._say(params, channel, call.key, card)
        except SlackApiError as error:
            if error_code(error) not in _NO_THREAD:
                raise
        channel, thread = await self._cards.thread_anew(params.thread_of)
        return await self._say(params, channel, call.key, thread)

    async def reconcile_message(self, call: Call) -> Reconciled:
        """Find a message that was posted without an answer."""
        params = params_of(PostMessage, call)
        if params.thread_of is None:
            return _place(params.channel, await find_message(self._client, params.channel, call.key))
        channel, thread = await self._cards.location(params.thread_of)
        try:
            return _place(channel, await find_message(self._client, channel, call.key, thread=thread))
        except SlackApiError as error:
            if error_code(error) not in _NO_THREAD:
                raise
            return Untouched()

    async def direct_message(self, call: Call) -> JsonObject:
        """Write to one person, as much and at such times as they are told."""
        params = params_of(DirectMessage, call)
        return await self._told.tell(params, call.key, lambda channel: self._say(params, channel, call.key, None))

    async def update_message(self, call: Call) -> JsonObject:
        """Have a message that asked for a step's repair say what came of it."""
        params = params_of(UpdateMessage, call)
        text = f"{self._prefix}{closed_words(params.said, params.then)}"
        return {
            "is_shown": await self._questions.close(
                params.message, legible(text[:_FALLBACK_CHARS]), message_blocks(text)
            )
        }

    async def reconcile_direct(self, call: Call) -> Reconciled:
        """Find a direct message that was posted without an answer."""
        channel = await self._told.channel(params_of(DirectMessage, call).user)
        return _place(channel, await find_message(self._client, channel, call.key))

    async def _say(self, params: PostMessage | DirectMessage, channel: str, key: str, thread: str | None) -> JsonObject:
        """Put what happened into words and, where it is about a card that is elsewhere, add the way there."""
        what, found = await self._about(params.card_of) if params.card_of else ("", Shown(""))
        text = f"{self._prefix}{message_text(params.said, what)}"
        way = [context(mrkdwn_text(found))] if found else []
        metadata = {"event_type": MESSAGE_EVENT, "event_payload": {"key": key}}
        acts = (
            [repair_buttons(params.said.run_id, params.said.step)]
            if isinstance(params.said, StepNeedsAttention)
            else []
        )
        asks = [answer_button(params.said)] if isinstance(params.said, QuestionAsked) and params.said.mention else []
        paragraphs = message_blocks(f"{sign_of(params.said)}{text}", message_moments(params.said))
        blocks = [*_called(params.said), *paragraphs, *acts, *asks, *way]
        return await self._posts.post(channel, metadata, legible(text[:_FALLBACK_CHARS]), blocks, thread)

    async def _about(self, approval_id: str) -> tuple[str, Shown]:
        """Return what the request is called, and the ways to it."""
        return await asyncio.gather(self._cards.title(approval_id), self._cards.ways(approval_id))


def _copy_at(params: PostCard) -> str | None:
    return params.channel if params.is_copy else None


def _called(said: Said) -> list[Block]:
    """Return who is called by name, where what is said is for somebody."""
    call = call_of(said.mention) if isinstance(said, RequestHanded | QuestionAsked | QuestionAnswered) else Shown("")
    return [context(mrkdwn_text(call))] if call else []


def _place(channel: str, message: Mapping[str, Any] | None) -> Reconciled:
    return Done({"channel": channel, "ts": message["ts"]}) if message else Untouched()


def slack_handlers(
    client: AsyncWebClient, desk: ApprovalService, ledger: StoredCards, clock: Clock, *, mocked: bool
) -> dict[str, Handler]:
    """Return the chat's handlers. `client` must not retry by itself (see client.py); `mocked` messages say so."""
    posts = Posts(client, machine_pace())
    cards = CardPosts(client, posts, desk, ledger, clock)
    told = DirectMessages(client, posts, desk, clock)
    slack = SlackConnector(client, posts, cards, StepQuestions(posts, desk), told, mocked=mocked)
    find_card = _answered(slack.reconcile_card)
    return {
        "slack::post_card": Handler(_answered(slack.post_card), find_card),
        "slack::post_task": Handler(_answered(slack.post_task), find_card),
        "slack::update_card": Handler(_answered(slack.update_card)),
        "slack::post_message": Handler(_answered(slack.post_message), _answered(slack.reconcile_message)),
        "slack::update_message": Handler(_answered(slack.update_message)),
        "slack::direct_message": Handler(_answered(slack.direct_message), _answered(slack.reconcile_direct)),
    }
