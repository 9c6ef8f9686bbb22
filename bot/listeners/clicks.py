"""From a verified click to what the runtime records."""

import hashlib
from uuid import uuid4

from bot.listeners.identity import Identity
from bot.views.references import CardRef, stale
from runtime.model.votes import CardAct, ClaimAct, Refusal, RefusalCode, Together, VoteVerdict
from runtime.services.approval_view import ApprovalView
from runtime.services.clicks import Click

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


def click(
    ref: CardRef,
    identity: Identity,
    verdict: VoteVerdict | ClaimAct | CardAct,
    *,
    occasion: str,
    reason: str,
    refusal: Refusal | None,
    about: str = "",
    together: Together | None = None,
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
