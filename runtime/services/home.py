"""The App Home of a person, page by page. Each page is read by its keys, so what is open beside it costs nothing."""

from asyncio import gather
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from runtime.approvals.rules import leaves_open
from runtime.engine import Engine
from runtime.inbox.vote_refusals import UNKNOWN_APPROVAL
from runtime.model.delegation import StandIn
from runtime.model.requirement import Requirement
from runtime.model.search import ListFilter, Page, PageEdge, cut_page
from runtime.model.votes import Refusal, Vote, VoteVerdict
from runtime.services.approval_rows import view_of
from runtime.services.approval_view import ApprovalView
from runtime.services.approvals import ApprovalService
from runtime.services.ballots import BallotReader, way_by
from runtime.services.links import request_link, run_link
from runtime.store import approvals, request_lists
from runtime.store.cards import cards_for
from runtime.store.database.pool import Conn
from runtime.store.delegations import stand_ins_of
from runtime.store.metrics import Before, before_votes
from runtime.store.request_lists import Viewer, find_concerns, find_waiting

WIDE = ListFilter()


@dataclass(frozen=True)
class Look:
    """What somebody looks at: how it is narrowed, how long a page is, and its edge, None at the beginning."""

    limit: int
    narrowed: ListFilter = WIDE
    edge: PageEdge | None = None


@dataclass(frozen=True)
class Entry:
    """A request: where a card of it stands, as (channel, ts), and what the person who looks has said, if they have.

    The card is one that this person can open: their own copy, where they have one.
    """

    view: ApprovalView
    card: tuple[str, str] | None
    own: VoteVerdict | None = None
    leaves_open: bool = False  # what they said was a no that ended nothing


@dataclass(frozen=True)
class Waiting:
    """What waits for a person. `total` counts all that it is narrowed to, one beyond `COUNTED` at most."""

    total: int
    page: Page[Entry]


@dataclass(frozen=True)
class AskedFor:
    """A run that a person asked for: how it stands or ended, and the oldest of the requests that it waits for."""

    run_id: str
    reference: str
    title: str  # of its runbook, with its version
    ending: str
    error: str  # "" for none
    created_at: datetime
    waits_for: Entry | None
    more: int  # requests that it waits for besides
    link: str = ""  # of our own, to pass on; "" where browsers do not reach us


@dataclass(frozen=True)
class Concerns:
    """What speaks against deciding a request unseen, for the person who would decide it."""

    own_question: bool = False  # the person's own question has no answer yet
    asked_by: tuple[str, ...] = ()  # names of others whose questions have no answer yet
    edited_by: tuple[str, ...] = ()  # names, each once
    doubts: int = 0  # other effects of its run of which nobody knows whether they happened
    reviewed_at: datetime | None = None  # when the person answered a review of its run


NO_CONCERNS = Concerns()


@dataclass(frozen=True)
class HomeStanding:
    """How a request stands for somebody: as it is now, None where there is none, and why they can't decide it."""

    approval_id: str
    entry: Entry | None
    refusal: Refusal | None
    concerns: Concerns = NO_CONCERNS


@dataclass(frozen=True)
class Choices:
    """By what a person may narrow what they see."""

    runbooks: Sequence[str]
    groups: Sequence[str]


_MOST_RUNBOOKS, _MOST_GROUPS = 99, 99  # what a menu has room for, beside the choice of all


