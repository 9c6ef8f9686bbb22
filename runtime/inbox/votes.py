"""Votes and what they lead to: the approval's end, the effect's next status, the task's result."""

from contextlib import nullcontext
from dataclasses import replace
from typing import Any, NamedTuple

from receipts.canonical import digest
from receipts.chain import Actor
from receipts.fields import timestamp
from receipts.tenant_acts import delegation_name
from runtime.approvals.rules import cast_of, counting, still_missing, tally
from runtime.approvals.standing_in import way_to_vote
from runtime.engine import Engine
from runtime.inbox.break_glass import ask_afterwards, way_past_glass
from runtime.inbox.delegation_notices import tell_of_delegate_vote
from runtime.inbox.endings import end_approval
from runtime.inbox.matter import Matter
from runtime.inbox.signing import signature_on
from runtime.inbox.vote_refusals import (
    account_of,
    ballot_of,
    end_lapsed_claim,
    holder_of,
    refuse,
    refuse_stale,
    refuse_way,
    unknown,
)
from runtime.model.actor import Person
from runtime.model.approval import Approval
from runtime.model.delegation import StandIn
from runtime.model.messages import VoteCounted
from runtime.model.notification import Applied
from runtime.model.notification_people import VotePayload
from runtime.model.passkeys import Signature
from runtime.model.states import ApprovalStatus, NotificationStatus
from runtime.model.vote_context import VoteContext
from runtime.model.votes import Refusal, RefusalCode, Vote, VoteVerdict
from runtime.outbox import messages
from runtime.store import approvals
from runtime.store.delegations import stand_ins_of
from runtime.store.run_tx import RunTx
from runtime.store.tenant_acts_named import acts_named


class Voter(NamedTuple):
    """Who votes, and by which delegation for whom, None for themselves; `glass` is what is on record of breaking it.

    `signature` is with what they signed; None for a click.
    """

    person: Person
    stand_in: StandIn | None
    glass: dict[str, Any] | None = None
    signature: Signature | None = None


async def apply_vote(matter: Matter, payload: VotePayload) -> Applied:
    """Count a click, or refuse it; either way the run's chain says so."""
    tx, context = matter.run(), matter.vote_context
    if tx is None or context is None:
        return unknown()
    # runs share transactions: how often somebody has broken the glass must not be counted by two before either writes
    async with tx.loads.alone if payload.ticket else nullcontext():
        return await _apply(matter, tx, context, payload)


async def _apply(matter: Matter, tx: RunTx, context: VoteContext, payload: VotePayload) -> Applied:
    approval, person = context.approval, context.person
    voter = person if isinstance(person, Refusal) else await _voter(tx, context, person, payload)
    if isinstance(voter, Voter):
        return await _count(matter, tx, context, voter, payload)
    applied = await refuse(tx, approval, payload, payload.verdict, voter)
    if payload.stamp not in ("", approval.stamp):
        await messages.card_outdated(matter.engine, tx, approval, f"seen:{payload.team}:{payload.user}")
    return applied


async def _voter(tx: RunTx, context: VoteContext, person: Person, payload: VotePayload) -> Voter | Refusal:
    approval = context.approval
    stand_in = None if payload.ticket else await _way(tx, context, person, payload)
    if isinstance(stand_in, Refusal):
        return stand_in
    glass = await way_past_glass(tx, approval, person, payload) if payload.ticket else None
    if isinstance(glass, Refusal):
        return glass
    signature = await signature_on(tx, approval, person, payload, context.key)
    return signature if isinstance(signature, Refusal) else Voter(person, stand_in, glass, signature)


