"""Signs the audit log and publishes it beside the bundles: tiles, entries and checkpoints, for anybody's tools to read.

What is signed extends what was signed before, or nothing is. What is published is complete before its checkpoint is.
Witnesses cosign the checkpoints; each of them remembers what it saw of the log before.
"""

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from http import HTTPStatus
from itertools import islice

import aiohttp

from evidence.archive import Archive, ArchiveConflictError, ArchiveError
from evidence.errors import EvidenceError
from evidence.log_proofs import ActPlace, ActsProof, LogProof, Span
from evidence.timestamping import Stamping
from receipts.add_checkpoint import BODY_LIMIT, SIZE_TYPE, AddCheckpoint, parse_size, with_cosignatures
from receipts.checkpoint import cosignatures, sign_checkpoint
from receipts.errors import LogError
from receipts.note import Algorithm, Note, NoteSigner, VerifierKey
from receipts.tiles import EntryBundle, Tile, tiles_between
from runtime.services.log import (
    AuditLogService,
    Batcher,
    Fixed,
    LogChangedError,
    NotInLogError,
    SealedLeaves,
    Signed,
    with_fallback_to_single,
)

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


MOST_PROOFS = 64
"""Proofs that are made together."""
AT_ONCE = 2
"""Tiles and entry bundles that are on their way into the archive at a time."""


