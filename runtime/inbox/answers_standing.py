"""Where an act beside a vote stands: who speaks, and the request under its run's lock."""

from collections.abc import Sequence
from dataclasses import dataclass

from runtime.approvals.rules import Ballot
from runtime.inbox.matter import Matter
from runtime.inbox.vote_refusals import ballot_of, holder_of, present_person, refuse, unknown
from runtime.model.actor import Person
from runtime.model.approval import Approval
from runtime.model.notification import Applied
from runtime.model.notification_people import PersonPayload
from runtime.model.states import NotificationStatus
from runtime.model.votes import CardAct, Refusal, RefusalCode, Vote
from runtime.outbox import messages
from runtime.store import approvals
from runtime.store.run_tx import RunTx


@dataclass(frozen=True)
class Answer:
    """The locked run, the request with its counted votes, and the one person who speaks."""

    tx: RunTx
    approval: Approval
    votes: Sequence[Vote]
    ballot: Ballot
    person: Person


async def heard(matter: Matter, payload: PersonPayload, act: CardAct, stamp: str) -> Answer | Applied:
    """Return where an act stands, or what to record instead: nobody speaks, or of a request that was another then."""
    tx = matter.run()
    approval = None if tx is None else await tx.loads.approval(payload.approval_id)
    if tx is None or approval is None:
        return unknown()
    person = await present_person(tx, payload)
    if isinstance(person, Refusal):
        return await refuse(tx, approval, payload, act, person)
    votes = await tx.loads.votes(approval.approval_id)
    ballot = ballot_of(approval, votes, tx.row, await holder_of(tx, approval))
    if stamp not in ("", approval.stamp) and ballot.is_open(tx.now):
        return await refuse(tx, approval, payload, act, Refusal(RefusalCode.STALE))
    return Answer(tx, approval, votes, ballot, person)


async def heard_from_caller(matter: Matter, payload: PersonPayload, act: CardAct, _: str) -> Answer | Applied:
    """Return where an act of a caller of the edge stands, which speaks for itself; or what to record instead."""
    tx = matter.run()
    approval = None if tx is None else await tx.loads.approval(payload.approval_id)
    if tx is None or approval is None:
        return unknown()
    row = await tx.loads.actor((tx.tenant, payload.brought_by))
    if row is None or row["kind"] != "agent":
        return await refuse(tx, approval, payload, act, Refusal(RefusalCode.NOT_IN_DIRECTORY))
    votes = await tx.loads.votes(approval.approval_id)
    caller = Person(row["actor_id"], row["name"], ())
    return Answer(tx, approval, votes, ballot_of(approval, votes, tx.row), caller)


async def answered(matter: Matter, answer: Answer) -> Applied:
    """Show on the card what was said, and return that it counts."""
    tx, approval = answer.tx, answer.approval
    await approvals.touch(tx.conn, approval.approval_id)
    await messages.card_changed(matter.engine, tx, approval.approval_id)
    return Applied(NotificationStatus.APPLIED, {"counted": True, "approval": str(approval.status)})
