"""Has the archive hold what legal holds name, and release what none names any more."""

import asyncio
import logging
from dataclasses import dataclass
from datetime import timedelta

from evidence.archive.archive import Archive
from evidence.errors import EvidenceError
from runtime.failpoints import Point, at
from runtime.services.holds import Due, HoldDesk

LEASE = timedelta(minutes=2)
"""How long telling the archive may take."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Keeper:
    """A worker's job: one bundle at a time, of those in its archive.

    What the archive does not take now, it is told again until it does.
    """

    desk: HoldDesk
    archive: Archive

    async def __call__(self) -> int:
        """Tell the archive of what is due; return how many bundles it holds, or has released, now."""
        due = await self.desk.next_due(LEASE, self.archive.root)
        if due is None:
            return 0
        try:
            await asyncio.to_thread(self._tell, due)
        except Exception as error:
            foreseen = isinstance(error, EvidenceError)
            text = " ".join((str(error) if foreseen else repr(error)).split())
            pause = await self.desk.mark_untold(due, text)
            said = "legal hold of %s not carried out (try %d), again in %.0f s: %s"
            shown = None if foreseen else error
            logger.warning(said, due.run_id, due.tries, pause.total_seconds(), text, exc_info=shown)
            return 0
        await self.desk.mark_told(due)
        return 1

    def _tell(self, due: Due) -> None:
        at(Point.ARCHIVE_PUTTING)
        self.archive.set_hold(due.location, on=due.is_wanted)
        at(Point.ARCHIVE_PUT)