@dataclass(frozen=True)
class Notary:
    """A worker's job. `folder` is where in the archive the log stands; it ends with a slash.

    The newest checkpoint is no older than `every` while the log grows.
    """

    desk: AuditLogService
    archive: Archive
    signer: NoteSigner
    folder: str
    every: timedelta = timedelta(minutes=1)
    witnesses: Witnesses = field(default_factory=lambda: Witnesses({}))
    stamping: Stamping | None = None

    async def __call__(self) -> int:
        """Sign and publish what there is; return how many checkpoints were published."""
        if not await self._is_due():
            return 0
        try:
            async with self.desk.lease() as mine:
                if mine:
                    await self._publish(await self._signed())
                return int(mine)
        except (LogError, LogChangedError) as error:  # whatever failed is tried again when the lease has run out
            await self._say_fault(f"the log is not signed: it is not what was signed before: {error}")
        except ArchiveConflictError as error:
            await self._say_fault(f"the log is not published: what is published is of another log: {error}")
        except (ArchiveError, EvidenceError) as error:
            log.warning("the log is not published, and will be: %s", error)
        return 0

    @cached_property
    def proof(self) -> Batcher[str, LogProof]:
        """Return what gives the proof that the leaves of a run's bundle stand in the log, the same every time.

        Those that are wanted at one moment are made together, under one checkpoint where none is fixed yet. It raises
        EvidenceError as long as the leaves do not stand there, and LogError or LogChangedError where it cannot be made.
        """
        return Batcher(with_fallback_to_single(self._proofs), most=MOST_PROOFS, at_once=1)

    async def _proofs(self, run_ids: Sequence[str]) -> Sequence[LogProof | EvidenceError]:
        await self.desk.sequence()
        found = await self.desk.leaves_of(run_ids)
        sealed = {run_id: one for run_id, one in found.items() if isinstance(one, SealedLeaves)}
        sizes = await self._sizes(sealed)
        fixed = await self.desk.fix_logs({run_id: size for run_id, size in sizes.items() if isinstance(size, int)})
        proofs: dict[str, LogProof | EvidenceError] = {}
        for size in {one.size for one in fixed.values()}:
            proofs |= await self._of_size(
                size, {run_id: one for run_id, one in fixed.items() if one.size == size}, sealed
            )
        proofs |= {run_id: EvidenceError(str(one)) for run_id, one in found.items() if isinstance(one, NotInLogError)}
        proofs |= {run_id: size for run_id, size in sizes.items() if isinstance(size, EvidenceError)}
        return [proofs[run_id] for run_id in run_ids]

    async def _sizes(self, sealed: Mapping[str, SealedLeaves]) -> dict[str, int | EvidenceError]:
        """Return the size of the log that proves each bundle: its own, else one that is stamped, else the newest.

        Those that need the newest get an EvidenceError where that cannot be had now, and ask for it once.
        """
        needed = {run_id: one.needed for run_id, one in sealed.items() if one.log_size is None}
        stamped = await self.desk.stamped_sizes(set(needed.values()))
        waiting = [least for least in needed.values() if stamped[least] is None]
        newest: int | EvidenceError = 0
        try:
            newest = await self._covering(max(waiting)) if waiting else 0
        except EvidenceError as error:
            newest = error
        return {run_id: one.log_size or stamped[one.needed] or newest for run_id, one in sealed.items()}

    async def _of_size(
        self, size: int, fixed: Mapping[str, Fixed], sealed: Mapping[str, SealedLeaves]
    ) -> dict[str, LogProof]:
        """Return the proofs of bundles that the log of one size proves."""
        wanted = [[(one.first_index, one.count) for one in sealed[run_id].places] for run_id in fixed]
        acted = [run_id for run_id in fixed if sealed[run_id].acts]
        wanted += [[(index, 1) for _, index in sealed[run_id].acts] for run_id in acted]
        made = await self.desk.prove(wanted, size)
        proven = dict(zip(acted, made[len(fixed) :], strict=True))
        return {
            run_id: _log_proof(fixed[run_id], sealed[run_id], proof, proven.get(run_id))
            for run_id, proof in zip(fixed, made, strict=False)
        }

    async def _covering(self, needed: int) -> int:
        """Return the size of a log that has so many leaves and was signed, or is now; and stamped, if that is due."""
        newest = await self.desk.newest()
        covering = newest if newest is not None and newest.head.size >= needed else await self._signed()
        if self.stamping is not None:
            await self.stamping.stamp(covering)
        return covering.head.size

    async def _is_due(self) -> bool:
        head, newest = await self.desk.head(), await self.desk.newest()
        if head is None or not head.size:
            return False
        if newest is None or not newest.is_published:
            return True
        age = abs(self.desk.now - newest.signed_at)  # by two machines' clocks, which may differ
        return head.size != newest.head.size and age >= self.every

    async def _say_fault(self, fault: str) -> None:
        """Tell the operator what no further try mends; the doctor does, too."""
        log.error(fault)
        await self.desk.note_fault(fault)

    async def _signed(self) -> Signed:
        """Return the newest checkpoint, signed now where the log has grown."""
        head, newest = await self.desk.head(), await self.desk.newest()
        if head is None or (newest is not None and newest.head == head):
            if newest is None:
                raise LogChangedError("there is no log any more")
            return newest
        if newest is not None:
            await self.desk.check_growth(newest.head, head)
        await self.desk.note_key(str(self.signer.verifier(Algorithm.ED25519)))
        note = sign_checkpoint(self.signer, head)
        old = newest.head.size if newest else 0
        cosigned = await self.witnesses.cosigned(note, head.size, old, lambda known: self.desk.growth(known, head.size))
        return await self.desk.keep(head, bytes(cosigned).decode())

    async def _publish(self, signed: Signed) -> None:
        before = await self.desk.newest(published=True)
        places = tiles_between(before.head.size if before else 0, signed.head.size)
        while some := list(islice(places, AT_ONCE)):
            for ended in await asyncio.gather(*map(self._put, some), return_exceptions=True):
                if ended is not None:
                    raise ended
        await asyncio.to_thread(self.archive.replace, f"{self.folder}checkpoint", signed.note.encode())
        await self.desk.mark_published(signed)

    async def _put(self, place: Tile | EntryBundle) -> None:
        data = await self.desk.data(place)
        digest = hashlib.sha256(data).hexdigest()
        await asyncio.to_thread(self.archive.put, f"{self.folder}{place.path}", data, digest)


def _log_proof(fixed: Fixed, sealed: SealedLeaves, proof: Sequence[bytes], acted: Sequence[bytes] | None) -> LogProof:
    spans = [Span(first_seq=one.first_seq, count=one.count, first_index=one.first_index) for one in sealed.places]
    acts = [ActPlace(seq=seq, index=index) for seq, index in sealed.acts]
    return LogProof(fixed.checkpoint, spans, proof, fixed.stamp, ActsProof(acts, acted) if acted is not None else None)
