"""Policy shadows: a candidate policy is asked recorded questions, and the changed answers are recorded.

A shadow reads decisions from the tenant's audit log. No run reads a shadow or waits for it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from policy.backtest.judging import JudgedDecision
from policy.differences import DifferenceClass
from runtime.clock import Clock
from runtime.engine import new_id
from runtime.store import policy_shadows as store
from runtime.store.database.pool import Conn
from runtime.store.policy_shadows import KEPT, Window

__all__ = ["KEPT", "PolicyShadows", "ShadowEndedError", "ShadowReport", "Window", "find_open", "find_report"]

find_open = store.find_open

PLACES = 5_000
"""Log leaves read at a time; a governed step has about five, one of them a decision."""


class ShadowEndedError(Exception):
    """The window has ended, because a shadow of another candidate began."""


@dataclass(frozen=True)
class NextDecisions:
    """The next decisions, and the log position behind them; equal to the window's if there is nothing new."""

    rows: Sequence[dict[str, Any]]
    end: int


@dataclass(frozen=True)
class PolicyShadows:
    """Advances a tenant's window, over a connection of its own."""

    conn: Conn
    tenant: str
    clock: Clock

    async def open(self, candidate: str) -> Window:
        """Return the candidate's open window; begin one, and end another candidate's, if there is none."""
        return await store.open_window(self.conn, self.tenant, candidate, new_id("shd"), self.clock())

    async def next(self, window: Window) -> NextDecisions:
        """Return the next decisions in the tenant's log."""
        start = window.next_place
        end = min(start + PLACES, await store.log_size(self.conn, self.tenant))
        return NextDecisions(await store.decisions_between(self.conn, self.tenant, start, end), end)

    async def keep(self, window: Window, end: int, judged: Sequence[JudgedDecision]) -> Window:
        """Record judged decisions and return the advanced window; raise ShadowEndedError.

        If another process has recorded them already, its result stays.
        """
        counts = Counter(window.counts)
        differing = []
        for one in judged:
            counts[one.kind] += 1
            if one.kind is not DifferenceClass.UNCHANGED and counts[one.kind] <= KEPT:
                differing.append((one.decision_id, str(one.kind), one.model_dump_json()))
        await store.keep_asked(self.conn, window, end, counts, differing)
        found = await store.find_open(self.conn, self.tenant)
        if found is None or found.shadow_id != window.shadow_id:
            raise ShadowEndedError(f"{window.shadow_id} has ended: a shadow of another candidate has begun")
        return found


@dataclass(frozen=True)
class ShadowReport:
    """A window, the number of log leaves it is behind, the first differences of each class, and the other windows."""

    window: Window
    behind: int
    differences: Sequence[dict[str, Any]]
    others: Sequence[Window]


async def find_report(conn: Conn, tenant: str, shadow_id: str | None, limit: int) -> ShadowReport | None:
    """Return the report on a window or the newest one, with up to `limit` differences a class; None if missing."""
    windows = await store.list_windows(conn, tenant)
    window = next((one for one in windows if shadow_id in (None, one.shadow_id)), None)
    if window is None:
        return None
    behind = 0 if window.ended_at else await store.log_size(conn, tenant) - window.next_place
    found = [
        one
        for kind in DifferenceClass
        if window.counts.get(kind)
        for one in await store.differences_of(conn, window.shadow_id, kind, limit)
    ]
    return ShadowReport(window, behind, found, [one for one in windows if one is not window])
