"""Breaking the glass: in an emergency one person does without the others. Another says afterwards whether rightly."""

from typing import Any

from runtime.approvals.hindsight import open_hindsight
from runtime.approvals.passages import passage_of
from runtime.approvals.rules import refuse_glass
from runtime.engine import Engine
from runtime.inbox.vote_refusals import accounts_of, ballot_of, refuse_stale, refuse_way
from runtime.model.actor import Person
from runtime.model.approval import Approval, AskKind
from runtime.model.messages import GlassBroken
from runtime.model.notification_people import VotePayload
from runtime.model.votes import Refusal, RefusalCode, Vote, VoteVerdict
from runtime.outbox import messages
from runtime.store.glass import count_broken, hold_glass
from runtime.store.run_tx import RunTx


async def way_past_glass(
    tx: RunTx, approval: Approval, person: Person, payload: VotePayload
) -> dict[str, Any] | Refusal:
    """Return what is put on record of it, or why the person cannot do without the others.

    How often they have is counted while nobody else can: two at once do not pass the bound together.
    """
    glass = approval.requirement.break_glass
    if glass is None or approval.kind is not AskKind.EFFECT or payload.verdict is not VoteVerdict.APPROVE:
        return Refusal(RefusalCode.NO_GLASS)
    await hold_glass(tx.conn, tx.tenant, person.id)
    used = await count_broken(tx.conn, tx.tenant, person.id, tx.now - glass.lasts)
    ballot = ballot_of(approval, await tx.loads.votes(approval.approval_id), tx.row)
    accounts = await accounts_of(tx, person.id, payload)
    refusal = refuse_glass(ballot, person, accounts, payload.reason, used, tx.now)
    if refusal is None and not payload.ticket.strip():
        refusal = Refusal(RefusalCode.NO_TICKET)
    refusal = refusal or refuse_stale(approval, payload) or refuse_way(tx, approval, payload)
    return refusal or {"ticket": (await tx.privacy()).text(payload.ticket.strip()), "nth": used + 1}


async def ask_afterwards(engine: Engine, tx: RunTx, approval: Approval, vote: Vote) -> None:
    """Tell those who have to know at once, and ask another person whether it was right."""
    glass = approval.requirement.break_glass
    if glass is None or vote.break_glass is None:
        return
    await open_hindsight(await passage_of(engine, tx, approval), approval, vote)
    said = GlassBroken(
        run=await messages.run_name(tx),
        step=approval.step,
        person=vote.person_name,
        why=vote.reason,
        ticket=str(vote.break_glass["ticket"]),
    )
    name = f"glass:{approval.approval_id}"
    await messages.tell_thread(engine, tx, approval.approval_id, name, said)
    await messages.tell_groups(engine, tx, list(glass.tell), name, said, approval.approval_id)
    await messages.tell_requester(engine, tx, name, said, approval.approval_id)