async def _way(tx: RunTx, context: VoteContext, person: Person, payload: VotePayload) -> StandIn | Refusal | None:
    """Return why the vote does not count, or for whom it does: None for the person themselves."""
    approval = context.approval
    if payload.verdict is VoteVerdict.CHANGES and approval.kind.outlives_run:
        return Refusal(RefusalCode.IN_DOUBT)
    ballot = ballot_of(approval, context.votes, tx.row, await holder_of(tx, approval))
    asks_for_others = set(person.groups).isdisjoint(approval.requirement.electorate(approval.joined))
    stand_ins = await stand_ins_of(tx.conn, tx.tenant, person.id, tx.now) if asks_for_others else []
    way = way_to_vote(ballot, person, context.accounts, stand_ins, payload.verdict, payload.reason, tx.now)
    if isinstance(way, Refusal):
        return way
    return refuse_stale(approval, payload) or refuse_way(tx, approval, payload) or way


async def _count(matter: Matter, tx: RunTx, context: VoteContext, voter: Voter, payload: VotePayload) -> Applied:
    engine, notification = matter.engine, matter.notification
    person, stand_in, glass, signature = voter
    team, account = account_of(context.accounts, person)
    vote = Vote(
        person=person.id,
        person_name=person.name,
        groups=stand_in.delegator.groups if stand_in else person.groups,
        verdict=payload.verdict,
        reason=(await tx.privacy()).text(payload.reason.strip()),
        team=team,
        account=account,
        at=tx.now,
        via=payload.via,
        brought_by=payload.brought_by,
        delegation=await _delegation(tx, stand_in) if stand_in else None,
        break_glass=glass,
        passkey=signature.document() if signature else None,
        together=payload.together.model_dump() if payload.together else None,
    )
    approval = await end_lapsed_claim(tx, context.approval, *vote.people)
    await approvals.insert_vote(tx.conn, approval.approval_id, vote, notification.notification_id)
    tx.leaf(
        "vote.counted",
        {
            "approval_id": approval.approval_id,
            "person": person.id,
            "verdict": str(vote.verdict),
            "digest": digest(vote.document()),
            **({"card": context.card} if context.card else {}),
            **({"delegator": vote.delegator} if vote.delegator else {}),
            **({"break_glass": glass} if glass else {}),
            **({"opened_at": timestamp(context.opened_at)} if context.opened_at else {}),
        },
        actor=Actor(id=person.id, kind="person"),
        step=approval.step,
        approval_id=approval.approval_id,
        effect_id=approval.effect_id,
    )
    votes = sorted([*context.votes, vote], key=lambda one: (one.at, one.person))
    requirement = approval.requirement
    status = tally(requirement, [cast_of(one) for one in votes])
    name = f"vote:{notification.notification_id}"
    if glass:
        await ask_afterwards(engine, tx, approval, vote)
    else:
        await _tell_vote(engine, tx, approval, name, vote, votes)
    await tell_of_delegate_vote(engine, tx, approval, name, vote)
    if status is ApprovalStatus.REQUESTED:
        await approvals.touch(tx.conn, approval.approval_id)
        await messages.card_moved_on(engine, tx, replace(approval, revision=approval.revision + 1))
    else:
        await end_approval(engine, tx, approval, status, votes)
    return Applied(NotificationStatus.APPLIED, {"counted": True, "approval": str(status)})


async def _delegation(tx: RunTx, stand_in: StandIn) -> dict[str, Any]:
    """Return the delegation of a vote as evidence has it, with the act that recorded it in the tenant's chain."""
    acts = await acts_named(tx.conn, tx.tenant, [delegation_name(stand_in.delegation.delegation_id)])
    return {**stand_in.document(), "acts": acts}


async def _tell_vote(engine: Engine, tx: RunTx, approval: Approval, name: str, vote: Vote, votes: list[Vote]) -> None:
    signed = counting(approval.requirement, [cast_of(one) for one in votes])
    said = VoteCounted(
        ask=approval.kind,
        person=vote.given_by,
        verdict=vote.verdict,
        reason=vote.reason,
        count=len(signed),
        quorum=approval.requirement.quorum,
        missing=list(still_missing(approval.requirement, signed)),
    )
    await messages.tell_thread_once(engine, tx, approval, name, said)
