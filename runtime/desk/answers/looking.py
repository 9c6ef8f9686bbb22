"""A request as the rules see it now, and the one person who wants something of it. Reads only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runtime.approvals.rules import Ballot, refuse_glass
from runtime.approvals.standing_in import way_to_vote
from runtime.inbox.people.voters import UNKNOWN_APPROVAL, ballot_of, holder_in
from runtime.model.actor import Person
from runtime.model.approvals.approval import Approval
from runtime.model.approvals.delegation import Account, StandIn
from runtime.model.approvals.votes import Refusal, Vote, VoteVerdict
from runtime.store import approvals, directory
from runtime.store.database.pool import Conn
from runtime.store.people.delegations import stand_ins_of
from runtime.store.people.glass import count_broken
from runtime.store.workspaces.absentees import person_left


@dataclass(frozen=True)
class Seen:
    """The request with its counted votes and the row of what its card shows, and the person with all their accounts."""

    approval: Approval
    votes: Sequence[Vote]
    ballot: Ballot
    person: Person
    accounts: Sequence[Account]
    row: Mapping[str, Any]


async def look(conn: Conn, tenant: str, approval_id: str, person_id: str) -> Seen | None:
    """Return a request of the tenant's and a person of its directory, None where either is not there."""
    approval = await approvals.get_approval(conn, approval_id)
    who = await directory.actor(conn, tenant, person_id)
    row = await approvals.approval_view_row(conn, approval_id)
    if approval is None or who is None or row is None or row["tenant"] != tenant:
        return None
    claimed_by = await directory.actor(conn, tenant, approval.assignee) if approval.assignee else None
    votes = await approvals.votes_of(conn, approval_id)
    holder = holder_in(approval, claimed_by)
    if holder is not None and await person_left(conn, tenant, holder.id):
        holder = None
    ballot = ballot_of(approval, votes, row, holder)
    person = Person(who["actor_id"], who["name"], tuple(who["groups"]))
    return Seen(approval, votes, ballot, person, await directory.accounts_of(conn, tenant, person_id), row)


async def refusal_to_decide(conn: Conn, tenant: str, approval_id: str, person_id: str, now: datetime) -> Refusal | None:
    """Return why the person may not decide a request now, or None."""
    way = await way_to_decide(conn, tenant, approval_id, person_id, now)
    return way if isinstance(way, Refusal) else None


async def refusal_to_break_glass(
    conn: Conn, tenant: str, approval_id: str, person_id: str, now: datetime
) -> Refusal | None:
    """Return why the person may not do without the others now, whatever their reason, or None."""
    seen = await look(conn, tenant, approval_id, person_id)
    if seen is None:
        return UNKNOWN_APPROVAL
    glass = seen.approval.requirement.break_glass
    used = await count_broken(conn, tenant, person_id, now - glass.lasts) if glass else 0
    return refuse_glass(seen.ballot, seen.person, seen.accounts, None, used, now)


async def way_to_decide(
    conn: Conn, tenant: str, approval_id: str, person_id: str, now: datetime
) -> StandIn | Refusal | None:
    """Return for whom the person may decide a request now, None for themselves, or why they may not."""
    seen = await look(conn, tenant, approval_id, person_id)
    if seen is None:
        return UNKNOWN_APPROVAL
    stand_ins = await stand_ins_of(conn, tenant, person_id, now)
    return way_to_vote(seen.ballot, seen.person, seen.accounts, stand_ins, VoteVerdict.APPROVE, None, now)
