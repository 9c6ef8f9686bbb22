"""Commands: `/countersign` and `@Countersign …`, and the buttons that page through the lists they return.

Only the person who asks sees the answer. A slash command is answered in its acknowledgement. Only the check of who asks
waits for Slack, for one second at most, so the answer is there within Slack's three. What one person may see is not for
everyone in a channel, so a mention gets an ephemeral answer, in the thread of the question if it was asked in one. The
next page of a list replaces the page that was shown.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus
from typing import Any

from pydantic import ValidationError
from slack_bolt.async_app import AsyncAck, AsyncRespond
from slack_sdk.web.async_client import AsyncWebClient

from bot.client import FAILURES, error_code, slack_logger
from bot.listeners.clicks import DEADLINE, Listener, ListenerContext
from bot.listeners.delegation import COMMAND as DELEGATE
from bot.listeners.delegation import DelegationListener
from bot.listeners.forms import Forms, Modal
from bot.listeners.identity import Identity
from bot.listeners.private_answers import TELL_SECONDS, UNKNOWN_BUTTON, PrivateAnswers
from bot.payloads import Actions, Command, Event, EventCallback, User
from bot.views import command_replies as words
from bot.views.command_replies import (
    SHOWN,
    Reply,
    approval_reply,
    mine_reply,
    pending_reply,
    run_reply,
    search_reply,
    text_reply,
    why_reply,
)
from bot.views.metrics import metrics_reply
from bot.views.references import TurnRef
from runtime.model.person import Person
from runtime.model.search import PageEdge
from runtime.services.home import Look
from runtime.services.refusal_words import refusal_words

NAME = "/countersign"

Answering = Callable[[Person, str], Awaitable[Reply]]


class Commands(Listener):
    """The listener for the slash command. People of the directory alone are shown anything."""

    def __init__(self, context: ListenerContext, forms: Forms, delegating: DelegationListener) -> None:
        super().__init__(context)
        self._forms = forms
        self._delegating = delegating
        self._replies: dict[str, Answering] = {
            "pending": self._pending,
            "mine": self._mine,
            "show": self._show,
            "search": self._search,
            "why": self._why,
            "metrics": self._metrics,
        }

    async def on_command(self, body: dict[str, Any], ack: AsyncAck) -> None:
        """Answer one command; what fails says so, since Slack would say only that it failed."""
        payload = Command.model_validate(body)
        try:
            async with asyncio.timeout(DEADLINE):
                user = User(id=payload.user_id, team_id=payload.team_id)
                answer = await self.answer(user, payload.text, payload.channel_id)
        except Exception as error:  # noqa: BLE001 - nothing was done, and whoever asked is told
            self._log.error("a command was not answered: %s", type(error).__name__)
            answer = text_reply(words.NOT_ANSWERED)
        if isinstance(answer, Reply):
            await ack(text=answer.text, blocks=list(answer.blocks), response_type="ephemeral")
            return
        await ack()
        await self._forms.open(payload.trigger_id, answer, payload.user_id, payload.channel_id)

    async def answer(self, user: User, text: str, channel: str) -> Reply | Modal:
        """Return what one command is answered with: the text of a reply, or a form."""
        name, _, rest = text.strip().partition(" ")
        name = name.lower()
        identity = await self._identity(user)
        if identity.person is None:
            known = (*self._replies, "request", DELEGATE)
            return await self._refuse(identity, name if name in known else "help")
        if name == "request":
            return await self._forms.form(identity.person, rest.strip(), channel)
        if name == DELEGATE:
            return self._delegating.modal(identity.person, channel)
        answer = self._replies.get(name)
        return await answer(identity.person, rest.strip()) if answer else text_reply(words.HELP)

    async def _refuse(self, identity: Identity, command: str) -> Reply:
        assert identity.refusal is not None  # noqa: S101 - there is a person, or why there is none
        await self._front.refused(identity.account, command, identity.refusal.code)
        return text_reply(refusal_words(identity.refusal))

    async def turned(self, user: User, ref: TurnRef) -> Reply:
        """Return what of a list is behind an entry, as it is for the person now."""
        identity = await self._identity(user)
        if identity.person is None:
            return await self._refuse(identity, ref.list)
        person = identity.person
        if ref.list == "mine":
            return mine_reply(await self._front.mine(person, SHOWN, ref.behind))
        if ref.list == "search":
            return search_reply(await self._front.search(person, ref.words, SHOWN, ref.behind), ref.words)
        edge = None if ref.at is None else PageEdge(ref.at, ref.behind, back=False)
        waiting = await self._front.home.waiting(person.id, Look(SHOWN, edge=edge))
        return pending_reply(waiting, self._clock(), is_first=edge is None)

    async def _pending(self, person: Person, _: str) -> Reply:
        return pending_reply(await self._front.home.waiting(person.id, Look(SHOWN)), self._clock())

    async def _mine(self, person: Person, _: str) -> Reply:
        return mine_reply(await self._front.mine(person, SHOWN))

    async def _show(self, person: Person, some_id: str) -> Reply:
        if not some_id:
            return text_reply(words.WHICH.format("show"))
        linked = self._desk.links.read(some_id)
        some_id = linked.id if linked else some_id
        if view := await self._front.approval(person, some_id):
            return approval_reply(view, self._clock())
        run = await self._front.run(person, some_id)
        return run_reply(run) if run else text_reply(words.NOTHING_TO_SEE)

    async def _search(self, person: Person, text: str) -> Reply:
        if not text:
            return text_reply(words.WHAT_TO_SEARCH)
        return search_reply(await self._front.search(person, text, SHOWN), text)

    async def _why(self, person: Person, approval_id: str) -> Reply:
        if not approval_id:
            return text_reply(words.WHICH.format("why"))
        view = await self._front.approval(person, approval_id)
        return why_reply(view) if view else text_reply(words.NO_REQUEST)

    async def _metrics(self, person: Person, _: str) -> Reply:
        found = await self._desk.metrics.metrics(person)
        return metrics_reply(found) if found else text_reply(words.LEADS_NOBODY)


_MENTION = re.compile(r"<@[A-Z0-9]+(?:\|[^>]*)?>")
_MENTIONED = "mention"
"""What stands for the words of an answer to a mention, which may differ when it is worked out again."""


class Mentions:
    """The listener for app_mention. Slack was answered before: nothing of it waits for us."""

    def __init__(self, client: AsyncWebClient, commands: Commands, answers: PrivateAnswers) -> None:
        self._client = client
        self._commands = commands
        self._answers = answers

    async def on_mention(self, body: dict[str, Any]) -> None:
        """Answer a mention, once however often Slack says it."""
        payload = EventCallback.model_validate(body)
        event = payload.event
        if not isinstance(event.user, str) or event.place is None or event.ts is None:
            return
        # The envelope names the team of the installation; the profile corrects it to the user's own.
        user = User(id=event.user, team_id=payload.team_id)
        answer = partial(self._answer, user, event, event.place, event.ts)
        await self._answers.once(user.id, f"{event.place}:{event.ts}", _MENTIONED, answer)

    async def _answer(self, user: User, event: Event, place: str, ts: str) -> None:
        asked = _MENTION.split(event.text, maxsplit=1)[-1]
        try:
            async with asyncio.timeout(DEADLINE):
                found = await self._commands.answer(user, asked, place)
        except Exception as error:  # noqa: BLE001 - nothing was done, and whoever asked is told
            slack_logger().error("a mention was not answered: %s", type(error).__name__)
            found = text_reply(words.NOT_ANSWERED)
        reply = found if isinstance(found, Reply) else text_reply(words.NO_FORM_HERE)
        await self._tell(user.id, place, event.thread_ts, reply, occasion=ts)

    async def _tell(self, user: str, channel: str, thread: str | None, reply: Reply, *, occasion: str) -> None:
        """Answer where it was asked, or else in the direct conversation. Never raises."""
        try:
            async with asyncio.timeout(TELL_SECONDS):
                await self._client.chat_postEphemeral(
                    channel=channel, user=user, text=reply.text, blocks=list(reply.blocks), thread_ts=thread
                )
        except FAILURES as error:
            slack_logger().info("a mention is answered in the direct conversation: %s", error_code(error))
            await self._answers.tell(user, None, reply.text, occasion=occasion)


class ListPaging:
    """The listener for the button below a list. Slack is answered first; then the person is identified again."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    async def on_turn(self, body: dict[str, Any], ack: AsyncAck, respond: AsyncRespond) -> None:
        """Replace the page by the next one. What cannot be sent changes nothing."""
        payload = Actions.model_validate(body)
        await ack()
        reply = await self._reply(payload)
        try:
            async with asyncio.timeout(TELL_SECONDS):
                done = await respond(reply.text, blocks=list(reply.blocks), replace_original=True)
            if done.status_code != HTTPStatus.OK:
                slack_logger().warning("a list was not turned: HTTP %d", done.status_code)
        except (*FAILURES, ValueError) as error:
            slack_logger().warning("a list was not turned: %s", error_code(error))

    async def _reply(self, payload: Actions) -> Reply:
        try:
            async with asyncio.timeout(DEADLINE):
                return await self._commands.turned(payload.user, TurnRef.model_validate_json(payload.action.carried))
        except ValidationError:
            return text_reply(UNKNOWN_BUTTON)
        except Exception as error:  # noqa: BLE001 - nothing was done, and whoever clicked is told
            slack_logger().error("a list was not turned: %s", type(error).__name__)
            return text_reply(words.NOT_ANSWERED)