@dataclass(frozen=True)
class HomeQueries:
    """The App Homes of one tenant's people. Nobody sees there what is none of theirs."""

    engine: Engine
    tenant: str

    async def waiting(self, person_id: str, look: Look) -> Waiting:
        """Return the open requests that the person may decide, the first to expire first."""
        async with self.engine.pool.connection() as conn:
            rows = await find_waiting(conn, self._looker(person_id), look.narrowed, look.edge, look.limit + 1)
            page = cut_page(rows, look.edge, look.limit)
            entries = await self._in_whose_name(conn, person_id, await self._entries(conn, page.entries, person_id))
        return Waiting(rows[0]["total"] if rows else 0, replace_entries(page, entries))

    async def asked_for(self, person_id: str, look: Look) -> Page[AskedFor]:
        """Return the runs that the person asked for, the newest first."""
        async with self.engine.pool.connection() as conn:
            rows = await request_lists.find_asked_for(
                conn, self._looker(person_id), look.narrowed, look.edge, look.limit + 1
            )
            page = cut_page(rows, look.edge, look.limit)
            open_ = [row["approval_id"] for row in page.entries if row["approval_id"]]
            rows_of_open = await request_lists.find_requests(conn, self.tenant, open_) if open_ else []
            found = await self._entries(conn, rows_of_open, person_id) if open_ else []
        entries = {entry.view.approval_id: entry for entry in found}
        asked = [_asked_for(row, entries.get(row["approval_id"]), self._link(row["run_id"])) for row in page.entries]
        return replace_entries(page, asked)

    async def decided(self, person_id: str, look: Look) -> Page[Entry]:
        """Return the requests that the person voted on, the latest vote first."""
        async with self.engine.pool.connection() as conn:
            rows = await request_lists.find_decided(
                conn, self._looker(person_id), look.narrowed, look.edge, look.limit + 1
            )
            page = cut_page(rows, look.edge, look.limit)
            return replace_entries(page, await self._entries(conn, page.entries, person_id))

    async def choices(self, person_id: str) -> Choices:
        """Return by what the person may narrow."""
        async with self.engine.pool.connection() as conn:
            runbooks = await request_lists.find_runbooks(conn, _MOST_RUNBOOKS)
            groups = await request_lists.groups_of_viewer(conn, self._looker(person_id))
        return Choices(runbooks, groups[:_MOST_GROUPS])

    async def requests(self, approval_ids: Sequence[str]) -> list[Entry]:
        """Return requests as they are now, open or not."""
        async with self.engine.pool.connection() as conn:
            return await self._entries(conn, await request_lists.find_requests(conn, self.tenant, list(approval_ids)))

    async def standings_of(self, person_id: str, approval_ids: Sequence[str]) -> list[HomeStanding]:
        """Return, in their order, how requests stand for the person now.

        What the person may decide is read at once; why they may not is asked one by one, which is seldom.
        """
        ids = list(approval_ids)
        async with self.engine.pool.connection() as conn:
            rows = await find_waiting(conn, self._looker(person_id), ListFilter(ids=ids), None, len(ids), counted=0)
            may = {row["approval_id"] for row in rows}
            found = await self._entries(conn, await request_lists.find_requests(conn, self.tenant, ids))
            concerns = {
                row["approval_id"]: _concerns(row, person_id)
                for row in await find_concerns(conn, self.tenant, person_id, ids)
            }
        entries = {entry.view.approval_id: entry for entry in found}
        desk = ApprovalService(self.engine, self.tenant)
        refusals = {one: await desk.may_decide(one, person_id) for one in ids if one in entries and one not in may}
        return [
            HomeStanding(
                one,
                entries.get(one),
                refusals.get(one) if one in entries else UNKNOWN_APPROVAL,
                concerns.get(one, NO_CONCERNS),
            )
            for one in ids
        ]

    async def _in_whose_name(self, conn: Conn, person_id: str, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Have the entries of who stands in for others say for whom they would vote; for most people that is nobody."""
        now = self.engine.clock()
        if not await stand_ins_of(conn, self.tenant, person_id, now):
            return entries
        reader = BallotReader(conn, self.tenant)
        ways = await gather(*(way_by(reader, one.view.approval_id, person_id, now) for one in entries))
        names = [way.delegator.name if isinstance(way, StandIn) else "" for way in ways]
        return [replace(one, view=replace(one.view, votes_for=name)) for one, name in zip(entries, names, strict=True)]

    def _looker(self, person_id: str) -> Viewer:
        return Viewer(self.tenant, person_id, self.engine.clock())

    def _link(self, run_id: str) -> str:
        return run_link(self.engine.routing.public_url, run_id)

    async def _entries(self, conn: Conn, rows: Sequence[dict[str, Any]], person_id: str = "") -> list[Entry]:
        """Return the requests of rows, each with the card to which the person is led, "" for anybody."""
        ids = [row["approval_id"] for row in rows]
        votes = await approvals.votes_of_all(conn, ids)
        voted = [approval_id for approval_id, found in votes.items() if found]
        before = await before_votes(conn, voted) if voted else {}
        cards = await cards_for(conn, self.tenant, person_id, ids)
        return [
            Entry(
                self._view(row, votes[row["approval_id"]], before),
                cards.get(row["approval_id"]),
                VoteVerdict(row["own_verdict"]) if row.get("own_verdict") else None,
                _leaves_open(row, votes[row["approval_id"]], person_id),
            )
            for row in rows
        ]

    def _view(self, row: dict[str, Any], votes: list[Vote], before: Mapping[tuple[str, str], Before]) -> ApprovalView:
        link = request_link(self.engine.routing.public_url, row["approval_id"])
        return replace(view_of(row, votes, before, mocked=self.engine.mocked), link=link)


def _leaves_open(row: Mapping[str, Any], votes: Sequence[Vote], person_id: str) -> bool:
    requirement = Requirement.of(row["requirement"])
    return any(vote.person == person_id and leaves_open(requirement, vote) for vote in votes)


def replace_entries(page: Page[Any], entries: Sequence[Any]) -> Page[Any]:
    """Return the page with what its rows stand for."""
    return replace(page, entries=entries)


def _concerns(row: Mapping[str, Any], person_id: str) -> Concerns:
    return Concerns(
        own_question=any(person == person_id for person, _ in row["questions"]),
        asked_by=tuple(name for person, name in row["questions"] if person != person_id),
        edited_by=tuple(dict.fromkeys(row["edited_by"])),
        doubts=row["doubts"],
        reviewed_at=row["reviewed_at"],
    )


def _asked_for(row: dict[str, Any], waits_for: Entry | None, link: str) -> AskedFor:
    return AskedFor(
        run_id=row["run_id"],
        reference=row["reference"],
        title=f"{row['title']} ({row['definition_name']} v{row['definition_version']})",
        ending=row["outcome"] or row["status"],
        error=row["error"] or "",
        created_at=row["created_at"],
        waits_for=waits_for,
        more=max(row["open"] - 1, 0),
        link=link,
    )
