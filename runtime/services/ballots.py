"""Ballots: a request as the rules see it now, with the one person who wants something of it. Reads only.

What the rules need of many requests is read by one statement for all that is asked at once, and nothing twice.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from runtime.approvals.rules import Ballot, refuse_break_glass, way_to_vote
from runtime.inbox.vote_refusals import UNKNOWN_APPROVAL, ballot_of, claimant_in
from runtime.model.approval import Approval
from runtime.model.delegation import Account, StandIn
from runtime.model.person import Person
from runtime.model.questions import Question
from runtime.model.votes import Refusal, Vote, VoteVerdict
from runtime.store import approvals, directory
from runtime.store.batched_reads import Batcher
from runtime.store.break_glass import count_break_glass
from runtime.store.database.buffered_connection import at_once
from runtime.store.database.pool import Conn
from runtime.store.delegations import stand_ins_of
from runtime.store.directory import is_person_deactivated
from runtime.store.questions import questions_of_all

_MOST = 1000


class BallotReader:
    """The reads of one moment, on one connection of a tenant."""

    def __init__(self, conn: Conn, tenant: str) -> None:
        self.conn = conn
        self.tenant = tenant
        self.row: Batcher[str, dict[str, Any] | None]
        self.row = Batcher(partial(approvals.approval_view_rows, conn), most=_MOST, at_once=1)
        self.votes: Batcher[str, list[Vote]]
        self.votes = Batcher(partial(approvals.counted_votes, conn), most=_MOST, at_once=1)
        self.questions: Batcher[str, list[Question]]
        self.questions = Batcher(partial(questions_of_all, conn), most=_MOST, at_once=1)
        self._kept: dict[Any, asyncio.Future[Any]] = {}

    async def once(self, key: Any, read: Callable[[], Awaitable[Any]]) -> Any:
        """Return what was read under a key, which names what it is; the first who asks reads it."""
        if key not in self._kept:
            self._kept[key] = asyncio.ensure_future(read())
        return await self._kept[key]

    async def actor(self, actor_id: str) -> dict[str, Any] | None:
        """Return somebody of the directory, or None."""
        found: dict[str, Any] | None = await self.once(
            ("actor", actor_id), lambda: directory.actor(self.conn, self.tenant, actor_id)
        )
        return found

    async def who(self, actor_id: str) -> tuple[Person, Sequence[Account]] | None:
        """Return somebody of the directory with their Slack accounts, or None."""
        found: tuple[Person, Sequence[Account]] | None = await self.once(
            ("who", actor_id), lambda: directory.actor_with_accounts(self.conn, self.tenant, actor_id)
        )
        return found

    async def stand_ins(self, actor_id: str, now: datetime) -> Sequence[StandIn]:
        """Return for whom somebody may vote now."""
        found: Sequence[StandIn] = await self.once(
            ("stand_ins", actor_id, now), lambda: stand_ins_of(self.conn, self.tenant, actor_id, now)
        )
        return found


@dataclass(frozen=True)
class BallotView:
    """The request with its counted votes and the row of what its card shows, and the person with all their accounts."""

    approval: Approval
    votes: Sequence[Vote]
    ballot: Ballot
    person: Person
    accounts: Sequence[Account]
    row: Mapping[str, Any]


async def look(conn: Conn, tenant: str, approval_id: str, person_id: str) -> BallotView | None:
    """Return a request of the tenant's and a person of its directory, None where either is not there."""
    return await look_by(BallotReader(conn, tenant), approval_id, person_id)


async def look_by(reader: BallotReader, approval_id: str, person_id: str) -> BallotView | None:
    """Return what `look` does; of many requests at once, with one person, it costs about what one does."""
    row, votes, who = await at_once(reader.row(approval_id), reader.votes(approval_id), reader.who(person_id))
    if row is None or who is None or row["tenant"] != reader.tenant:
        return None
    approval = approvals.approval_in(row)
    ballot = ballot_of(approval, votes, row, await _holder(reader, approval))
    person, accounts = who
    return BallotView(approval, votes, ballot, person, accounts, row)


async def _holder(reader: BallotReader, approval: Approval) -> Person | None:
    """Return who has claimed a review, if their claim still holds."""
    person_id = approval.assignee
    if person_id is None:
        return None
    claimed_by, has_left = await at_once(
        reader.actor(person_id),
        reader.once(("left", person_id), lambda: is_person_deactivated(reader.conn, reader.tenant, person_id)),
    )
    return None if has_left else claimant_in(approval, claimed_by)


async def overrides_left(conn: Conn, tenant: str, approval_id: str, person_id: str, now: datetime) -> Refusal | int:
    """Return how often the person may still do without the others, or why they may not now, whatever their reason."""
    seen = await look(conn, tenant, approval_id, person_id)
    if seen is None:
        return UNKNOWN_APPROVAL
    break_glass = seen.approval.requirement.break_glass
    used = await count_break_glass(conn, tenant, person_id, now - break_glass.lasts) if break_glass else 0
    refusal = refuse_break_glass(seen.ballot, seen.person, seen.accounts, None, used, now)
    return refusal or (break_glass.at_most - used if break_glass else 0)


async def look_with_way(
    reader: BallotReader, approval_id: str, person_id: str, now: datetime
) -> tuple[BallotView, StandIn | Refusal | None] | None:
    """Return what `look_by` does, with for whom the person may decide it now, None for themselves, or why not."""
    seen, stand_ins = await at_once(look_by(reader, approval_id, person_id), reader.stand_ins(person_id, now))
    if seen is None:
        return None
    return seen, way_to_vote(seen.ballot, seen.person, seen.accounts, stand_ins, VoteVerdict.APPROVE, None, now)


async def way_by(reader: BallotReader, approval_id: str, person_id: str, now: datetime) -> StandIn | Refusal | None:
    """Return what `way_to_decide` does; of many requests at once, with one person, it costs about what one does."""
    found = await look_with_way(reader, approval_id, person_id, now)
    return found[1] if found else UNKNOWN_APPROVAL


async def way_to_decide(
    conn: Conn, tenant: str, approval_id: str, person_id: str, now: datetime
) -> StandIn | Refusal | None:
    """Return for whom the person may decide a request now, None for themselves, or why they may not."""
    return await way_by(BallotReader(conn, tenant), approval_id, person_id, now)


async def refusal_to_decide(conn: Conn, tenant: str, approval_id: str, person_id: str, now: datetime) -> Refusal | None:
    """Return why the person may not decide a request now, or None."""
    way = await way_to_decide(conn, tenant, approval_id, person_id, now)
    return way if isinstance(way, Refusal) else None
