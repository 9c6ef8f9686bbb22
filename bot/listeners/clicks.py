"""From a verified click to what the runtime records."""

import hashlib
from uuid import uuid4

from bot.cards.references import CardRef
from bot.listeners.identity import Identity
from runtime.desk.model import Click
from runtime.model.approvals.votes import CardAct, ClaimAct, Refusal, Together, VoteVerdict


def dedupe_key(ref: CardRef, identity: Identity, verdict: VoteVerdict | ClaimAct | CardAct, occasion: str) -> str:
    """Return a key that deliveries of the same click share; `occasion` is the click's action_ts or the modal's id."""
    account = identity.account
    parts = (ref.id, account.team, account.user, verdict.value, occasion)
    return "slack:" + hashlib.sha256("\n".join(parts).encode()).hexdigest()


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
    """Return the click to record, refused or not; `about` is to whom a request is handed."""
    return Click(
        dedupe_key=dedupe_key(ref, identity, verdict, occasion),
        approval_id=ref.id,
        stamp=ref.stamp,
        verdict=verdict,
        reason=reason,
        account=identity.account,
        person_id=identity.person.id if identity.person else None,
        refusal=refusal,
        request_id=uuid4().hex,
        about=about,
        together=together,
    )
