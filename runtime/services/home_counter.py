"""The desk of a person, over the engine: each page is read by its keys, so what is open beside it costs nothing."""

from asyncio import gather
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runtime.engine import Engine
from runtime.inbox.vote_refusals import UNKNOWN_APPROVAL
from runtime.model.delegation import StandIn
from runtime.model.pages import Narrowed, Page, cut
from runtime.model.votes import Vote, VoteVerdict
from runtime.services.answers_looking import way_by
from runtime.services.answers_reading import Reader
from runtime.services.approval_rows import view_of
from runtime.services.approval_view import ApprovalView
from runtime.services.desk import EngineDesk
from runtime.services.home_model import NO_CONCERNS, AskedFor, Choices, Concerns, Entry, Look, Standing, Waiting
from runtime.services.link_addresses import request_link, run_link
from runtime.store import approvals, own
from runtime.store.cards_before import Before, before_votes
from runtime.store.cards_places import cards_for
from runtime.store.database.pool import Conn
from runtime.store.delegations import stand_ins_of
from runtime.store.home_concerns import find_concerns
from runtime.store.waiting import Looker, find_waiting

_MOST_RUNBOOKS, _MOST_GROUPS = 99, 99  # what a menu has room for, beside the choice of all


@dataclass(frozen=True)
class HomeCounter:
    """The counter of one tenant."""

    engine: Engine
    tenant: str

    async def waiting(self, person_id: str, look: Look) -> Waiting:
        """Return the open requests that the person may decide, the first to expire first."""
        async with self.engine.pool.connection() as conn:
            rows = await find_waiting(conn, self._looker(person_id), look.narrowed, look.edge, look.limit + 1)
            page = cut(rows, look.edge, look.limit)
            entries = await self._in_whose_name(conn, person_id, await self._entries(conn, page.entries, person_id))
        return Waiting(rows[0]["total"] if rows else 0, replace_entries(page, entries))

    async def asked_for(self, person_id: str, look: Look) -> Page[AskedFor]:
        """Return the runs that the person asked for, the newest first."""
        async with self.engine.pool.connection() as conn:
            rows = await own.find_asked_for(conn, self._looker(person_id), look.narrowed, look.edge, look.limit + 1)
            page = cut(rows, look.edge, look.limit)
            open_ = [row["approval_id"] for row in page.entries if row["approval_id"]]
            rows_of_open = await own.find_requests(conn, self.tenant, open_) if open_ else []
            found = await self._entries(conn, rows_of_open, person_id) if open_ else []
        entries = {entry.view.approval_id: entry for entry in found}
        asked = [_asked_for(row, entries.get(row["approval_id"]), self._link(row["run_id"])) for row in page.entries]
        return replace_entries(page, asked)

    async def decided(self, person_id: str, look: Look) -> Page[Entry]:
        """Return the requests that the person voted on, the latest vote first."""
        async with self.engine.pool.connection() as conn:
            rows = await own.find_decided(conn, self._looker(person_id), look.narrowed, look.edge, look.limit + 1)
            page = cut(rows, look.edge, look.limit)
            return replace_entries(page, await self._entries(conn, page.entries, person_id))

    async def choices(self, person_id: str) -> Choices:
        """Return by what the person may narrow."""
        async with self.engine.pool.connection() as conn:
            runbooks = await own.find_runbooks(conn, _MOST_RUNBOOKS)
            groups = await own.groups_of_looker(conn, self._looker(person_id))
        return Choices(runbooks, groups[:_MOST_GROUPS])

    async def requests(self, approval_ids: Sequence[str]) -> list[Entry]:
        """Return requests as they are now, open or not."""
        async with self.engine.pool.connection() as conn:
            return await self._entries(conn, await own.find_requests(conn, self.tenant, list(approval_ids)))

    async def may_decide_all(self, person_id: str, approval_ids: Sequence[str]) -> list[Standing]:
        """Return, in their order, how requests stand for the person now.

        What the person may decide is read at once; why they may not is asked one by one, which is seldom.
        """
        ids = list(approval_ids)
        async with self.engine.pool.connection() as conn:
            rows = await find_waiting(conn, self._looker(person_id), Narrowed(ids=ids), None, len(ids), counted=0)
            may = {row["approval_id"] for row in rows}
            found = await self._entries(conn, await own.find_requests(conn, self.tenant, ids))
            concerns = {
                row["approval_id"]: _concerns(row, person_id)
                for row in await find_concerns(conn, self.tenant, person_id, ids)
            }
        entries = {entry.view.approval_id: entry for entry in found}
        desk = EngineDesk(self.engine, self.tenant)
        refusals = {one: await desk.may_decide(one, person_id) for one in ids if one in entries and one not in may}
        return [
            Standing(
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
        reader = Reader(conn, self.tenant)
        ways = await gather(*(way_by(reader, one.view.approval_id, person_id, now) for one in entries))
        names = [way.delegator.name if isinstance(way, StandIn) else "" for way in ways]
        return [replace(one, view=replace(one.view, votes_for=name)) for one, name in zip(entries, names, strict=True)]

    def _looker(self, person_id: str) -> Looker:
        return Looker(self.tenant, person_id, self.engine.clock())

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
            )
            for row in rows
        ]

    def _view(self, row: dict[str, Any], votes: list[Vote], before: Mapping[tuple[str, str], Before]) -> ApprovalView:
        link = request_link(self.engine.routing.public_url, row["approval_id"])
        return replace(view_of(row, votes, before, mocked=self.engine.mocked), link=link)


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
