"""The counter of figures, over the engine; and the look that the command line takes, over one connection."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from runtime.engine import Engine
from runtime.model.actor import Person
from runtime.model.approvals.figures import Figures, Mark
from runtime.store.database.pool import Conn
from runtime.store.figures.counts import count_figures, led_by
from runtime.store.figures.marks import put_mark

PERIOD = timedelta(days=30)


@dataclass(frozen=True)
class FigureCounter:
    """The counter of one tenant."""

    engine: Engine
    tenant: str

    async def looked(self, approval_id: str, person: Person) -> None:
        """Note that somebody has opened a request beyond its card."""
        async with self.engine.pool.connection() as conn:
            await put_mark(conn, approval_id, Mark.LOOKED, person.id, self.engine.clock())

    async def leads(self, person: Person) -> bool:
        """Return whether there are figures for the person."""
        async with self.engine.pool.connection() as conn:
            return self._is_operator(person) or bool(await self._led(conn, person))

    async def figures(self, person: Person) -> Figures | None:
        """Return the figures of the last 30 days for whom the person leads; None for who leads nobody."""
        now = self.engine.clock()
        async with self.engine.pool.connection() as conn:
            led = None if self._is_operator(person) else await self._led(conn, person)
            return None if led == [] else await count_figures(conn, self.tenant, now - PERIOD, now, now, led)

    def _is_operator(self, person: Person) -> bool:
        return not set(self.engine.routing.doubt_groups).isdisjoint(person.groups)

    async def _led(self, conn: Conn, person: Person) -> list[str]:
        return await led_by(conn, self.tenant, person.groups, self.engine.clock() - PERIOD)


async def find_figures(conn: Conn, tenant: str, since: datetime, until: datetime, now: datetime) -> Figures:
    """Return the figures of a whole tenant, from one moment until before another."""
    return await count_figures(conn, tenant, since, until, now, None)
