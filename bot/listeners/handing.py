"""What *Hand to* does: ask to whom and why, and look whether they may decide it before the modal closes."""

import asyncio

from slack_bolt.async_app import AsyncAck

from bot.listeners import private
from bot.listeners.acting import keep_open
from bot.listeners.asking import DEADLINE
from bot.listeners.identity import Identity, the_one
from bot.listeners.saying import SayingAct
from bot.payloads import Submission
from bot.views import references
from bot.views.refusals import refusal_words
from bot.views.saying import SayRef
from runtime.model.actor import SlackAccount
from runtime.model.votes import Refusal


class Handing(SayingAct):
    """The listeners of the entry. Who cannot take it is said at the choice, and the modal stays open."""

    async def on_submission(self, payload: Submission, ack: AsyncAck) -> None:
        """Look at the choice first; what is not known for sure is looked at again when it is applied."""
        ref = SayRef.model_validate_json(payload.view.private_metadata)
        if fault := await self._fault(payload, ref):
            await keep_open(ack, fault, references.WHOM)
            return
        await super().on_submission(payload, ack)

    async def _fault(self, payload: Submission, ref: SayRef) -> str:
        """Return what is wrong with the choice, "" for nothing; what could not be looked up is not taken either."""
        try:
            refusal = await self._wrong_choice(payload, ref)
        except Exception as error:  # noqa: BLE001 - fails closed: the modal must not close as if it were recorded
            self._log.error("it could not be looked up to whom a request is handed: %s", type(error).__name__)
            return private.REASON_NOT_RECORDED
        return refusal_words(refusal) if refusal else ""

    async def _wrong_choice(self, payload: Submission, ref: SayRef) -> Refusal | None:
        async with asyncio.timeout(DEADLINE / 2):
            identity = await self._identity(payload.user)
            to = await self._whom(payload, identity)
            if isinstance(to, Refusal) or identity.person is None:
                return to if isinstance(to, Refusal) else identity.refusal
            return await self._desk.answers.may_hand(ref.id, identity.person.id, to)

    async def _whom(self, payload: Submission, identity: Identity) -> str | Refusal:
        """Return the id of the one person of the directory who was chosen."""
        found = the_one(await self._desk.people(SlackAccount(identity.account.team, payload.chosen(references.WHOM))))
        return found if isinstance(found, Refusal) else found.id

    async def _about(self, payload: Submission, identity: Identity) -> str:
        to = await self._whom(payload, identity)
        return "" if isinstance(to, Refusal) else to
