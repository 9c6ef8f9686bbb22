"""Metrics of approvals: as the App Home shows them, and as the command line reads them over one connection."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from runtime.model.metrics import Metrics, WeeklyMetrics
from runtime.model.person import Person
from runtime.store.database.pool import Conn
from runtime.store.metrics import count_metrics, groups_escalating_to
from runtime.store.weekly_metrics import count_weeks

if TYPE_CHECKING:
    from runtime.engine import Engine

PERIOD = timedelta(days=30)
_KNOWN_FOR = timedelta(minutes=1)
"""How long it is remembered who leads whom: each Home asks, and to look at all requests of the period takes time."""


@dataclass
class _Lines:
    """Who leads whom, as it was read last."""

    read_at: datetime | None = None
    asked: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class MetricsQueries:
    """Metrics for those who lead: members of groups that are next in line, and operators. Others get none."""

    engine: "Engine"
    tenant: str
    _lines: _Lines = field(default_factory=_Lines)

    async def leads(self, person: Person) -> bool:
        """Return whether there are metrics for the person."""
        async with self.engine.pool.connection() as conn:
            return self._is_operator(person) or bool(await self._led(conn, person))

    async def metrics(self, person: Person) -> Metrics | None:
        """Return the metrics of the last 30 days for whom the person leads; None for who leads nobody."""
        now = self.engine.clock()
        async with self.engine.pool.connection() as conn:
            led = None if self._is_operator(person) else await self._led(conn, person)
            return None if led == [] else await count_metrics(conn, self.tenant, now - PERIOD, now, now, led)

    def _is_operator(self, person: Person) -> bool:
        return not set(self.engine.routing.doubt_groups).isdisjoint(person.groups)

    async def _led(self, conn: Conn, person: Person) -> list[str]:
        now = self.engine.clock()
        if self._lines.read_at is None or now - self._lines.read_at >= _KNOWN_FOR:
            self._lines.asked = await groups_escalating_to(conn, self.tenant, now - PERIOD)
            self._lines.read_at = now
        return sorted({asked for group in person.groups for asked in self._lines.asked.get(group, ())})


async def find_metrics(conn: Conn, tenant: str, since: datetime, until: datetime, now: datetime) -> Metrics:
    """Return the metrics of a whole tenant, from one moment until before another."""
    return await count_metrics(conn, tenant, since, until, now, None)


async def find_weeks(conn: Conn, tenant: str, since: datetime, until: datetime) -> WeeklyMetrics:
    """Return the metrics of a whole tenant by week, from one moment until before another."""
    return await count_weeks(conn, tenant, since, until)
