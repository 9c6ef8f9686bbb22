"""Cancel and undo: show what canceling a request or undoing an action means, and record the command of who confirms it.

The command is recorded before the modal closes; a fault is shown at its input, and the modal stays open. Policy says
who may cancel or undo. Only people of the directory are shown anything.
"""

import asyncio
from uuid import uuid4

from slack_bolt.async_app import AsyncAck

from bot.listeners import private_answers
from bot.listeners.clicks import (
    DEADLINE,
    ModalListener,
    applied,
    came_of,
    close_modal,
    keep_modal_open,
    recording,
    unknown_words,
)
from bot.listeners.identity import Identity
from bot.payloads import Actions, Submission, User
from bot.views import references
from bot.views.cancel_undo import cancel_modal, undo_modal
from bot.views.more_menu import MoreRef
from bot.views.vote_modals import reason_fault
from runtime.services.compensation import UndoWish
from runtime.services.refusal_words import refusal_words
from runtime.services.request_actions import CancelView, CancelWish


class CancelListener(ModalListener):
    """The listeners for the entry, for the button beside a run, and for their modal. Policy says who may cancel."""

    async def on_chosen(self, payload: Actions, ref: MoreRef, ack: AsyncAck) -> None:
        """Ask on a card whether its run is to stop, and why."""
        async with asyncio.timeout(DEADLINE):
            identity = await self._identity(payload.user)
            if unknown := self._unknown_actor(identity):
                await self._desk.unknown_actors.on_card(unknown, ref.id, "cancel")
            approval = None if unknown else await self._desk.approval(ref.id)
            view = await self._desk.answers.cancel_view(approval.run_id) if approval else None
        await ack()
        await self._ask(payload, identity, view)

    async def on_click(self, payload: Actions, ack: AsyncAck) -> None:
        """Ask beside a run whether it is to stop, and why."""
        ref = references.RunRef.model_validate_json(payload.action.carried)
        async with asyncio.timeout(DEADLINE):
            identity = await self._identity(payload.user)
            view = None if identity.refusal else await self._desk.answers.cancel_view(ref.run_id)
        await ack()
        await self._ask(payload, identity, view)

    async def _ask(self, payload: Actions, identity: Identity, view: CancelView | None) -> None:
        if view is None:
            said = refusal_words(identity.refusal) if identity.refusal else private_answers.OVER
            await self._tell(payload, said)
            return
        await self._open(payload, cancel_modal(view, payload.place, over=payload.modal is not None))

    async def on_submission(self, payload: Submission, ack: AsyncAck) -> None:
        """Record the wish before the modal closes; a fault is shown at its input, and it stays open."""
        ref = references.CancelRef.model_validate_json(payload.view.private_metadata)
        fault = reason_fault(payload.reason)
        notification, fault = ("", fault) if fault else await self._record(payload, ref)
        if fault:
            await keep_modal_open(ack, fault)
            return
        await close_modal(ack, over=ref.over)
        await self._settle(notification, payload.user, ref.channel)

    @recording("a wish to cancel", instead=("", private_answers.REASON_NOT_RECORDED))
    async def _record(self, payload: Submission, ref: references.CancelRef) -> tuple[str, str]:
        """Return the notification's id, and why there is none, whatever the cause."""
        identity = await self._identity(payload.user)
        if identity.person is None:
            return "", unknown_words(identity)
        wish = CancelWish(
            dedupe_key=f"slack:{payload.view.id}",
            run_id=ref.run_id,
            reason=payload.reason,
            person_id=identity.person.id,
            request_id=uuid4().hex,
        )
        return await self._desk.answers.ask_cancel(wish), ""

    async def _settle(self, notification: str, user: User, channel: str | None) -> None:
        """Apply the wish, and tell the person what came of it. Never raises."""
        why = await applied("a wish to cancel", self._desk.answers.apply_cancel(notification))
        said = came_of(why, private_answers.CANCELED, "Nothing was canceled")
        await self._answers.tell(user.id, channel, said, occasion=notification)


class UndoListener(ModalListener):
    """The listeners for the button and its modal. People of the directory alone are shown anything."""

    async def on_click(self, payload: Actions, ack: AsyncAck) -> None:
        """Open the list of what would be undone, and what not."""
        ref = references.CardRef.model_validate_json(payload.action.carried)
        async with asyncio.timeout(DEADLINE):
            identity = await self._identity(payload.user)
            if unknown := self._unknown_actor(identity):
                await self._desk.unknown_actors.on_card(unknown, ref.id, "undo")
            view = None if unknown else await self._desk.undo_view(ref.id)
        await ack()
        if identity.refusal or view is None:
            refusal = identity.refusal or references.stale(ref, None)
            words = refusal_words(refusal) if refusal else private_answers.UNKNOWN_BUTTON
            await self._tell(payload, words)
            return
        await self._open(payload, undo_modal(view, payload.place))

    async def on_submission(self, payload: Submission, ack: AsyncAck) -> None:
        """Record the wish before the modal closes; a fault is shown at its input, and it stays open."""
        ref = references.UndoRef.model_validate_json(payload.view.private_metadata)
        fault = reason_fault(payload.reason)
        recorded = None if fault else await self._record(payload, ref)
        if not isinstance(recorded, str):
            words = fault or (private_answers.REASON_NOT_RECORDED if recorded is None else _refused(recorded))
            await ack(response_action="errors", errors={references.REASON: words})
            return
        await ack()
        await self._settle(recorded, payload.user, ref.channel)

    @recording("a wish to undo", instead=None)
    async def _record(self, payload: Submission, ref: references.UndoRef) -> str | Identity | None:
        """Record the wish; return who it was where they may have none, and None where that failed, however it did."""
        identity = await self._identity(payload.user)
        if unknown := self._unknown_actor(identity):
            await self._desk.unknown_actors.on_step(unknown, ref.run_id, ref.step, "undo")
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

    async def _settle(self, notification: str, user: User, channel: str | None) -> None:
        """Apply the wish, and tell the person what came of it. Never raises."""
        outcome = await applied("a wish to undo", self._desk.apply_undo(notification))
        if outcome is None:
            said = private_answers.NOT_YET_UNDONE
        elif outcome.undone_in:
            said = private_answers.UNDOING.format(outcome.undone_in)
        else:
            said = f"Not undone: {outcome.reason}"
        await self._answers.tell(user.id, channel, said, occasion=notification)


def _refused(identity: Identity) -> str:
    return refusal_words(identity.refusal) if identity.refusal else private_answers.UNKNOWN_BUTTON
