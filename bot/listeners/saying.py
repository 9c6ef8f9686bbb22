"""What an entry does that needs words of the person: ask for them, record what they say, and tell what came of it."""

import asyncio

from slack_bolt.async_app import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

from bot.listeners import private
from bot.listeners.acting import close, keep_open
from bot.listeners.asking import DEADLINE, Asking
from bot.listeners.clicks import click, refusal_of
from bot.listeners.identity import Identity
from bot.listeners.installation import InstallationWatch
from bot.listeners.private import PrivateAnswers
from bot.payloads import Actions, Submission
from bot.views import references
from bot.views.blocks import Block
from bot.views.modals import reason_fault
from bot.views.more import MoreRef
from bot.views.saying import ASK, Saying, SayRef, say_modal, who_answers
from runtime.model.votes import Refusal, VoteVerdict
from runtime.services.desk_model import Desk


class SayingAct(Asking):
    """The listeners of one such act. What cannot count is told before anybody writes in vain, and is on record."""

    def __init__(
        self,
        saying: Saying,
        client: AsyncWebClient,
        desk: Desk,
        installation: InstallationWatch,
        answers: PrivateAnswers,
    ) -> None:
        super().__init__(client, desk, installation, answers)
        self._saying = saying

    async def on_chosen(self, payload: Actions, ref: MoreRef, ack: AsyncAck) -> None:
        """Open the modal, or record why what was chosen cannot count."""
        notification = None
        async with asyncio.timeout(DEADLINE):
            identity = await self._identity(payload.user)
            view = await self._desk.approval(ref.id)
            refusal = identity.refusal or references.stale(ref, view) or await self._refusal(ref, identity)
            if refusal or view is None:
                notification = await self._record(ref, identity, payload.action.action_ts, "", refusal)
            first = [] if notification else await self._first(ref, identity)
        await ack()
        if notification is not None:
            await self._apply_word(notification, payload.user, payload.place)
        elif view is not None:
            over = payload.modal is not None
            await self._open(payload, say_modal(self._saying, view, payload.place, over=over, first=first))

    async def on_submission(self, payload: Submission, ack: AsyncAck) -> None:
        """Record what the modal says before it closes; a fault is shown at its input, and it stays open."""
        ref = SayRef.model_validate_json(payload.view.private_metadata)
        fault = reason_fault(payload.reason)
        notification = None if fault else await self._submitted(payload, ref)
        if notification is None:
            await keep_open(ack, fault or private.REASON_NOT_RECORDED)
            return
        await close(ack, over=ref.over)
        await self._apply_word(notification, payload.user, ref.channel)

    async def _submitted(self, payload: Submission, ref: SayRef) -> str | None:
        """Record the words; None when that failed, whatever the cause: the modal must not close as if it had not."""
        try:
            async with asyncio.timeout(DEADLINE):
                identity = await self._identity(payload.user)
                refusal = refusal_of(identity, ref, await self._desk.approval(ref.id))
                about = await self._about(payload, identity)
                return await self._record(ref, identity, payload.view.id, payload.reason, refusal, about)
        except Exception as error:  # noqa: BLE001 - fails closed, see above
            self._log.error("what somebody said of a request was not recorded: %s", type(error).__name__)
            return None

    async def _refusal(self, ref: references.CardRef, identity: Identity) -> Refusal | None:
        assert identity.person is not None  # noqa: S101 - there is a person, or why there is none
        if isinstance(self._saying.says, VoteVerdict):
            return await self._desk.may_decide(ref.id, identity.person.id)
        return await self._desk.answers.may(self._saying.says, ref.id, identity.person.id)

    async def _first(self, ref: references.CardRef, identity: Identity) -> list[Block]:
        """Return what the modal says first: of a question, who can answer it."""
        if self._saying is not ASK or identity.person is None:
            return []
        return [who_answers(await self._desk.answers.answerers(ref.id, identity.person.id))]

    async def _record(
        self,
        ref: references.CardRef,
        identity: Identity,
        occasion: str,
        words: str,
        refusal: Refusal | None,
        about: str = "",
    ) -> str:
        says = self._saying.says
        said = click(ref, identity, says, occasion=occasion, reason=words, refusal=refusal, about=about)
        return await self._desk.record(said)

    async def _about(self, payload: Submission, identity: Identity) -> str:  # noqa: ARG002 - for acts of more than words
        """Return what a modal says beside the words."""
        return ""
