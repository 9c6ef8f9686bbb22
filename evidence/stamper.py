"""Asks an authority for time stamps over checkpoints (RFC 3161, over HTTP). Nobody waits for more than five seconds."""

import logging
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http import HTTPStatus

import aiohttp

from evidence.errors import EvidenceError
from receipts.stamp import STAMP_LIMIT, Authority, StampError, StampRequest, make_request, no_later_than

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
