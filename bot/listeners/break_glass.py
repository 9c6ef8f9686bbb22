"""Break-glass: show what an emergency override means, and record the vote with its reason and ticket.

Who may do it is checked first, and again when the vote is applied.
"""

import asyncio
from dataclasses import replace
from typing import Any

from slack_bolt.async_app import AsyncAck

from bot.listeners import private_answers
from bot.listeners.clicks import DEADLINE, ModalListener, SigningLinks, click, close_modal, recording, see
from bot.payloads import Actions, Submission
from bot.views import references
from bot.views.more_menu import MoreRef
from bot.views.vote_modals import TICKET, BreakGlassRef, break_glass_modal, reason_fault, ticket_fault
from runtime.model.votes import Refusal, VoteVerdict
from runtime.services.refusal_words import refusal_words


class BreakGlassListener(ModalListener):
    """The listeners for the entry and its modal. Who may do it is looked at first, and again when it is applied."""

    async def on_chosen(self, payload: Actions, ref: MoreRef, ack: AsyncAck) -> None:
        """Ask why, and by which ticket."""
        async with asyncio.timeout(DEADLINE):
            identity = await self._identity(payload.user)
            if unknown := self._unknown_actor(identity):
                await self._desk.unknown_actors.on_card(unknown, ref.id, "break_glass")
            seen = await see(self._desk, identity, ref)
            view = seen.view
            allowed: Refusal | int = identity.refusal or seen.refusal or 0
            if identity.person and not allowed:
                allowed = await self._desk.may_break_glass(ref.id, identity.person.id)
        await ack()
        if view is None or isinstance(allowed, Refusal):
            await self._tell(payload, refusal_words(allowed) if isinstance(allowed, Refusal) else private_answers.OVER)
            return
        await self._open(payload, break_glass_modal(view, payload.place, left=allowed, over=payload.modal is not None))

    async def on_submission(self, payload: Submission, ack: AsyncAck) -> None:
        """Record the vote before the modal closes, or lead to the page where it is signed.

        A fault is shown at its input, and the modal stays open.
        """
        ref = BreakGlassRef.model_validate_json(payload.view.private_metadata)
        ticket = payload.typed(TICKET)
        faults = {references.REASON: reason_fault(payload.reason), TICKET: ticket_fault(ticket)}
        if not any(faults.values()):
            notification = await self._record(payload, ref, ticket)
            if isinstance(notification, dict):
                await ack(response_action="update", view=notification)
                return
            if notification:
                await close_modal(ack, over=ref.over)
                await self._apply_word(notification, payload.user, ref.channel, private_answers.NOT_YET_COUNTED)
                return
            faults[references.REASON] = private_answers.REASON_NOT_RECORDED
        await ack(response_action="errors", errors={name: fault for name, fault in faults.items() if fault})

    @recording("a break-glass", instead="")
    async def _record(self, payload: Submission, ref: BreakGlassRef, ticket: str) -> str | dict[str, Any]:
        """Return the notification's id, or the modal with a link to sign; "" where there is neither, for any cause."""
        identity = await self._identity(payload.user)
        seen = await see(self._desk, identity, ref)
        refusal, signed = seen.refusal, None if seen.refusal else seen.view
        links = SigningLinks(self._desk)
        if modal := await links.modal(identity, signed, VoteVerdict.APPROVE, payload.reason, ticket):
            return modal
        said = click(
            ref, identity, VoteVerdict.APPROVE, occasion=payload.view.id, reason=payload.reason, refusal=refusal
        )
        return await self._desk.record(replace(said, ticket=ticket))
