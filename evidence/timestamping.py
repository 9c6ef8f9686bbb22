"""Time stamps of the audit log's checkpoints: asked for, and published beside the bundles. Nothing else waits for it.

An authority gives them (RFC 3161, over HTTP). Nobody waits for more than five seconds.
"""

import asyncio
import hashlib
import logging
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http import HTTPStatus

import aiohttp

from evidence.archive import Archive, ArchiveError
from evidence.errors import EvidenceError
from receipts.stamp import STAMP_LIMIT, Authority, StampError, StampRequest, make_request, no_later_than
from runtime.services.log import AuditLogService, Signed, Stamped, TimestampService

PATIENCE = timedelta(seconds=5)
"""How long an authority may take."""
PAUSE = timedelta(minutes=1)
"""How long one that gave none is left alone at least."""
_ASKS, _ANSWERS = "application/timestamp-query", "application/timestamp-reply"

log = logging.getLogger(__name__)


@dataclass
class Stamper:
    """Where stamps come from, whose they must be, and how much time lies between two of them.

    An authority that is away is spoken of once, and once more when it is back.
    """

    url: str
    authority: Authority
    every: timedelta
    patience: timedelta = PATIENCE
    _not_before: datetime | None = field(default=None, init=False)
    _is_away: bool = field(default=False, init=False)

    def is_due(self, now: datetime, last: datetime | None) -> bool:
        """Return whether to ask now; `last` is when the newest stamp was asked for, by whomever."""
        is_early = self._not_before is not None and now < self._not_before
        return not is_early and (last is None or abs(now - last) >= self.every)

    async def stamp(self, data: bytes, now: datetime) -> bytes | None:
        """Return a stamp of these bytes, verified, or None where there is none to be had now."""
        self._not_before = now + self.every  # meanwhile nobody else in this process asks
        try:
            stamp = await self._asked(make_request(data))
        except (aiohttp.ClientError, TimeoutError, StampError, EvidenceError) as error:
            self._not_before = now + max(self.every, PAUSE)
            if not self._is_away:
                log.warning("no time stamp from %s: %s", self.url, str(error) or type(error).__name__)
            self._is_away = True
            return None
        if self._is_away:
            log.info("time stamps from %s again", self.url)
        self._is_away = False
        return stamp

    async def _asked(self, request: StampRequest) -> bytes:
        timeout, headers = aiohttp.ClientTimeout(total=self.patience.total_seconds()), {"Content-Type": _ASKS}
        async with (
            aiohttp.ClientSession(timeout=timeout) as http,
            http.post(self.url, data=request.body, headers=headers, allow_redirects=False) as response,
        ):
            if response.status != HTTPStatus.OK or response.content_type != _ANSWERS:
                raise EvidenceError(f"it answers {response.status} with {response.content_type}")
            stamp = await _bounded(response.content)
        no_later_than(stamp, request.data, self.authority, request.nonce)
        return stamp


async def _bounded(stream: aiohttp.StreamReader) -> bytes:
    """Return all that comes, unless it is more than a stamp may have."""
    found = bytearray()
    async for chunk in stream.iter_chunked(STAMP_LIMIT):
        found += chunk
        if len(found) > STAMP_LIMIT:
            raise EvidenceError(f"it answers more than {STAMP_LIMIT} bytes")
    return bytes(found)


@dataclass(frozen=True)
class Stamping:
    """A worker's job. `folder` is where in the archive the log stands; it ends with a slash."""

    desk: TimestampService
    log: AuditLogService
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
