"""What a click on *Undo* does: show what that means, and hand in the wish of whoever confirms it."""

import asyncio
from uuid import uuid4

from slack_bolt.async_app import AsyncAck

from bot.listeners import private
from bot.listeners.asking import DEADLINE, Asking
from bot.listeners.identity import Identity
from bot.payloads import Actions, Submission, User
from bot.views import references
from bot.views.modals import reason_fault
from bot.views.refusals import refusal_words
from bot.views.undo import undo_modal
from runtime.services.undo_model import UndoWish


class Undoing(Asking):
    """The listeners for the button and its modal. People of the directory alone are shown anything."""

    async def on_click(self, payload: Actions, ack: AsyncAck) -> None:
        """Open the list of what would be undone, and what not."""
        ref = references.CardRef.model_validate_json(payload.action.carried)
        async with asyncio.timeout(DEADLINE):
            identity = await self._identity(payload.user)
            if stranger := self._stranger(identity):
                await self._desk.strangers.on_card(stranger, ref.id, "undo")
            view = None if stranger else await self._desk.undo_view(ref.id)
        await ack()
        if identity.refusal or view is None:
            refusal = identity.refusal or references.stale(ref, None)
            words = refusal_words(refusal) if refusal else private.UNKNOWN_BUTTON
            await self._tell(payload, words)
            return
        await self._open(payload, undo_modal(view, payload.place))

    async def on_submission(self, payload: Submission, ack: AsyncAck) -> None:
        """Record the wish before the modal closes; a fault is shown at its input, and it stays open."""
        ref = references.UndoRef.model_validate_json(payload.view.private_metadata)
        fault = reason_fault(payload.reason)
        recorded = None if fault else await self._record(payload, ref)
        if not isinstance(recorded, str):
            words = fault or (private.REASON_NOT_RECORDED if recorded is None else _refused(recorded))
            await ack(response_action="errors", errors={references.REASON: words})
            return
        await ack()
        await self._settle(recorded, payload.user, ref.channel)

    async def _record(self, payload: Submission, ref: references.UndoRef) -> str | Identity | None:
        """Record the wish; return who it was where they may have none, and None where that failed, however it did."""
        try:
            async with asyncio.timeout(DEADLINE):
                identity = await self._identity(payload.user)
                if stranger := self._stranger(identity):
                    await self._desk.strangers.on_step(stranger, ref.run_id, ref.step, "undo")
                if identity.person is None:
                    return identity
                wish = UndoWish(
                    dedupe_key=payload.view.id,
                    run_id=ref.run_id,
                    step=ref.step,
                    reason=payload.reason,
                    person_id=identity.person.id,
                    request_id=uuid4().hex,
                )
                return await self._desk.ask_undo(wish)
        except Exception as error:  # noqa: BLE001 - fails closed: the modal must not close as if it had been recorded
            self._log.error("a wish to undo was not recorded: %s", type(error).__name__)
            return None

    async def _settle(self, notification: str, user: User, channel: str | None) -> None:
        """Apply the wish, and tell the person what came of it. Never raises."""
        try:
            outcome = await self._desk.apply_undo(notification)
            said = private.UNDOING.format(outcome.undone_in) if outcome.undone_in else f"Not undone: {outcome.reason}"
        except Exception as error:  # noqa: BLE001 - it is recorded and acknowledged; the runtime applies it later
            self._log.error("a recorded wish was not applied: %s", type(error).__name__)
            said = private.NOT_YET_UNDONE
        await self._answers.tell(user.id, channel, said, occasion=notification)


def _refused(identity: Identity) -> str:
    return refusal_words(identity.refusal) if identity.refusal else private.UNKNOWN_BUTTON
