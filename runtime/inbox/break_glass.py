"""Break-glass approvals: in an emergency one person approves without the others; another reviews afterwards.

Whoever has to know is told at once. Of a review that is late, those who are asked and those who watch over it are told
again each time that its time has passed.
"""

from collections.abc import Awaitable
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any

from receipts.fields import timestamp
from runtime.approvals.requests import ask, look_at_passage, passage_of
from runtime.approvals.routes import look_at_reach
from runtime.approvals.rules import refuse_break_glass
from runtime.engine import Engine
from runtime.inbox.vote_refusals import ballot_of, refuse_stale, refuse_way
from runtime.model.approval import Approval, AskKind, NamedApproval, NewApproval
from runtime.model.chat_message import BreakGlassUsed, ReviewLate
from runtime.model.metrics import Mark
from runtime.model.payloads import VotePayload
from runtime.model.person import Person
from runtime.model.requirement import BreakGlass, Requirement
from runtime.model.states import ApprovalStatus
from runtime.model.votes import Refusal, RefusalCode, Vote, VoteContext, VoteVerdict
from runtime.outbox import messages
from runtime.planning.effect_tx import EffectTx
from runtime.store.break_glass import count_break_glass, late_reviews, lock_break_glass_count
from runtime.store.database.buffered_connection import at_once
from runtime.store.metrics import put_mark
from runtime.store.run_tx import RunTx

_CARD_LASTS = timedelta(days=365)
"""How long it is tried to post the card: a review that is late is asked for still."""


@dataclass(frozen=True)
class Uses:
    """Whose uses of break-glass are counted, and for how long."""

    person: str
    lasts: timedelta


async def _count(tx: RunTx, uses: Uses) -> int:
    """Count behind the lock: what was committed before that was had is seen."""
    _, used = await at_once(
        lock_break_glass_count(tx.conn, tx.tenant, uses.person),
        count_break_glass(tx.conn, tx.tenant, uses.person, tx.now - uses.lasts),
    )
    return int(used)


def look_at_break_glass(engine: Engine, tx: RunTx, payload: VotePayload) -> list[Awaitable[None]]:
    """Return the reads that break-glass needs, for the request that was read with the run's lock."""
    approval: Approval | None = tx.ahead.get(NamedApproval(payload.approval_id))
    break_glass = approval.requirement.break_glass if approval else None
    if approval is None or break_glass is None or payload.person_id is None:
        return []
    uses = Uses(payload.person_id, break_glass.lasts)
    return [
        tx.look(uses, _count(tx, uses)),
        look_at_passage(tx, approval.effect_id),
        look_at_reach(engine, tx, _review_of(break_glass)),
        messages.look_at_groups(tx, break_glass.tell),
        messages.look_at_person(tx, tx.row["requested_by"]),
    ]


async def check_break_glass(
    tx: RunTx, context: VoteContext, person: Person, payload: VotePayload
) -> dict[str, Any] | Refusal:
    """Return what is put on record of it, or why the person cannot do without the others.

    How often they have is counted while nobody else can: two at once do not pass the bound together.
    """
    approval = context.approval
    break_glass = approval.requirement.break_glass
    if break_glass is None or approval.kind is not AskKind.EFFECT or payload.verdict is not VoteVerdict.APPROVE:
        return Refusal(RefusalCode.NO_BREAK_GLASS)
    used = await tx.once(partial(_count, tx), Uses(person.id, break_glass.lasts))
    ballot = ballot_of(approval, context.votes, tx.row)
    refusal = refuse_break_glass(ballot, person, context.accounts, payload.reason, used, tx.now)
    if refusal is None and not payload.ticket.strip():
        refusal = Refusal(RefusalCode.NO_TICKET)
    refusal = refusal or refuse_stale(approval, payload) or refuse_way(tx, approval, payload)
    return refusal or {"ticket": (await tx.privacy()).text(payload.ticket.strip()), "nth": used + 1}


async def request_review(engine: Engine, tx: RunTx, approval: Approval, vote: Vote) -> None:
    """Tell those who have to know at once, and ask another person whether it was right."""
    break_glass = approval.requirement.break_glass
    if break_glass is None or vote.break_glass is None:
        return
    await _open_review(await passage_of(engine, tx, approval), approval, vote)
    said = BreakGlassUsed(
        run=await messages.run_name(tx),
        step=approval.step,
        person=vote.person_name,
        why=vote.reason,
        ticket=str(vote.break_glass["ticket"]),
    )
    name = f"break_glass:{approval.approval_id}"
    await messages.tell_thread_once(engine, tx, approval, name, said)
    await messages.tell_groups(engine, tx, break_glass.tell, name, said, approval.approval_id, is_new=True)
    await messages.tell_requester(engine, tx, name, said, approval.approval_id, is_new=True)


def _review_of(break_glass: BreakGlass) -> Requirement:
    return Requirement.of_one(break_glass.review_by, break_glass.review_lasts, reason_required=True)


async def _open_review(passage: EffectTx, approval: Approval, vote: Vote) -> None:
    """Ask one person of those whom policy named, none of those who wanted it or did it. It stays open until closed."""
    break_glass = approval.requirement.break_glass
    if break_glass is None or vote.break_glass is None:
        raise ValueError("nobody used break-glass")
    row = passage.tx.row
    barred = sorted({vote.person, row["requested_by"], row["submitted_by"]})
    asked = _review_of(break_glass)
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


REVIEW_BATCH = 64
"""Reviews that one sweep takes on."""


async def tell_of_late_reviews(engine: Engine) -> int:
    """Tell of each review whose time is over, once each time that it has passed; return of how many."""
    async with engine.pool.connection() as conn:
        late = await late_reviews(conn, engine.tenant, engine.clock(), REVIEW_BATCH)
    for one in late:
        async with engine.run_tx(one["run_id"]) as tx:
            await _tell_late(engine, tx, one)
    if late:
        engine.wakeup.poke()
    return len(late)


async def _tell_late(engine: Engine, tx: RunTx, late: dict[str, Any]) -> None:
    approval = await tx.loads.approval(late["approval_id"])
    if approval is None or approval.status is not ApprovalStatus.REQUESTED:
        return
    if not await put_mark(tx.conn, approval.approval_id, Mark.REMINDED, f"late:{late['nth']}", tx.now):
        return  # somebody else has just told of it
    asked = list(approval.requirement.groups)
    said = ReviewLate(
        run=await messages.run_name(tx), step=approval.step, groups=asked, until=timestamp(approval.expires_at)
    )
    name = f"late:{approval.approval_id}:{late['nth']}"
    await messages.tell_thread(engine, tx, approval.approval_id, name, said)
    await messages.tell_groups(engine, tx, sorted({*asked, *late["tell"]}), name, said, approval.approval_id)
