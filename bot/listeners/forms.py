"""Request forms: a shortcut or a command opens one; its submission is the payload of a trigger, and starts one run.

A submission is recorded before the modal closes; each fault is shown at its field, and the modal stays open.
"""

import asyncio
import html
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from slack_bolt.async_app import AsyncAck

from bot.client import FAILURES, error_code
from bot.listeners.clicks import DEADLINE, Listener
from bot.listeners.identity import Identity
from bot.payloads import Input, MessageShortcut, Shortcut, Submission
from bot.views import command_replies as words
from bot.views.command_replies import Reply, text_reply
from bot.views.forms import (
    CHOOSE_MODAL,
    RUNBOOK,
    ChooseRef,
    FieldKind,
    FormField,
    FormRef,
    chooser_modal,
    fields_of,
    form_modal,
)
from bot.views.text import Shown, chunks
from bot.views.vote_modals import note_modal
from runtime.model.person import Person
from runtime.services.refusal_words import refusal_words
from runtime.services.requests import Filled, Form, FormError, Started

_INTEGER, _NUMBER = re.compile(r"-?[0-9]{1,15}"), re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")


def payload_of(
    fields: Sequence[FormField], entered: Mapping[str, Mapping[str, Input]]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what was entered, by property, and what cannot be read, by property; what was left empty is left out."""
    payload: dict[str, Any] = {}
    faults: dict[str, str] = {}
    for one in fields:
        given = entered.get(one.name, {}).get(one.name, Input())
        try:
            value = _value(one, given)
        except ValueError as error:
            faults[one.name] = str(error)
        else:
            payload |= {} if value is None else {one.name: value}
    return payload, faults


def _value(one: FormField, given: Input) -> Any:
    match one.kind:
        case FieldKind.CHOICE:
            return _chosen(one, given)
        case FieldKind.DATE:
            return given.selected_date
        case FieldKind.MOMENT:
            return _moment(given.selected_date_time)
    if not given.value:
        return None
    match one.kind:
        case FieldKind.INTEGER:
            return int(_matching(_INTEGER, given.value, "Please enter a whole number, in digits."))
        case FieldKind.NUMBER:
            text = _matching(_NUMBER, given.value, "Please enter a number, such as 12 or 12.5.")
            return float(text) if "." in text else int(text)
        case FieldKind.LIST:
            return [line.strip() for line in given.value.splitlines() if line.strip()]
    return given.value


def _chosen(one: FormField, given: Input) -> Any:
    if given.selected_option is None:
        return None
    index = given.selected_option.value
    if not index.isascii() or not index.isdigit() or int(index) >= len(one.options):
        raise ValueError("Please choose one of the options.")
    return one.options[int(index)]


def _moment(seconds: int | None) -> str | None:
    return None if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _matching(pattern: re.Pattern[str], text: str, fault: str) -> str:
    if not pattern.fullmatch(text.strip()):
        raise ValueError(fault)
    return text.strip()


NEW_REQUEST = "countersign_new_request"
ASK_APPROVAL = "countersign_ask_approval"
_LONGEST_FAULT = 1_000

Modal = dict[str, Any]


class Forms(Listener):
    """The listeners for the shortcut and the modals of requests. People of the directory alone are shown any."""

    async def on_shortcut(self, body: dict[str, Any], ack: AsyncAck) -> None:
        """Ask what the person asks for."""
        await self._begin(Shortcut.model_validate(body), ack, None, "")

    async def on_message_shortcut(self, body: dict[str, Any], ack: AsyncAck) -> None:
        """Ask what the person asks for, of a message: the form begins with what it says."""
        payload = MessageShortcut.model_validate(body)
        await self._begin(payload, ack, payload.channel.id, html.unescape(payload.message.text))

    async def _begin(self, payload: Shortcut | MessageShortcut, ack: AsyncAck, channel: str | None, text: str) -> None:
        async with asyncio.timeout(DEADLINE):
            who = await self._identity(payload.user)
            shown = await self.form(who.person, "", channel, text) if who.person else await self._refuse(who)
        await ack()
        if isinstance(shown, Reply):
            await self._answers.tell(payload.user.id, channel, shown.text, occasion=payload.action_ts)
        else:
            await self.open(payload.trigger_id, shown, payload.user.id, channel)

    async def form(self, person: Person, runbook: str, channel: str | None, quoted: str = "") -> Reply | Modal:
        """Return the form of a runbook, or the choice between those that the person may start; or why there is none."""
        forms = await self._front.starting.forms(person)
        if not forms:
            return text_reply(words.NO_RUNBOOKS)
        if not runbook:
            return chooser_modal(forms, channel, quoted)
        form = next((one for one in forms if one.name == runbook), None)
        if form is None:
            return text_reply(words.NO_SUCH_RUNBOOK.format(", ".join(one.name for one in forms)))
        return _modal_of(form, channel, quoted)

    async def open(self, trigger_id: str, modal: Modal, user: str, channel: str | None) -> None:
        """Open a modal, or tell the person that it was not."""
        try:
            await self._client.views_open(trigger_id=trigger_id, view=modal)
        except FAILURES as error:
            if (code := error_code(error)) != "exchanged_trigger_id":
                self._log.warning("a form was not opened: %s", code)
                await self._answers.tell(user, channel, words.NOT_OPENED, occasion=trigger_id)

    async def on_submission(self, payload: Submission, ack: AsyncAck) -> None:
        """Show the form of what was chosen, or take what was filled in."""
        if payload.view.callback_id == CHOOSE_MODAL:
            await self._choose(payload, ack)
            return
        ref = FormRef.model_validate_json(payload.view.private_metadata)
        taken = await self._take(payload, ref)
        if isinstance(taken, Started):
            await ack()
            told = words.SIGNALED if taken.signal else words.STARTED
            await self._answers.tell(payload.user.id, ref.channel, told.format(taken.run_id), occasion=payload.view.id)
            return
        await self._show_faults(payload, taken, ack)

    async def _choose(self, payload: Submission, ack: AsyncAck) -> None:
        ref = ChooseRef.model_validate_json(payload.view.private_metadata)
        chosen = payload.view.state.values.get(RUNBOOK, {}).get(RUNBOOK)
        name = chosen.selected_option.value if chosen and chosen.selected_option else ""
        async with asyncio.timeout(DEADLINE):
            identity = await self._identity(payload.user)
            if identity.person is None:
                shown: Reply | Modal = text_reply(_why(identity))
            else:
                shown = await self.form(identity.person, name, ref.channel, ref.quoted)
        if isinstance(shown, Reply):
            await ack(response_action="errors", errors={RUNBOOK: shown.text})
        else:
            await ack(response_action="update", view=shown)

    async def _take(self, payload: Submission, ref: FormRef) -> Started | Mapping[str, str]:
        """Start the run; return by field what is wrong, whatever it is."""
        try:
            async with asyncio.timeout(DEADLINE):
                return await self._start(payload, ref)
        except FormError as error:
            return error.faults
        except Exception as error:  # noqa: BLE001 - fails closed: the modal must not close as if it had been taken
            self._log.error("a request by form was not taken: %s", type(error).__name__)
            return {"": words.NOT_STARTED}

    async def _start(self, payload: Submission, ref: FormRef) -> Started:
        identity = await self._identity(payload.user)
        if identity.person is None:
            raise FormError({"": (await self._refuse(identity)).text})
        forms = await self._front.starting.forms(identity.person)
        form = next((one for one in forms if one.name == ref.runbook), None)
        fields = fields_of(form.schema)[0] if form else []
        entered, faults = payload_of(fields, payload.view.state.values)
        if faults:
            raise FormError(faults)
        return await self._front.starting.start(
            identity.person, Filled(payload.view.id, ref.runbook, ref.version, entered)
        )

    @staticmethod
    async def _show_faults(payload: Submission, faults: Mapping[str, str], ack: AsyncAck) -> None:
        """Show each fault at its field, and what is of none at the first; without a field, in place of the form."""
        fields = list(payload.view.state.values)
        if not fields:
            await ack(response_action="update", view=note_modal(_fault("; ".join(faults.values()))))
            return
        at: dict[str, str] = {name if name in fields else fields[0]: _fault(fault) for name, fault in faults.items()}
        await ack(response_action="errors", errors=at)

    async def _refuse(self, identity: Identity) -> Reply:
        assert identity.refusal is not None  # noqa: S101 - there is a person, or why there is none
        await self._front.refused(identity.account, "request", identity.refusal.code)
        return text_reply(_why(identity))


def _why(identity: Identity) -> str:
    return refusal_words(identity.refusal) if identity.refusal else ""


def _fault(words: str) -> Shown:
    """Return what is wrong as it is shown in a modal, cut where it is long."""
    parts = chunks(words, _LONGEST_FAULT)
    return Shown(f"{parts[0]}…") if len(parts) > 1 else parts[0]


def _modal_of(form: Form, channel: str | None, quoted: str) -> Reply | Modal:
    fields, unfit = fields_of(form.schema)
    if unfit:
        return text_reply(words.NO_FORM.format(form.name, ", ".join(unfit)))
    return form_modal(form, fields, channel, quoted)
