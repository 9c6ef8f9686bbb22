"""The menu More: ask a question, request changes, withdraw a vote, hand a request over; and the answer to a question.

The menu hands what was chosen, and what its modal says, to the listener of that act; edits, cancellation and
break-glass have their own files. An act that cannot count is refused before the person writes a word, and the refusal
is on record. The words are recorded before the modal closes. A hand-over checks the chosen person first; where they
cannot take the request, the modal says so and stays open.
"""

import asyncio
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict
from slack_bolt.async_app import AsyncAck

from bot.listeners import private_answers
from bot.listeners.break_glass import BreakGlassListener
from bot.listeners.cancel_undo import CancelListener
from bot.listeners.clicks import (
    DEADLINE,
    ListenerContext,
    MenuAct,
    ModalListener,
    Seen,
    click,
    close_modal,
    keep_modal_open,
    recording,
    see,
)
from bot.listeners.edits import EditListener
from bot.listeners.identity import Identity, only_person
from bot.payloads import Actions, Submission
from bot.views import references
from bot.views.blocks import Block
from bot.views.more_menu import (
    ASK,
    CHANGES,
    HAND,
    WITHDRAW,
    MoreRef,
    WrittenAct,
    WrittenActRef,
    known_act,
    reply_modal,
    who_answers,
    written_act_modal,
)
from bot.views.vote_modals import reason_fault
from runtime.model.votes import CardAct, Refusal, RefusalCode, VoteVerdict
from runtime.services.refusal_words import refusal_words


class WrittenActListener(ModalListener):
    """The listeners of one such act. What cannot count is told before anybody writes in vain, and is on record."""

    def __init__(self, saying: WrittenAct, context: ListenerContext) -> None:
        super().__init__(context)
        self._saying = saying

    async def on_chosen(self, payload: Actions, ref: MoreRef, ack: AsyncAck) -> None:
        """Open the modal, or record why what was chosen cannot count."""
        notification = None
        async with asyncio.timeout(DEADLINE):
            identity = await self._identity(payload.user)
            seen = await see(self._desk, identity, ref)
            view, refusal = seen.view, seen.refusal or await self._refusal(ref, seen)
            if refusal or view is None:
                notification = await self._record(ref, identity, payload.action.action_ts, "", refusal)
            first = [] if notification else await self._first(ref, identity)
        await ack()
        if notification is not None:
            await self._apply_word(notification, payload.user, payload.place)
        elif view is not None:
            over = payload.modal is not None
            await self._open(payload, written_act_modal(self._saying, view, payload.place, over=over, first=first))

    async def on_submission(self, payload: Submission, ack: AsyncAck) -> None:
        """Record what the modal says before it closes; a fault is shown at its input, and it stays open."""
        ref = WrittenActRef.model_validate_json(payload.view.private_metadata)
        fault = reason_fault(payload.reason)
        notification = None if fault else await self._submitted(payload, ref)
        if notification is None:
            await keep_modal_open(ack, fault or private_answers.REASON_NOT_RECORDED)
            return
        await close_modal(ack, over=ref.over)
        await self._apply_word(notification, payload.user, ref.channel)

    @recording("what somebody said of a request", instead=None)
    async def _submitted(self, payload: Submission, ref: WrittenActRef) -> str | None:
        """Record the words; None when that failed, whatever the cause: the modal must not close as if it had not."""
        identity = await self._identity(payload.user)
        about = await self._about(payload, identity)
        return await self._record(ref, identity, payload.view.id, payload.reason, identity.refusal, about)

    async def _refusal(self, ref: references.CardRef, seen: Seen) -> Refusal | None:
        assert seen.identity.person is not None  # noqa: S101 - there is a person, or why there is none
        if isinstance(self._saying.says, VoteVerdict):
            return seen.judged
        return await self._desk.answers.may(self._saying.says, ref.id, seen.identity.person.id)

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


