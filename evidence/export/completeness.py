"""Whether an index leaves a run out: it is held against the log's entries, as published, up to a checkpoint."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from evidence.export.index import INDEX, Index
from evidence.verify.material.contents import BrokenError
from receipts.chain import RUN_QUEUED
from receipts.fields import NonEmpty, Timestamp
from receipts.log.errors import TileError
from receipts.log.hashes import TreeHead, hash_leaf
from receipts.log.range import EMPTY
from receipts.log.tile_data import read_bundle
from receipts.log.tiles import TILE_WIDTH, EntryBundle, tiles_between

AT_THE_EDGE = timedelta(minutes=1)
"""A run is triggered a moment before it says that it is queued, which may be on the day before."""

_SEALED = "evidence.sealed"


class _Said(BaseModel):
    """What an entry says, as far as it is looked at."""

    model_config = ConfigDict(frozen=True, strict=True)

    run_id: NonEmpty
    event: NonEmpty
    at: Timestamp
    data: dict[str, Any]


@dataclass(frozen=True)
class Queued:
    """A run's first leaf: its place in the log, when, and what it says."""

    log_index: int
    at: str
    data: Mapping[str, Any]


def check_complete(index: Index, head: TreeHead, log: Path) -> int:
    """Return how many of the log's runs are of the period, or raise BrokenError.

    1. The entries below the folder of the log give the root of the checkpoint.
    2. Each run that they queue in the period stands in the index, where and as they tell it.
    3. Each run of the index that has a place under the checkpoint is one of them.
    4. The bundle that they tell of is the one that the index names.
    """
    queued, sealed = _told(log, head)  # 1
    days = index.period
    listed = {run.run_id: run for run in index.runs}
    for run_id, one in queued.items():
        at = datetime.fromisoformat(one.at)
        if run_id not in listed and days.since + AT_THE_EDGE <= at < days.until:  # 2
            raise BrokenError(INDEX, f"{run_id}, queued at {one.at}, stands in the log and not in the index")
    for run in index.runs:
        first = queued.get(run.run_id)
        if first is None:
            if run.log_index is not None and run.log_index < head.size:  # 3
                raise BrokenError(INDEX, f"{run.run_id} has place {run.log_index}, and the log queues no such run")
            continue
        told = (first.log_index, first.data.get("trigger_ref"), first.data.get("definition_digest"))
        named = (run.log_index, run.reference if told[1] is not None else None, run.definition_digest)
        if told != named:  # 2; the first release's leaves do not tell the reference
            raise BrokenError(INDEX, f"{run.run_id} is told otherwise by the log")
        if sealed.get(run.run_id, run.sha256) != run.sha256:  # 4
            raise BrokenError(INDEX, f"{run.run_id}: the log tells of another bundle, {sealed[run.run_id]}")
    return len(queued.keys() & listed.keys())


def _told(log: Path, head: TreeHead) -> tuple[dict[str, Queued], dict[str, str]]:
    """Return every run that the log queues, and the digest of each bundle that it tells of."""
    queued: dict[str, Queued] = {}
    sealed: dict[str, str] = {}
    for place, entry in _entries(log, head):
        said = _read(place, entry)
        if said.event == RUN_QUEUED:
            queued[said.run_id] = Queued(place, said.at, said.data)
        elif said.event == _SEALED:
            sealed[said.run_id] = str(said.data.get("sha256"))
    return queued, sealed


def _read(place: int, entry: bytes) -> _Said:
    try:
        return _Said.model_validate_json(entry)
    except ValidationError as error:
        raise BrokenError("", f"entry {place} of the log is no leaf: {error.errors()[0]['msg']}") from error


def _entries(log: Path, head: TreeHead) -> Iterator[tuple[int, bytes]]:
    """Yield the entries under a checkpoint with their places; raise BrokenError where they do not give its root."""
    grown = EMPTY
    for bundle in tiles_between(0, head.size):
        if isinstance(bundle, EntryBundle):
            entries = _bundle(log, bundle)
            yield from enumerate(entries, grown.size)
            grown = grown.append(map(hash_leaf, entries)).range
    if grown.head() != head:
        raise BrokenError("", f"the entries in {log} are not those that the checkpoint was signed over")


def _bundle(log: Path, bundle: EntryBundle) -> list[bytes]:
    """Return the entries of a bundle; of a partial one, which is not kept for ever, from a wider one."""
    whole = EntryBundle(bundle.index, TILE_WIDTH)
    wider = (EntryBundle(bundle.index, width) for width in range(bundle.width, TILE_WIDTH))
    for one in (whole, *wider):
        try:
            return read_bundle(one, (log / one.path).read_bytes())[: bundle.width]
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise BrokenError("", f"{log / one.path} cannot be read: {error.strerror}") from error
        except TileError as error:
            raise BrokenError("", str(error)) from error
    raise BrokenError("", f"{log / bundle.path} is not there")
