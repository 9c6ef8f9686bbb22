"""What *Answer* beside a question does: ask whoever asked for their words, and hand them in."""

import asyncio

from slack_bolt.async_app import AsyncAck

from bot.listeners import private
from bot.listeners.acting import keep_open
from bot.listeners.asking import DEADLINE, Asking
from bot.listeners.clicks import click
from bot.listeners.identity import Identity
from bot.payloads import Actions, Submission
from bot.views import references
from bot.views.modals import reason_fault
from bot.views.saying import reply_modal
from runtime.model.votes import CardAct, Refusal, RefusalCode


class Replying(Asking):
    """The listeners for the button and its modal; who answers without being asked is on record."""

    async def on_click(self, payload: Actions, ack: AsyncAck) -> None:
        """Open the modal, or record why this person cannot answer."""
        ref, notification = references.QuestionRef.model_validate_json(payload.action.value or ""), None
        async with asyncio.timeout(DEADLINE):
            identity = await self._identity(payload.user)
            view = await self._desk.approval(ref.id)
            question = next((one for one in view.questions if one.question_id == ref.question), None) if view else None
            refusal = await self._refusal(ref, identity)
            if refusal or view is None or question is None:
                refusal = refusal or Refusal(RefusalCode.NO_QUESTION)
                notification = await self._record(ref, identity, payload.action.action_ts, "", refusal)
        await ack()
        if notification is not None:
            await self._apply_word(notification, payload.user, payload.place)
        elif view is not None and question is not None:
            await self._open(payload, reply_modal(view, question, payload.place))

    async def on_submission(self, payload: Submission, ack: AsyncAck) -> None:
        """Record the answer before the modal closes; a fault is shown at its input, and it stays open."""
        ref = references.ReplyRef.model_validate_json(payload.view.private_metadata)
        fault = reason_fault(payload.reason)
        notification = None if fault else await self._submitted(payload, ref)
        if notification is None:
            await keep_open(ack, fault or private.REASON_NOT_RECORDED)
            return
        await ack()
        await self._apply_word(notification, payload.user, ref.channel)

    async def _submitted(self, payload: Submission, ref: references.ReplyRef) -> str | None:
        """Record the words; None when that failed, whatever the cause: the modal must not close as if it had not."""
        try:
            async with asyncio.timeout(DEADLINE):
                identity = await self._identity(payload.user)
                return await self._record(ref, identity, payload.view.id, payload.reason, identity.refusal)
        except Exception as error:  # noqa: BLE001 - fails closed, see above
            self._log.error("an answer to a question was not recorded: %s", type(error).__name__)
            return None

    async def _refusal(self, ref: references.QuestionRef, identity: Identity) -> Refusal | None:
        if identity.person is None:
            return identity.refusal
        return await self._desk.answers.may_reply(ref.id, ref.question, identity.person.id)

    async def _record(
        self, ref: references.QuestionRef, identity: Identity, occasion: str, words: str, refusal: Refusal | None
    ) -> str:
        card = references.CardRef(id=ref.id, digest="")
        said = click(
            card, identity, CardAct.REPLY, occasion=occasion, reason=words, refusal=refusal, about=ref.question
        )
        return await self._desk.record(said)
