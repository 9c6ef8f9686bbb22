"""Has others cosign the log's checkpoints: witnesses, each of which remembers what it saw of the log before."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus

import aiohttp

from evidence.errors import EvidenceError
from receipts.log.add_checkpoint import BODY_LIMIT, SIZE_TYPE, AddCheckpoint, parse_size, with_cosignatures
from receipts.log.checkpoint import cosignatures
from receipts.log.errors import LogError
from receipts.log.keys import VerifierKey
from receipts.log.note import Note

SECONDS = 5.0
"""How long a witness may take."""

Growth = Callable[[int], Awaitable[Sequence[bytes]]]
"""Gives the proof that the log has grown from a size to that of the checkpoint."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Witnesses:
    """Where witnesses are, by their keys, and how many of them must cosign each checkpoint."""

    at: Mapping[VerifierKey, str]
    needed: int = 0

    async def cosigned(self, note: Note, size: int, old: int, growth: Growth) -> Note:
        """Return the checkpoint of this size with what witnesses say; `old` is the size that they are likely to know.

        Raise EvidenceError where fewer cosign than must.
        """
        timeout = aiohttp.ClientTimeout(total=SECONDS)
        async with aiohttp.ClientSession(timeout=timeout) as http:
            for key, url in self.at.items():
                try:
                    note = await _cosigned_by(http, key, url, note, size, old, growth)
                except (aiohttp.ClientError, TimeoutError, LogError, EvidenceError) as error:
                    log.warning("the witness %s did not cosign: %s", key.name, str(error) or type(error).__name__)
        count = len(cosignatures(note, list(self.at)))
        if count < self.needed:
            raise EvidenceError(f"{count} witnesses cosigned the log, and {self.needed} must")
        return note


async def _cosigned_by(
    http: aiohttp.ClientSession, key: VerifierKey, url: str, note: Note, size: int, old: int, growth: Growth
) -> Note:
    """Ask one; where it knows another size of the log, once more from there."""
    for attempt in range(2):
        request = AddCheckpoint(old, tuple(await growth(old)), note)
        async with http.post(f"{url.rstrip('/')}/add-checkpoint", data=bytes(request)) as response:
            body = await response.content.read(BODY_LIMIT)
            if response.status == HTTPStatus.OK:
                return with_cosignatures(note, body, [key])
            if response.status != HTTPStatus.CONFLICT or response.content_type != SIZE_TYPE or attempt:
                raise EvidenceError(f"it answers {response.status}: {body[:200].decode(errors='replace').strip()}")
            old = parse_size(body)
            if old > size:
                raise EvidenceError(f"it has seen a log of {old} leaves, and this one has {size}")
    raise EvidenceError("it knows another size each time")
