"""Whether a request would be left with too few eligible approvers, were a vote taken back or a review handed on."""

from collections.abc import Sequence
from datetime import datetime

from runtime.approvals.fulfilling import asked_groups, left, left_to, refuse_short
from runtime.approvals.rules import Ballot
from runtime.model.approval_reach import Asked
from runtime.model.votes import Refusal, Vote
from runtime.store.database.pool import Conn
from runtime.store.reaching import asked_in


async def refuse_stranding_withdrawal(
    conn: Conn, tenant: str, ballot: Ballot, votes: Sequence[Vote], person: str, now: datetime
) -> Refusal | None:
    """Return why a vote stays, or None: its person could not give it again, and too few others are left."""
    people = await _people(conn, tenant, ballot, now)
    others = [vote for vote in votes if vote.person != person]
    before, after = (left(ballot.requirement, people, _barred(ballot), some) for some in (votes, others))
    return refuse_short(before, after)


async def refuse_stranding_hand(conn: Conn, tenant: str, ballot: Ballot, to: str, now: datetime) -> Refusal | None:
    """Return why a review stays with its person, or None: nobody could answer it once it is that other one's."""
    people = await _people(conn, tenant, ballot, now)
    before = left(ballot.requirement, people, _barred(ballot))
    return refuse_short(before, left_to(ballot.requirement, people, _barred(ballot), to))


async def _people(conn: Conn, tenant: str, ballot: Ballot, now: datetime) -> list[Asked]:
    return await asked_in(conn, tenant, asked_groups(ballot.requirement), now)


def _barred(ballot: Ballot) -> frozenset[str]:
    return frozenset({ballot.requested_by, ballot.submitted_by})
