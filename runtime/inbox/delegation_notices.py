"""Tells delegator and delegate what became of a delegation, each by a direct message."""

from typing import Literal

from receipts.chain import PROGRAM
from receipts.fields import timestamp
from runtime.engine import Engine
from runtime.inbox.matter import Matter
from runtime.model.approval import Approval
from runtime.model.delegation import Delegation
from runtime.model.delegation_messages import DelegateVoted, DelegationChanged
from runtime.model.votes import Vote
from runtime.outbox import messages
from runtime.planning.delegation import DELEGATION, delegation_definition
from runtime.planning.triggers import Trigger, claim_in
from runtime.store import directory
from runtime.store.database.pool import Conn
from runtime.store.definitions import keep_definition
from runtime.store.run_tx import RunTx


async def tell_of_delegation(matter: Matter, act: Literal["recorded", "ended"], about: Delegation, reason: str) -> None:
    """Start the run that tells both, in the transaction of the act."""
    conn, tenant, by = matter.conn, matter.notification.tenant, matter.notification.actor
    await keep_definition(conn, tenant, delegation_definition(), matter.engine.clock())
    trigger = Trigger(
        tenant=tenant,
        type=DELEGATION,
        ref=f"{about.delegation_id}:{act}",
        payload={"delegation_id": about.delegation_id, "act": act},
        requested_by=PROGRAM,
        submitted_by=PROGRAM.id,
        request_id=matter.notification.request_id,
    )
    claimed = await claim_in(matter.engine, conn, delegation_definition(), trigger)
    await conn.write()
    tx = await matter.engine.lock_run(conn, claimed.run_id, trigger.request_id)
    delegator, delegate, person = [await _name(conn, tenant, one) for one in (about.delegator, about.delegate, by.id)]
    said = DelegationChanged(
        act=act,
        delegator=delegator,
        delegate=delegate,
        groups=list(about.groups),
        starts_at=timestamp(about.starts_at),
        ends_at=timestamp(about.ends_at),
        person=person,
        reason=reason,
    )
    await _tell_both(matter.engine, tx, (about.delegator, about.delegate), f"delegation:{act}", said, None)
    await tx.flush()


async def tell_of_delegate_vote(engine: Engine, tx: RunTx, approval: Approval, name: str, vote: Vote) -> None:
    """Tell both that a delegate voted; `name` makes it once."""
    if vote.delegation is None or vote.delegator is None:
        return
    said = DelegateVoted(
        run=await messages.run_name(tx),
        step=approval.step,
        delegator=vote.delegation["delegator_name"],
        delegate=vote.person_name,
        verdict=vote.verdict,
    )
    await _tell_both(engine, tx, (vote.delegator, vote.person), f"delegate:{name}", said, approval.approval_id)


async def _tell_both(
    engine: Engine,
    tx: RunTx,
    people: tuple[str, str],
    name: str,
    said: DelegationChanged | DelegateVoted,
    card_of: str | None,
) -> None:
    for person in people:
        accounts = await directory.reached_accounts_of(tx.conn, tx.tenant, person)
        await messages.tell_accounts(engine, tx, accounts, name, said, card_of)


async def _name(conn: Conn, tenant: str, person: str) -> str:
    """Return the person's name in the directory, their id where it has none."""
    found = await directory.actor(conn, tenant, person)
    return (found["name"] if found else "") or person
