"""Interactions: every click on a button and every submitted modal; votes, claims and the details of a request.

A click goes in this order: resolve the person, record, acknowledge, apply, and answer in private. The order is the
point. A vote is recorded before it is acknowledged; what cannot be recorded is not acknowledged. Modals open and
answers are given after the acknowledgement, with deadlines of their own. What fails from there on is told to the
person, and the runtime applies what is recorded later.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from pydantic import ValidationError
from slack_bolt.async_app import AsyncAck

from bot.client import FAILURES, error_code
from bot.listeners import private_answers
from bot.listeners.cancel_undo import UndoListener
from bot.listeners.clicks import DEADLINE, Listener, ListenerContext, Seen, SigningLinks, applied, click, recording, see
from bot.listeners.delegation import DelegationListener
from bot.listeners.forms import Forms
from bot.listeners.home_tab import HomeTab, MetricsButton
from bot.listeners.identity import Identity
from bot.listeners.more_menu import MoreMenu
from bot.listeners.step_repair import StepRepairListener
from bot.payloads import Actions, Submission, User
from bot.views import bulk_votes, references, step_repair
from bot.views.delegation import DELEGATION_MODAL
from bot.views.details import details_modal
from bot.views.forms import MODALS
from bot.views.home_state import METRICS, PREFIX
from bot.views.vote_modals import has_to_be_signed, reason_fault, reason_modal
from runtime.model.states import ApprovalStatus
from runtime.model.votes import ClaimAct, VoteVerdict
from runtime.services.approval_view import ApprovalView
from runtime.services.refusal_words import refusal_words

_VERDICTS: dict[str, VoteVerdict | ClaimAct] = {
    references.APPROVE: VoteVerdict.APPROVE,
    references.REJECT: VoteVerdict.REJECT,
    references.CLAIM: ClaimAct.CLAIM,
    references.RELEASE: ClaimAct.RELEASE,
}


def _modal(standing: Seen, verdict: VoteVerdict | ClaimAct, payload: Actions) -> dict[str, Any] | None:
    """Return the modal that must come before the vote, if one must."""
    if not standing.may_go_on or standing.view is None or isinstance(verdict, ClaimAct):
        return None
    if not _wants_reason(standing.view, verdict):
        return None
    return reason_modal(standing.view, verdict, payload.place, over=payload.modal is not None)


def _wants_reason(view: ApprovalView | None, verdict: VoteVerdict | ClaimAct) -> bool:
    if isinstance(verdict, ClaimAct):
        return False
    return verdict is VoteVerdict.REJECT or (view is not None and view.reason_required)


class Interactions(Listener):
    """The listeners for buttons and modals."""

    def __init__(self, context: ListenerContext, forms: Forms, home: HomeTab, delegating: DelegationListener) -> None:
        super().__init__(context)
        self._forms = forms
        self._home = home
        self._delegating = delegating
        self._step_repair = StepRepairListener(context)
        self._links = SigningLinks(context.desk)
        self._metrics = MetricsButton(context)
        self._undo = UndoListener(context)
        self._more = MoreMenu(context)
        self._telling: set[asyncio.Task[None]] = set()

    async def on_action(self, body: dict[str, Any], ack: AsyncAck) -> None:
        """Handle a click on any button."""
        payload = Actions.model_validate(body)
        action_id = payload.action.action_id
        if action_id in _VERDICTS:
            await self._guarded(payload, ack, self._vote(payload, ack))
        elif action_id in (references.SHOW_ALL, references.SHOW_REPLACEMENT, *references.PAGE_ACTIONS):
            await self._guarded(payload, ack, self._show(payload, ack))
        elif action_id in step_repair.ACTIONS:
            await self._guarded(payload, ack, self._step_repair.on_click(payload, ack))
        elif action_id in references.MORE:
            await self._guarded(payload, ack, self._more.on_chosen(payload, ack))
        elif action_id == references.ANSWER:
            await self._guarded(payload, ack, self._more.replying.on_click(payload, ack))
        elif action_id == references.CANCEL:
            await self._guarded(payload, ack, self._more.canceling.on_click(payload, ack))
        elif action_id == METRICS:
            await self._guarded(payload, ack, self._metrics.on_click(payload, ack))
        elif action_id.startswith(PREFIX):
            await self._guarded(payload, ack, self._home.on_action(payload, ack))
        elif action_id == references.UNDO:
            await self._guarded(payload, ack, self._undo.on_click(payload, ack))
        else:
            await self._unknown(payload, ack)

    async def on_submission(self, body: dict[str, Any], ack: AsyncAck) -> None:
        """Handle a modal: a fault is shown at its input, and the modal stays open."""
        payload = Submission.model_validate(body)
        try:
            await self._of_modal(payload.view.callback_id)(payload, ack)
        except ValidationError:
            self._log.warning("a modal that is not ours was ignored")
            await ack()

    def _of_modal(self, callback_id: str) -> Callable[[Submission, AsyncAck], Awaitable[None]]:
        """Return what handles a modal; a reason is taken for whatever else there is, which it refuses."""
        own: dict[str, Callable[[Submission, AsyncAck], Awaitable[None]]] = {
            **dict.fromkeys(MODALS, self._forms.on_submission),
            **dict.fromkeys(bulk_votes.MODALS, self._home.on_submission),
            DELEGATION_MODAL: self._delegating.on_submission,
            step_repair.MODAL: self._repair,
            references.UNDO_MODAL: self._undo.on_submission,
            references.REPLY_MODAL: self._more.on_submission,
            references.MORE_MODAL: self._more.on_submission,
        }
        return own.get(callback_id, self._reason)

    async def _repair(self, payload: Submission, ack: AsyncAck) -> None:
        await self._step_repair.on_submission(payload, ack)
        self._home.renew(payload.user.id)

    async def _reason(self, payload: Submission, ack: AsyncAck) -> None:
        ref = references.ReasonRef.model_validate_json(payload.view.private_metadata)
        fault = reason_fault(payload.reason)
        notification = None if fault else await self._record_reason(payload, ref)
        if notification is None:
            await ack(
                response_action="errors", errors={references.REASON: fault or private_answers.REASON_NOT_RECORDED}
            )
            return
        if isinstance(notification, dict):
            await ack(response_action="update", view=notification)
            return
        await (ack(response_action="clear") if ref.over else ack())
        await self._settle(notification, payload.user, ref.channel)

    @recording("a reason", instead=None)
    async def _record_reason(self, payload: Submission, ref: references.ReasonRef) -> str | dict[str, Any] | None:
        """Record the vote, or return the modal that leads to the page where it is signed.

        None when that failed, whatever the cause: the modal must not close as if it had not.
        """
        standing = await (self._standing(payload.user, ref) if ref.signs else self._unjudged(payload.user))
        if modal := await self._to_sign(standing, ref.verdict, payload.reason):
            return modal
        return await self._record(ref, standing, ref.verdict, payload.view.id, payload.reason)

    async def _guarded(self, payload: Actions, ack: AsyncAck, work: Awaitable[None]) -> None:
        try:
            await work
        except ValidationError:
            await self._unknown(payload, ack)
        except Exception:  # whatever failed, the click must not look as if it were recorded; it is logged above us
            # Slack is told at once that the click was not taken; the person, as soon as that can be.
            telling = asyncio.create_task(self._tell(payload, private_answers.NOT_RECORDED))
            self._telling.add(telling)
            telling.add_done_callback(self._telling.discard)
            raise

    async def _unknown(self, payload: Actions, ack: AsyncAck) -> None:
        self._log.warning("a click on a button that is not ours was ignored")
        await ack()
        await self._tell(payload, private_answers.UNKNOWN_BUTTON)

    async def _standing(self, user: User, ref: references.CardRef) -> Seen:
        return await see(self._desk, await self._identity(user), ref)

    async def _unjudged(self, user: User) -> Seen:
        """Return who acts, and nothing of the request: the inbox judges, under its lock, whether the vote counts."""
        identity = await self._identity(user)
        return Seen(identity, None, identity.refusal)

    async def _record(
        self, ref: references.CardRef, standing: Seen, verdict: VoteVerdict | ClaimAct, occasion: str, reason: str
    ) -> str:
        recorded = click(ref, standing.identity, verdict, occasion=occasion, reason=reason, refusal=standing.refusal)
        return await self._desk.record(recorded)

    async def _vote(self, payload: Actions, ack: AsyncAck) -> None:
        """Record a vote or a claim, or ask for the vote's reason first."""
        ref = references.CardRef.model_validate_json(payload.action.carried)
        verdict = _VERDICTS[payload.action.action_id]
        notification = None
        async with asyncio.timeout(DEADLINE):
            standing = await self._standing(payload.user, ref)
            if _wants_reason(standing.view, verdict) or (standing.view and has_to_be_signed(standing.view, verdict)):
                standing = replace(standing, refusal=standing.refusal or standing.judged)
            modal = _modal(standing, verdict, payload) or await self._to_sign(standing, verdict, "")
            if modal is None:
                notification = await self._record(ref, standing, verdict, payload.action.action_ts, "")
        await ack()
        if modal is not None:
            if await self._open(payload, modal):
                await self._note_opening(standing)
        elif notification is not None:
            await self._settle(notification, payload.user, payload.place)
            await self._renew(payload, ref, standing.identity)

    async def _note_opening(self, standing: Seen) -> None:
        """Record when the person opened the form of a vote. A vote counts without that record, too."""
        person, view = standing.identity.person, standing.view
        if person is None or view is None:
            return
        try:
            await self._desk.looked(view.approval_id, person)
        except Exception as error:  # noqa: BLE001 - evidence then says that opening was not recorded
            self._log.warning("the opening of a form was not recorded: %s", type(error).__name__)

    async def _to_sign(self, standing: Seen, verdict: VoteVerdict | ClaimAct, reason: str) -> dict[str, Any] | None:
        """Return the modal with a link to sign, where a click is not enough and could count."""
        view = None if standing.refusal else standing.view
        return await self._links.modal(standing.identity, view, verdict, reason)

    async def _renew(self, payload: Actions, ref: references.CardRef, identity: Identity) -> None:
        """Show in the open details what has become of the click there; the click is recorded, whatever fails here."""
        if payload.modal:
            await applied("the details after a click", self._show_again(payload, ref, identity))

    async def _show_again(self, payload: Actions, ref: references.CardRef, identity: Identity) -> None:
        if view := await self._desk.approval(ref.id):
            await self._open(payload, details_modal(await self._for_one(view, identity), 0))

    async def _for_one(self, view: ApprovalView, identity: Identity) -> ApprovalView:
        """Return what is shown to one person alone: it offers what they may do now, and nothing else."""
        if identity.person is None or view.status is not ApprovalStatus.REQUESTED:
            return view
        return replace(view, may=await self._desk.answers.acts(view.approval_id, identity.person.id))

    async def _in_whose_name(self, standing: Seen) -> Seen:
        """Let what is shown to this one person say for whom they vote, where that is somebody else."""
        person, view = standing.identity.person, standing.view
        if standing.refusal or person is None or view is None or view.status is not ApprovalStatus.REQUESTED:
            return standing
        votes_for = await self._desk.votes_for(view.approval_id, person.id)
        return replace(standing, view=replace(view, votes_for=votes_for, stand_ins=()))

    async def _settle(self, notification: str, user: User, channel: str | None) -> None:
        """Apply a recorded click and say in private why it did not count, if so. Never raises."""
        outcome = await applied("a click", self._desk.apply(notification))
        if outcome is None:
            await self._answers.tell(user.id, channel, private_answers.NOT_YET_COUNTED, occasion=notification)
            return
        self._home.renew(user.id)
        if outcome.refusal:
            await self._answers.tell(user.id, channel, refusal_words(outcome.refusal), occasion=notification)

    async def _show(self, payload: Actions, ack: AsyncAck) -> None:
        """Open or turn the pages of everything, for people of the directory only."""
        ref = references.PageRef.model_validate_json(payload.action.carried)
        async with asyncio.timeout(DEADLINE):
            identity = await self._identity(payload.user)
            view = None if identity.refusal else await self._desk.approval(ref.id)
            if view and identity.person:
                await self._desk.looked(view.approval_id, identity.person)
            view = (await self._in_whose_name(Seen(identity, view, identity.refusal))).view
            view = await self._for_one(view, identity) if view else None
        await ack()
        refusal = identity.refusal or (None if view else references.stale(ref, None))
        if view:
            await self._open(payload, details_modal(view, ref.page))
        if refusal:
            await self._tell(payload, refusal_words(refusal))

    async def _open(self, payload: Actions, modal: dict[str, Any]) -> bool:
        """Open a modal, or turn the open one into it; return whether that worked.

        A repeated delivery finds its trigger used, and is silent.

        A modal that asks for a reason, or to sign, comes over the details.
        """
        asks = modal["callback_id"] in (references.REASON_MODAL, references.SIGNING_MODAL)
        try:
            if payload.modal and asks:
                await self._client.views_push(trigger_id=payload.trigger_id, view=modal)
            elif payload.modal:
                await self._client.views_update(view_id=payload.modal.id, hash=payload.modal.hash, view=modal)
            else:
                await self._client.views_open(trigger_id=payload.trigger_id, view=modal)
        except FAILURES as error:
            code = error_code(error)
            if code not in ("exchanged_trigger_id", "hash_conflict"):
                self._log.warning("a modal was not opened: %s", code)
                await self._tell(payload, private_answers.NOT_OPENED)
            return False
        return True

    async def _tell(self, payload: Actions, text: str) -> None:
        await self._answers.tell(payload.user.id, payload.place, text, occasion=payload.action.action_ts)
