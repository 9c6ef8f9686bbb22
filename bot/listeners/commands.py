"""`/countersign`: what people ask is answered in the acknowledgement itself, which Slack shows to them alone.

Nothing of it waits for Slack but the look at who asks, which has a second; so the answer is there within three.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from slack_bolt.async_app import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

from bot.home.figures import figures_reply
from bot.home.lists import (
    SHOWN,
    Reply,
    approval_reply,
    found_reply,
    mine_reply,
    pending_reply,
    run_reply,
    said,
    why_reply,
)
from bot.listeners.asking import DEADLINE
from bot.listeners.delegating import COMMAND as DELEGATE
from bot.listeners.delegating import Delegating
from bot.listeners.forms import Forms, Modal
from bot.listeners.identity import Identity, identify
from bot.listeners.installation import InstallationWatch
from bot.payloads import Command, User
from bot.slack.log import slack_logger
from bot.views import desk_words as words
from bot.views.references import TurnRef
from bot.views.refusals import refusal_words
from runtime.clock import Clock
from runtime.model.actor import Person
from runtime.model.pages import Edge
from runtime.services.desk_model import Desk
from runtime.services.front_model import FrontDesk
from runtime.services.home_model import Look

NAME = "/countersign"

Answering = Callable[[Person, str], Awaitable[Reply]]


class Commands:
    """The listener for the slash command. People of the directory alone are shown anything."""

    def __init__(
        self,
        client: AsyncWebClient,
        desk: Desk,
        front: FrontDesk,
        installation: InstallationWatch,
        clock: Clock,
        forms: Forms,
        delegating: Delegating,
    ) -> None:
        self._client = client
        self._desk = desk
        self._front = front
        self._installation = installation
        self._clock = clock
        self._forms = forms
        self._delegating = delegating
        self._log = slack_logger()
        self._answers: dict[str, Answering] = {
            "pending": self._pending,
            "mine": self._mine,
            "show": self._show,
            "search": self._search,
            "why": self._why,
            "figures": self._figures,
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
            answer = said(words.NOT_ANSWERED)
        if isinstance(answer, Reply):
            await ack(text=answer.text, blocks=list(answer.blocks), response_type="ephemeral")
            return
        await ack()
        await self._forms.open(payload.trigger_id, answer, payload.user_id, payload.channel_id)

    async def answer(self, user: User, text: str, channel: str) -> Reply | Modal:
        """Return what one command is answered with: the text of a reply, or a form."""
        name, _, rest = text.strip().partition(" ")
        name = name.lower()
        identity = await identify(user, self._installation, self._desk)
        if identity.person is None:
            known = (*self._answers, "request", DELEGATE)
            return await self._refuse(identity, name if name in known else "help")
        if name == "request":
            return await self._forms.form(identity.person, rest.strip(), channel)
        if name == DELEGATE:
            return self._delegating.modal(identity.person, channel)
        answer = self._answers.get(name)
        return await answer(identity.person, rest.strip()) if answer else said(words.HELP)

    async def _refuse(self, identity: Identity, command: str) -> Reply:
        assert identity.refusal is not None  # noqa: S101 - there is a person, or why there is none
        await self._front.refused(identity.account, command, identity.refusal.code)
        return said(refusal_words(identity.refusal))

    async def turned(self, user: User, ref: TurnRef) -> Reply:
        """Return what of a list is behind an entry, as it is for the person now."""
        identity = await identify(user, self._installation, self._desk)
        if identity.person is None:
            return await self._refuse(identity, ref.list)
        person = identity.person
        if ref.list == "mine":
            return mine_reply(await self._front.mine(person, SHOWN, ref.behind))
        if ref.list == "search":
            return found_reply(await self._front.search(person, ref.words, SHOWN, ref.behind), ref.words)
        edge = None if ref.at is None else Edge(ref.at, ref.behind, back=False)
        waiting = await self._front.home.waiting(person.id, Look(SHOWN, edge=edge))
        return pending_reply(waiting, self._clock(), is_first=edge is None)

    async def _pending(self, person: Person, _: str) -> Reply:
        return pending_reply(await self._front.home.waiting(person.id, Look(SHOWN)), self._clock())

    async def _mine(self, person: Person, _: str) -> Reply:
        return mine_reply(await self._front.mine(person, SHOWN))

    async def _show(self, person: Person, some_id: str) -> Reply:
        if not some_id:
            return said(words.WHICH.format("show"))
        linked = self._desk.links.read(some_id)
        some_id = linked.id if linked else some_id
        if view := await self._front.approval(person, some_id):
            return approval_reply(view, self._clock())
        run = await self._front.run(person, some_id)
        return run_reply(run) if run else said(words.NOTHING_TO_SEE)

    async def _search(self, person: Person, text: str) -> Reply:
        if not text:
            return said(words.WHAT_TO_SEARCH)
        return found_reply(await self._front.search(person, text, SHOWN), text)

    async def _why(self, person: Person, approval_id: str) -> Reply:
        if not approval_id:
            return said(words.WHICH.format("why"))
        view = await self._front.approval(person, approval_id)
        return why_reply(view) if view else said(words.NO_REQUEST)

    async def _figures(self, person: Person, _: str) -> Reply:
        found = await self._desk.figures.figures(person)
        return figures_reply(found) if found else said(words.LEADS_NOBODY)
