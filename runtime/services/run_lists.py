"""Saved lists of runs, for auditors: a sample is kept with its ids, repeats, and says what differs today.

To save and to delete one is an act of a person in the tenant's chain, which has the digest of the ids.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from receipts.list_acts import RunListDeleted, RunListSaved, digest_of_ids
from runtime.engine import Engine, new_id
from runtime.model.search import FoundRun, Sought
from runtime.services.people import person_of
from runtime.store import run_lists
from runtime.store.bundle_search import find_run_ids, find_runs
from runtime.store.database.pool import Conn
from runtime.store.run_lists import NameTakenError, NewRunList
from runtime.store.tenants import put_act

MOST_RUNS = 10_000
"""Runs of one list."""
MOST_LISTS = 200
"""Lists of one tenant."""
SHOWN = 50
"""Runs that a page shows: of the list, and of each kind of difference."""

_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,80}")


class RunListError(Exception):
    """The list cannot be saved or deleted; the message says why."""


@dataclass(frozen=True)
class RunList:
    """A saved list: what was set and found when it was saved; `sha256` is the digest of the ids as they are stored."""

    list_id: str
    name: str
    filters: Mapping[str, str]
    runs: int
    saved_by: str
    saver_name: str
    saved_at: datetime
    run_ids: Sequence[str] = ()

    @property
    def sha256(self) -> str:
        """Return the digest of the ids."""
        return digest_of_ids(self.run_ids)


@dataclass(frozen=True)
class RunListToday:
    """A list beside what its filters find today: how many `came` and are `gone` since, and the first of them.

    `is_more` says that more runs fit today than a list may have: of these the newest are looked through for those that
    came. `page` are the runs of the list itself from its place `first` on, as they are today.
    """

    saved: RunList
    found: int
    is_more: bool
    came: int
    came_first: Sequence[FoundRun]
    gone: int
    gone_first: Sequence[FoundRun]
    first: int
    page: Sequence[FoundRun]


@dataclass(frozen=True)
class RunLists:
    """The saved lists of one tenant; `by` is always a person of the directory."""

    engine: Engine
    tenant: str

    async def save(self, by: str, name: str, filters: Mapping[str, str], sought: Sought) -> str:
        """Save the runs that are found now under a name; return the list's id. Raise RunListError."""
        if not _NAME.fullmatch(name.strip()):
            raise RunListError("a name has 1 to 80 characters, none of which is a control character")
        async with self.engine.pool.connection() as conn, conn.transaction():
            ids = await self._found(conn, sought)
            if len(ids) > MOST_RUNS:
                raise RunListError(f"more than {MOST_RUNS:,} runs fit, and a list has no more: set more filters")
            new = NewRunList(new_id("lst"), name.strip(), filters, ids, by, self.engine.clock())
            await self._write(conn, new)
        return new.list_id

    async def _write(self, conn: Conn, new: NewRunList) -> None:
        try:
            await run_lists.add_list(conn, self.tenant, new)
        except NameTakenError as error:
            raise RunListError(f"there is a list of the name {new.name} already") from error
        act = RunListSaved(
            list_id=new.list_id,
            name=new.name,
            filters=dict(new.filters),
            runs=len(new.run_ids),
            sha256=digest_of_ids(new.run_ids),
        )
        await put_act(conn, self.tenant, act, await person_of(conn, self.tenant, new.saved_by), new.saved_at)
        if await run_lists.count_lists(conn, self.tenant) > MOST_LISTS:  # the chain's end is locked: one at a time
            raise RunListError(f"there are {MOST_LISTS} lists, and there may be no more: delete one first")

    async def delete(self, by: str, list_id: str) -> str:
        """Delete a list; return its name. Raise RunListError where there is no such list."""
        now = self.engine.clock()
        async with self.engine.pool.connection() as conn, conn.transaction():
            name = await run_lists.delete_list(conn, self.tenant, list_id, by, now)
            if name is None:
                raise RunListError("there is no such list any more")
            act = RunListDeleted(list_id=list_id, name=name)
            await put_act(conn, self.tenant, act, await person_of(conn, self.tenant, by), now)
        return name

    async def all(self) -> list[RunList]:
        """Return the lists without their ids, the newest first."""
        async with self.engine.pool.connection() as conn:
            return [RunList(**row) for row in await run_lists.list_lists(conn, self.tenant, MOST_LISTS)]

    async def find(self, list_id: str) -> RunList | None:
        """Return a list with its ids, or None."""
        async with self.engine.pool.connection() as conn:
            row = await run_lists.find_list(conn, self.tenant, list_id)
        return RunList(**row) if row else None

    async def today(self, saved: RunList, sought: Sought, first: int) -> RunListToday:
        """Return a list beside what its filters find today, and its runs from a place on."""
        async with self.engine.pool.connection() as conn:
            now, then = await self._found(conn, sought), set(saved.run_ids)
            still = set(await self._found(conn, replace(sought, run_ids=list(saved.run_ids))))
            came = [one for one in now[:MOST_RUNS] if one not in then]
            gone = [one for one in saved.run_ids if one not in still]
            page = saved.run_ids[first : first + SHOWN]
            shown = {run.run_id: run for run in await self._runs(conn, [*page, *came[:SHOWN], *gone[:SHOWN]])}
        return RunListToday(
            saved=saved,
            found=min(len(now), MOST_RUNS),
            is_more=len(now) > MOST_RUNS,
            came=len(came),
            came_first=[shown[one] for one in came[:SHOWN] if one in shown],
            gone=len(gone),
            gone_first=[shown[one] for one in gone[:SHOWN] if one in shown],
            first=first,
            page=[shown[one] for one in page if one in shown],
        )

    async def _found(self, conn: Conn, sought: Sought) -> list[str]:
        return await find_run_ids(conn, self.tenant, replace(sought, after=None, limit=MOST_RUNS + 1))

    async def _runs(self, conn: Conn, run_ids: Sequence[str]) -> list[FoundRun]:
        return await find_runs(conn, self.tenant, Sought(run_ids=list(dict.fromkeys(run_ids))))
