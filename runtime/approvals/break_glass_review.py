"""The review of a break-glass: whether it was right to do without the signatures that policy wanted."""

from dataclasses import replace
from datetime import timedelta

from runtime.approvals.requests import ask
from runtime.model.approval import Approval, AskKind, NewApproval
from runtime.model.requirement import Requirement
from runtime.model.votes import Vote
from runtime.outbox import messages
from runtime.planning.effect_tx import EffectTx

_CARD_LASTS = timedelta(days=365)
"""How long it is tried to post the card: a review that is late is asked for still."""


async def open_break_glass_review(passage: EffectTx, approval: Approval, vote: Vote) -> None:
    """Ask one person of those whom policy named, none of those who wanted it or did it. It stays open until closed."""
    break_glass = approval.requirement.break_glass
    if break_glass is None or vote.break_glass is None:
        raise ValueError("nobody used break-glass")
    row = passage.tx.row
    barred = sorted({vote.person, row["requested_by"], row["submitted_by"]})
    asked = Requirement.of_one(break_glass.review_by, break_glass.review_lasts, reason_required=True)
    ticket = vote.break_glass["ticket"]
    new = NewApproval(
        approval_id=passage.engine.new_id("apr"),
        effect_id=approval.effect_id,
        step=approval.step,
        kind=AskKind.AFTERWARDS,
        digest=approval.digest,
        tier=approval.tier,
        requirement=replace(asked, expires_in=break_glass.review_within, exclude=tuple(barred)),
        reasons=[{"code": "break_glass.used", "msg": f"{vote.person_name} used break-glass ({ticket}): {vote.reason}"}],
        before={},
        purpose="Look at what was done without the signatures of others, and say whether that was right.",
    )
    new = await ask(passage, new)
    until = passage.tx.now + _CARD_LASTS
    await messages.post_cards(passage.engine, passage.tx, new, until)
