"""Clicks: what every listener shares from a verified click to the record of it.

A listener finds out who clicked, opens a modal or says in private why not, and shows a fault at its input, with the
modal still open. Deliveries of the same click share one dedupe key. A decision by a person whom Slack has not confirmed
yet waits for that: it is neither counted nor refused. An approval that needs a signature gets a link to the page where
the person signs: until then nothing is recorded, and nothing counts.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar
from uuid import uuid4

from slack_bolt.async_app import AsyncAck
from slack_sdk.web.async_client import AsyncWebClient

from bot.client import FAILURES, error_code, slack_logger
from bot.listeners import private_answers
from bot.listeners.identity import Identity, identify
from bot.listeners.installation import InstallationWatch
from bot.listeners.private_answers import PrivateAnswers
from bot.payloads import Actions, Submission, User
from bot.views import references
from bot.views.more_menu import MoreRef
from bot.views.references import CardRef, stale
from bot.views.vote_modals import has_to_be_signed, signing_modal
from runtime.clock import Clock
from runtime.model.votes import CardAct, ClaimAct, JointDecision, Refusal, RefusalCode, VoteVerdict
from runtime.services.approval_view import ApprovalView
from runtime.services.approvals import ApprovalService
from runtime.services.clicks import Click
from runtime.services.refusal_words import refusal_words
from runtime.services.requests import RequestService
from runtime.services.signing_links import SigningWish
from runtime.services.unknown_actors import UnknownActor

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")
_WORDLESS = (VoteVerdict.APPROVE, *ClaimAct)
"""What may be said without a word of why."""


def dedupe_key(ref: CardRef, identity: Identity, verdict: VoteVerdict | ClaimAct | CardAct, occasion: str) -> str:
    """Return a key that deliveries of the same click share; `occasion` is the click's action_ts or the modal's id."""
    account = identity.account
    parts = (ref.id, account.team, account.user, verdict.value, occasion)
    return "slack:" + hashlib.sha256("\n".join(parts).encode()).hexdigest()


def refusal_of(identity: Identity, ref: CardRef, view: ApprovalView | None) -> Refusal | None:
    """Return why a click cannot count, or None; that Slack has not confirmed somebody comes last, for it may yet."""
    if identity.claimed:
        return stale(ref, view) or identity.refusal
    return identity.refusal or stale(ref, view)


@dataclass(frozen=True)
class Seen:
    """A click against the truth: who clicked, what it is about as it is now, and why it cannot count, if so.

    `judged` is why this person may not decide it: nobody is to type a reason, or to sign, in vain.
    """

    identity: Identity
    view: ApprovalView | None
    refusal: Refusal | None
    judged: Refusal | None = None

    @property
    def may_go_on(self) -> bool:
        """Return whether a reason may be asked: nothing speaks against it, or Slack's word alone is missing."""
        return self.refusal is None or (self.identity.claimed is not None and self.refusal == self.identity.refusal)


async def see(desk: ApprovalService, identity: Identity, ref: CardRef) -> Seen:
    """Return how a request stands before who clicked; of somebody who is refused anyway nothing is looked up."""
    view, judged = None, None
    if identity.person and (found := await desk.standing(ref.id, identity.person.id)):
        view, judged = found.view, found.refusal
    elif identity.claimed:
        view = await desk.approval(ref.id)
    return Seen(identity, view, refusal_of(identity, ref, view), judged)


def click(
    ref: CardRef,
    identity: Identity,
    verdict: VoteVerdict | ClaimAct | CardAct,
    *,
    occasion: str,
    reason: str,
    refusal: Refusal | None,
    about: str = "",
    together: JointDecision | None = None,
) -> Click:
    """Return the click to record, refused or not; `about` is to whom a request is handed.

    A decision of somebody whom Slack has not confirmed yet waits for that: it is neither counted nor refused.
    """
    person, is_whole = identity.person, bool(reason) or verdict in _WORDLESS
    if is_whole and identity.claimed and (refusal is None or refusal == identity.refusal):
        person, refusal = identity.claimed, Refusal(RefusalCode.UNCONFIRMED)
    return Click(
        dedupe_key=dedupe_key(ref, identity, verdict, occasion),
        approval_id=ref.id,
        stamp=ref.stamp,
        verdict=verdict,
        reason=reason,
        account=identity.account,
        person_id=person.id if person else None,
        refusal=refusal,
        request_id=uuid4().hex,
        about=about,
        together=together,
    )


DEADLINE = 10.0
"""Seconds after which it is given up that something is recorded. Slack is answered long before: see timely.py."""


def recording(
    what: str, *, instead: R
) -> Callable[[Callable[P, Awaitable[T]]], Callable[P, Coroutine[Any, Any, T | R]]]:
    """Have a method record something within DEADLINE; on any error, log it and return `instead`.

    It fails closed: no modal closes as if something were recorded that is not.
    """

    def within(record: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[Any, Any, T | R]]:
        @wraps(record)
        async def recorded(*args: P.args, **kwargs: P.kwargs) -> T | R:
            try:
                async with asyncio.timeout(DEADLINE):
                    return await record(*args, **kwargs)
            except Exception as error:  # noqa: BLE001 - fails closed, see above
                slack_logger().error("not recorded: %s: %s", what, type(error).__name__)
                return instead

        return recorded

    return within


