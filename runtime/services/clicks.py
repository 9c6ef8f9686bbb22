"""Clicks: what a person says of a request in Slack, on record before they are told that it was heard."""

from dataclasses import dataclass
from typing import Any

from receipts.chain import Actor
from runtime.engine import Engine
from runtime.inbox import inbox
from runtime.model.limits import error_text
from runtime.model.notification import Payload
from runtime.model.payloads import (
    Answering,
    AskPayload,
    ClaimPayload,
    HandPayload,
    ReplyPayload,
    TogetherPayload,
    VotePayload,
    WithdrawPayload,
)
from runtime.model.person import SlackAccount
from runtime.model.states import ApprovalStatus
from runtime.model.votes import CardAct, ClaimAct, JointDecision, Refusal, RefusalCode, VoteVerdict


@dataclass(frozen=True)
class Click:
    """A person's verdict as it came from Slack, or what they do beside that; verified.

    `dedupe_key` is equal for deliveries of the same click.

    `together` says that it is one of several which the person decided by one act.

    `refusal` is set where the bot already knows that the click cannot count (guest, unknown person, bot, other team);
    it is still recorded, and audited.
    """

    dedupe_key: str
    approval_id: str
    stamp: str
    verdict: VoteVerdict | ClaimAct | CardAct
    reason: str
    account: SlackAccount
    person_id: str | None
    refusal: Refusal | None
    request_id: str
    ticket: str = ""  # of an emergency, in which the person does without the others
    about: str = ""  # to whom a request is handed, or the question that is answered
    together: JointDecision | None = None


@dataclass(frozen=True)
class ClickOutcome:
    """What became of a click: counted, or refused with a reason; `status` is the approval's after it."""

    counted: bool
    refusal: Refusal | None
    status: ApprovalStatus | None


def click_payload(click: Click) -> VotePayload | ClaimPayload | Answering:
    """Return what goes into the inbox."""
    refusal = click.refusal or (Refusal(RefusalCode.NOT_IN_DIRECTORY) if click.person_id is None else None)
    who = {
        "approval_id": click.approval_id,
        "team": click.account.team,
        "user": click.account.user,
        "person_id": click.person_id,
        "refusal": refusal,
    }
    if isinstance(click.verdict, ClaimAct):
        return ClaimPayload(**who, act=click.verdict)
    if isinstance(click.verdict, CardAct):
        return _act_payload(click, who)
    return VotePayload(
        **who,
        stamp=click.stamp,
        verdict=click.verdict,
        reason=error_text(click.reason),
        ticket=error_text(click.ticket),
        together=TogetherPayload(**vars(click.together)) if click.together else None,
    )


def _act_payload(click: Click, who: dict[str, Any]) -> Answering:
    said = {**who, "stamp": click.stamp, "reason": error_text(click.reason)}
    match click.verdict:
        case CardAct.HAND:
            return HandPayload(**said, to=click.about)
        case CardAct.ASK:
            return AskPayload(**said)
        case CardAct.REPLY:
            return ReplyPayload(**who, question_id=click.about, text=error_text(click.reason))
        case _:
            return WithdrawPayload(**said)


async def record_said(engine: Engine, payload: Payload, *, by: str, about: str, key: str, request_id: str) -> str:
    """Write it into the inbox, durably; return the notification's id. Repeats of a key return the first's.

    `by` is the person's id, or that of the Slack account of nobody; `about` is what it is correlated by.
    """
    by_person = Actor(id=by, kind="person")
    new = engine.notification(payload, by=by_person, about=about, key=key, request_id=request_id)
    return await inbox.record(engine, new)
