"""Has the audit log's checkpoints stamped, and publishes the stamps beside the bundles. Nothing else waits for it."""

import asyncio
import hashlib
import logging
from dataclasses import dataclass

from evidence.archive.archive import Archive, ArchiveError
from evidence.stamper import Stamper
from runtime.services.bundle_stamps import StampDesk, Stamped
from runtime.services.log import LogDesk, Signed

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Stamping:
    """A worker's job. `folder` is where in the archive the log stands; it ends with a slash."""

    desk: StampDesk
    log: LogDesk
    archive: Archive
    folder: str
    stamper: Stamper

    async def __call__(self) -> int:
        """Have the newest checkpoint stamped where that is due, and publish what there is; return how many were."""
        newest = await self.log.newest()
        if newest is not None and await self._is_due(newest):
            async with self.log.lease() as mine:
                if mine:
                    await self.stamp(newest)
        return await self._publish()

    async def stamp(self, signed: Signed) -> None:
        """Have a checkpoint stamped, if that is due. It takes as long as the authority may."""
        if not await self._is_due(signed):
            return
        asked_at = self.log.now
        stamp = await self.stamper.stamp(signed.note.encode(), asked_at)
        if stamp is not None:
            await self.desk.keep(signed.head.size, stamp, asked_at)

    async def _is_due(self, signed: Signed) -> bool:
        last = await self.desk.newest()
        if last is not None and last.size >= signed.head.size:
            return False
        return self.stamper.is_due(self.log.now, last.asked_at if last else None)

    async def _publish(self) -> int:
        """What cannot be stored now is tried again."""
        count = 0
        for stamped in await self.desk.unpublished():
            try:
                await asyncio.to_thread(self._put, stamped)
            except ArchiveError as error:
                log.warning("the stamp of %d leaves is not published, and will be: %s", stamped.size, error)
                break
            await self.desk.mark_published(stamped.size)
            count += 1
        return count

    def _put(self, stamped: Stamped) -> None:
        for name, data in (("checkpoint", stamped.note.encode()), ("checkpoint.tsr", stamped.stamp)):
            place = f"{self.folder}stamps/{stamped.size}/{name}"
            self.archive.put(place, data, hashlib.sha256(data).hexdigest())
