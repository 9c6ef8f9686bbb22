"""Edit and resubmit: show what may be edited, and record the edits before the modal closes."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

from slack_bolt.async_app import AsyncAck

from bot.listeners import private_answers
from bot.listeners.clicks import DEADLINE, ModalListener, close_modal, keep_modal_open, recording, see
from bot.listeners.forms import payload_of
from bot.payloads import Actions, Input, Submission, User
from bot.views import references
from bot.views.edits import edit_block, edit_fields, edit_modal, initial_value
from bot.views.forms import FormField
from bot.views.more_menu import MoreRef
from bot.views.text import plain
from bot.views.vote_modals import reason_fault
from bot.views.wording import headline
from runtime.model.votes import Refusal, RefusalCode
from runtime.services.editing import EditForm, EditWish
from runtime.services.refusal_words import refusal_words


class EditListener(ModalListener):
    """The listeners for the entry and its modal."""

    async def on_chosen(self, payload: Actions, ref: MoreRef, ack: AsyncAck) -> None:
        """Show what may be edited to who might approve it, and tell others why not."""
        async with asyncio.timeout(DEADLINE):
            identity = await self._identity(payload.user)
            if unknown := self._unknown_actor(identity):
                await self._desk.unknown_actors.on_card(unknown, ref.id, "edit")
            seen = await see(self._desk, identity, ref)
            view, refusal = seen.view, identity.refusal or seen.refusal or seen.judged
            form = None if refusal else await self._desk.editing.form(ref.id)
        await ack()
        if form is None or view is None:
            await self._tell(payload, refusal_words(refusal or Refusal(RefusalCode.NOT_EDITABLE)))
            return
        over = payload.modal is not None
        await self._open(payload, edit_modal(form, headline(view), ref.digest, payload.place, over=over))

    async def on_submission(self, payload: Submission, ack: AsyncAck) -> None:
        """Record the edit before the modal closes; each fault is shown at its input, and it stays open."""
        ref = references.EditRef.model_validate_json(payload.view.private_metadata)
        notification, faults = await self._record(payload, ref)
        if faults:
            at: dict[str, str] = {block: plain(fault) for block, fault in faults.items()}
            await ack(response_action="errors", errors=at)
            return
        if not notification:
            await keep_modal_open(ack, private_answers.REASON_NOT_RECORDED)
            return
        await close_modal(ack, over=ref.over)
        await self._settle(notification, payload.user, ref.channel)

    @recording("an edit", instead=("", {}))
    async def _record(self, payload: Submission, ref: references.EditRef) -> tuple[str, Mapping[str, str]]:
        """Return the notification's id, or by input what is wrong; neither where it could not be recorded."""
        identity = await self._identity(payload.user)
        form = await self._desk.editing.form(ref.id)
        if form is None or form.stamp != ref.stamp:
            return "", {references.REASON: refusal_words(Refusal(RefusalCode.STALE))}
        params, faults = self._wanted(form, payload)
        if fault := reason_fault(payload.reason):
            faults[references.REASON] = fault
        if faults:
            return "", faults
        if identity.person and (refusal := await self._desk.editing.refusal(ref.id, identity.person.id, params)):
            return "", {references.REASON: refusal_words(refusal)}
        wish = EditWish(
            dedupe_key=f"slack:{payload.view.id}",
            approval_id=ref.id,
            stamp=ref.stamp,
            params=params,
            reason=payload.reason,
            account=identity.account,
            person_id=identity.person.id if identity.person else None,
            refusal=identity.refusal,
            request_id=uuid4().hex,
        )
        return await self._desk.editing.record(wish), {}

    def _wanted(self, form: EditForm, payload: Submission) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the params that are to be another, and by input what is wrong with them."""
        entered = payload.view.state.values
        fields = [one for one in edit_fields(form) if _is_touched(one, form.present, entered)]
        named = [replace(one, name=edit_block(one.name)) for one in fields]
        given, faults = payload_of(named, entered)
        params = {one.name: given.get(edit_block(one.name)) for one in fields}
        if not faults:
            wrong = self._desk.editing.faults(form, params)
            faults = {edit_block(name): message for name, message in wrong if edit_block(name) in entered}
        if not fields:
            faults = {references.REASON: refusal_words(Refusal(RefusalCode.UNCHANGED))}
        return params, faults

    async def _settle(self, notification: str, user: User, channel: str | None) -> None:
        """Apply the edit, and tell the person what came of it. Never raises."""
        try:
            refusal = await self._desk.editing.apply(notification)
            said = refusal_words(refusal) if refusal else private_answers.EDITED
        except Exception as error:  # noqa: BLE001 - it is recorded and acknowledged; the runtime applies it later
            self._log.error("a recorded edit was not applied: %s", type(error).__name__)
            said = private_answers.NOT_YET_APPLIED
        await self._answers.tell(user.id, channel, said, occasion=notification)


def _is_touched(one: FormField, present: Mapping[str, Any], entered: Mapping[str, Mapping[str, Input]]) -> bool:
    """Return whether a field holds another value than it began with; what began empty and is empty was not touched."""
    block = edit_block(one.name)
    given = entered.get(block, {}).get(block, Input())
    now = {
        "value": given.value or None,
        "option": given.selected_option.value if given.selected_option else None,
        "date": given.selected_date,
        "date_time": given.selected_date_time,
    }
    began = initial_value(one, present)
    return any(now[name] != began.get(name) for name in now)
