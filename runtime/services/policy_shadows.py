"""Shadows of a policy: a candidate is asked what policy was asked before, and what it would change is put on record.

No run waits for a shadow or looks at one: it reads decisions once they are in the tenant's log.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from policy.backtest.differences import DifferenceClass
from policy.backtest.judging import JudgedDecision
from runtime.clock import Clock
from runtime.engine import new_id
from runtime.store import policy_shadows as store
from runtime.store.database.pool import Conn
from runtime.store.policy_shadows import KEPT, Window

__all__ = ["KEPT", "PolicyShadows", "ShadowEndedError", "ShadowReport", "Window", "find_open", "find_report"]

find_open = store.find_open

PLACES = 5_000
"""Leaves of the log that are looked through at a time: each governed step leaves five or so, one of them a decision."""


class ShadowEndedError(Exception):
    """The window has ended: a shadow of another candidate has begun."""


@dataclass(frozen=True)
class NextDecisions:
    """Decisions that are asked next, and the place in the log behind them; nothing new where that is the window's."""

    rows: Sequence[dict[str, Any]]
    end: int


@dataclass(frozen=True)
class PolicyShadows:
    """Moves a tenant's window on, over one connection that is nobody else's."""

    conn: Conn
    tenant: str
    clock: Clock

    async def open(self, candidate: str) -> Window:
        """Return the window of a candidate: the open one, or a new one in the place of another's."""
        return await store.open_window(self.conn, self.tenant, candidate, new_id("shd"), self.clock())

    async def next(self, window: Window) -> NextDecisions:
        """Return the decisions that come next in the tenant's log."""
        start = window.next_place
        end = min(start + PLACES, await store.log_size(self.conn, self.tenant))
        return NextDecisions(await store.decisions_between(self.conn, self.tenant, start, end), end)

    async def keep(self, window: Window, end: int, judged: Sequence[JudgedDecision]) -> Window:
        """Put on record what came of decisions, and return the window as it is then; raise ShadowEndedError.

        Where another process has asked about them meanwhile, its word stands.
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
    """A window, how many leaves it has still to look at, the first differences of each class, and the other windows."""

    window: Window
    behind: int
    differences: Sequence[dict[str, Any]]
    others: Sequence[Window]


async def find_report(conn: Conn, tenant: str, shadow_id: str | None, limit: int) -> ShadowReport | None:
    """Return the report on a window, or on the newest one, with so many differences of each class; None: no window."""
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