async def applied(what: str, applying: Awaitable[T]) -> T | None:
    """Return what came of something that is recorded, None where that is not known yet: it is applied later."""
    try:
        return await applying
    except Exception as error:  # noqa: BLE001 - it is recorded and acknowledged; a worker applies it
        slack_logger().error("recorded, and not applied yet: %s: %s", what, type(error).__name__)
        return None


@dataclass(frozen=True)
class ListenerContext:
    """What listeners work with."""

    client: AsyncWebClient
    desk: ApprovalService
    front: RequestService
    installation: InstallationWatch
    answers: PrivateAnswers
    clock: Clock


class Listener:
    """A base of listeners: finds the person behind a Slack account."""

    def __init__(self, context: ListenerContext) -> None:
        self._client = context.client
        self._desk = context.desk
        self._front = context.front
        self._installation = context.installation
        self._answers = context.answers
        self._clock = context.clock
        self._log = slack_logger()

    async def _identity(self, user: User) -> Identity:
        return await identify(user, self._installation, self._desk)


class ModalListener(Listener):
    """A base of listeners that open a modal, or tell the person why not."""

    @staticmethod
    def _unknown_actor(identity: Identity) -> UnknownActor | None:
        """Return who is none of the directory's people, None for one of them."""
        if identity.refusal is None:
            return None
        return UnknownActor(identity.account, identity.refusal.code, uuid4().hex)

    async def _tell(self, payload: Actions, text: str) -> None:
        await self._answers.tell(payload.user.id, payload.place, text, occasion=payload.action.action_ts)

    async def _apply_word(
        self, notification: str, user: User, channel: str | None, not_yet: str = private_answers.NOT_YET_APPLIED
    ) -> None:
        """Apply what is recorded of a request, and say in private why it did not count, if so. Never raises."""
        outcome = await applied("what somebody said of a request", self._desk.apply(notification))
        if outcome is None:
            said = not_yet
        elif outcome.refusal:
            said = refusal_words(outcome.refusal)
        else:
            return
        await self._answers.tell(user.id, channel, said, occasion=notification)

    async def _open(self, payload: Actions, modal: dict[str, Any]) -> None:
        """Open a modal, over the details where the click was there. A repeated delivery finds its trigger used."""
        opens = self._client.views_push if payload.modal else self._client.views_open
        try:
            await opens(trigger_id=payload.trigger_id, view=modal)
        except FAILURES as error:
            if (code := error_code(error)) != "exchanged_trigger_id":
                self._log.warning("a modal was not opened: %s", code)
                await self._tell(payload, private_answers.NOT_OPENED)


def unknown_words(identity: Identity) -> str:
    """Return what is said to somebody who is no person of the directory."""
    return refusal_words(identity.refusal) if identity.refusal else private_answers.REASON_NOT_RECORDED


def came_of(why: str | None, done: str, undone: str = "Nothing was done") -> str:
    """Return what a person is told of their act: that it is done, why it is not, or, for None, that it is recorded."""
    if why is None:
        return private_answers.NOT_YET_APPLIED
    return f"{undone}: {why}" if why else done


class MenuAct(Protocol):
    """One act of the menu."""

    async def on_chosen(self, payload: Actions, ref: MoreRef, ack: AsyncAck) -> None:
        """Open its modal, or say in private why not."""
        ...

    async def on_submission(self, payload: Submission, ack: AsyncAck) -> None:
        """Record what the modal says before it closes; a fault is shown at its input, and it stays open."""
        ...


async def keep_modal_open(ack: AsyncAck, fault: str, block: str = references.REASON) -> None:
    """Show a fault at an input; the modal stays open."""
    await ack(response_action="errors", errors={block: fault})


async def close_modal(ack: AsyncAck, *, over: bool) -> None:
    """Close the modal, and the details below it, which are not as they were."""
    await (ack(response_action="clear") if over else ack())


@dataclass(frozen=True)
class SigningLinks:
    """Hands them out. The vote comes from the page: until then nothing is recorded, and nothing counts."""

    desk: ApprovalService

    async def modal(
        self,
        identity: Identity,
        view: ApprovalView | None,
        verdict: VoteVerdict | ClaimAct,
        reason: str,
        ticket: str = "",
    ) -> dict[str, Any] | None:
        """Return the modal with the link, None where a click will do. `view` is None where a click cannot count.

        With a `ticket` it is to use break-glass.
        """
        if view is None or identity.person is None or not has_to_be_signed(view, verdict):
            return None
        wish = SigningWish(view.approval_id, view.stamp, reason, identity.person.id, identity.account, ticket)
        return signing_modal(view, await self.desk.signing.link(wish), uses_break_glass=bool(ticket))
