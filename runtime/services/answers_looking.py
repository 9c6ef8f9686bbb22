"""A request as the rules see it now, and the one person who wants something of it. Reads only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runtime.approvals.rules import Ballot, refuse_glass
from runtime.approvals.standing_in import way_to_vote
from runtime.inbox.vote_refusals import UNKNOWN_APPROVAL, ballot_of, holder_in
from runtime.model.actor import Person
from runtime.model.approval import Approval
from runtime.model.delegation import Account, StandIn
from runtime.model.votes import Refusal, Vote, VoteVerdict
from runtime.services.answers_reading import Reader
from runtime.store.absentees import person_left
from runtime.store.database.pool import Conn
from runtime.store.database.round_trips import at_once
from runtime.store.glass import count_broken


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
    return await look_by(Reader(conn, tenant), approval_id, person_id)


async def look_by(reader: Reader, approval_id: str, person_id: str) -> Seen | None:
    """Return what `look` does; of many requests at once, with one person, it costs about what one does."""
    approval, who, row, votes, accounts = await at_once(
        reader.approval(approval_id),
        reader.actor(person_id),
        reader.row(approval_id),
        reader.votes(approval_id),
        reader.accounts(person_id),
    )
    if approval is None or who is None or row is None or row["tenant"] != reader.tenant:
        return None
    ballot = ballot_of(approval, votes, row, await _holder(reader, approval))
    person = Person(who["actor_id"], who["name"], tuple(who["groups"]))
    return Seen(approval, votes, ballot, person, accounts, row)


async def _holder(reader: Reader, approval: Approval) -> Person | None:
    """Return who has claimed a review, if their claim still holds."""
    claimed_by = await reader.actor(approval.assignee) if approval.assignee else None
    holder = holder_in(approval, claimed_by)
    if holder is None:
        return None
    left = ("left", holder.id)
    has_left = await reader.once(left, lambda: person_left(reader.conn, reader.tenant, holder.id))
    return None if has_left else holder


async def refusal_to_decide(conn: Conn, tenant: str, approval_id: str, person_id: str, now: datetime) -> Refusal | None:
    """Return why the person may not decide a request now, or None."""
    way = await way_to_decide(conn, tenant, approval_id, person_id, now)
    return way if isinstance(way, Refusal) else None


async def overrides_left(conn: Conn, tenant: str, approval_id: str, person_id: str, now: datetime) -> Refusal | int:
    """Return how often the person may still do without the others, or why they may not now, whatever their reason."""
    seen = await look(conn, tenant, approval_id, person_id)
    if seen is None:
        return UNKNOWN_APPROVAL
    glass = seen.approval.requirement.break_glass
    used = await count_broken(conn, tenant, person_id, now - glass.lasts) if glass else 0
    refusal = refuse_glass(seen.ballot, seen.person, seen.accounts, None, used, now)
    return refusal or (glass.at_most - used if glass else 0)


async def way_to_decide(
    conn: Conn, tenant: str, approval_id: str, person_id: str, now: datetime
) -> StandIn | Refusal | None:
    """Return for whom the person may decide a request now, None for themselves, or why they may not."""
    return await way_by(Reader(conn, tenant), approval_id, person_id, now)


async def way_by(reader: Reader, approval_id: str, person_id: str, now: datetime) -> StandIn | Refusal | None:
    """Return what `way_to_decide` does; of many requests at once, with one person, it costs about what one does."""
    seen, stand_ins = await at_once(look_by(reader, approval_id, person_id), reader.stand_ins(person_id, now))
    if seen is None:
        return UNKNOWN_APPROVAL
    return way_to_vote(seen.ballot, seen.person, seen.accounts, stand_ins, VoteVerdict.APPROVE, None, now)