class HandOverListener(WrittenActListener):
    """The listeners of the entry. Who cannot take it is said at the choice, and the modal stays open."""

    async def on_submission(self, payload: Submission, ack: AsyncAck) -> None:
        """Look at the choice first; what is not known for sure is looked at again when it is applied."""
        ref = WrittenActRef.model_validate_json(payload.view.private_metadata)
        if fault := await self._fault(payload, ref):
            await keep_modal_open(ack, fault, references.WHOM)
            return
        await super().on_submission(payload, ack)

    async def _fault(self, payload: Submission, ref: WrittenActRef) -> str:
        """Return what is wrong with the choice, "" for nothing; what could not be looked up is not taken either."""
        try:
            refusal = await self._wrong_choice(payload, ref)
        except Exception as error:  # noqa: BLE001 - fails closed: the modal must not close as if it were recorded
            self._log.error("it could not be looked up to whom a request is handed: %s", type(error).__name__)
            return private_answers.REASON_NOT_RECORDED
        return refusal_words(refusal) if refusal else ""

    async def _wrong_choice(self, payload: Submission, ref: WrittenActRef) -> Refusal | None:
        async with asyncio.timeout(DEADLINE / 2):
            identity = await self._identity(payload.user)
            to = await self._whom(payload, identity)
            if isinstance(to, Refusal) or identity.person is None:
                return to if isinstance(to, Refusal) else identity.refusal
            return await self._desk.answers.may_hand(ref.id, identity.person.id, to)

    async def _whom(self, payload: Submission, identity: Identity) -> str | Refusal:
        """Return the id of the one person of the directory who was chosen."""
        known = await self._desk.people(payload.chosen(references.WHOM))
        found = only_person(known.get(identity.account.team, ()))
        return found if isinstance(found, Refusal) else found.id

    async def _about(self, payload: Submission, identity: Identity) -> str:
        to = await self._whom(payload, identity)
        return "" if isinstance(to, Refusal) else to


class QuestionReplyListener(ModalListener):
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
            await keep_modal_open(ack, fault or private_answers.REASON_NOT_RECORDED)
            return
        await ack()
        await self._apply_word(notification, payload.user, ref.channel)

    @recording("an answer to a question", instead=None)
    async def _submitted(self, payload: Submission, ref: references.ReplyRef) -> str | None:
        """Record the words; None when that failed, whatever the cause: the modal must not close as if it had not."""
        identity = await self._identity(payload.user)
        return await self._record(ref, identity, payload.view.id, payload.reason, identity.refusal)

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


class _Named(BaseModel):
    """The one member of a modal's metadata that says whose modal it is."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    act: Annotated[str, AfterValidator(known_act)]


class MoreMenu:
    """The listeners for the menu and its modals; raise ValidationError for what is none of ours."""

    def __init__(self, context: ListenerContext) -> None:
        self.canceling = CancelListener(context)
        self.replying = QuestionReplyListener(context)
        said = {saying.act: WrittenActListener(saying, context) for saying in (ASK, CHANGES, WITHDRAW)}
        own: dict[str, MenuAct] = {
            "edit": EditListener(context),
            "hand": HandOverListener(HAND, context),
            "break_glass": BreakGlassListener(context),
            "cancel": self.canceling,
        }
        self._acts: dict[str, MenuAct] = {**said, **own}

    async def on_chosen(self, payload: Actions, ack: AsyncAck) -> None:
        """Handle a choice in the menu."""
        ref = MoreRef.model_validate_json(payload.action.chosen)
        await self._acts[ref.act].on_chosen(payload, ref, ack)

    async def on_submission(self, payload: Submission, ack: AsyncAck) -> None:
        """Handle a modal that an entry opened, or the button beside a question."""
        if payload.view.callback_id == references.REPLY_MODAL:
            await self.replying.on_submission(payload, ack)
            return
        act = _Named.model_validate_json(payload.view.private_metadata).act
        await self._acts[act].on_submission(payload, ack)
