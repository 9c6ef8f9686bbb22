"""Whether an index leaves a run out: it is held against the log's entries, as published by now."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from evidence.export.index import INDEX, Index, RunEntry
from evidence.verify.material.contents import BrokenError
from evidence.verify.rules import counted
from receipts.chain import RUN_QUEUED
from receipts.fields import NonEmpty, Timestamp
from receipts.log.checkpoint import LogKeys, open_checkpoint, parse_checkpoint
from receipts.log.errors import LogError, TileError
from receipts.log.hashes import TreeHead, hash_leaf
from receipts.log.note import NOTE_LIMIT, parse_note
from receipts.log.range import EMPTY
from receipts.log.tile_data import read_bundle
from receipts.log.tiles import TILE_WIDTH, EntryBundle

AT_THE_EDGE = timedelta(minutes=1)
"""A run is triggered a moment before it says that it is queued, which may be on the day before."""
CLOCKS = timedelta(hours=1)
"""So much may the clocks differ of who triggers and who exports, with the time that an export takes."""

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


def check_complete(index: Index, head: TreeHead, keys: LogKeys | None, log: Path) -> str:
    """Say how many of the log's runs are in the index, or raise BrokenError.

    1. The entries below the folder of the log give the root of the checkpoint, and of the one that is published there.
    2. Each run that they queue in the period, and before the export was made, stands in the index.
    3. Each run under the checkpoint stands there where and as they tell it, with the bundle that they tell of.
    4. Each run of the index that has a place under the checkpoint is one of them.
    """
    heads = sorted({head, _published(log, keys)}, key=lambda one: one.size)
    queued, sealed = _told(log, heads, head.size)  # 1
    _check_listed(index, queued)  # 2
    under = {run_id: one for run_id, one in queued.items() if one.log_index < head.size}
    for run in index.runs:
        if run.run_id in under:
            _check_told(run, under[run.run_id], sealed)  # 3
        elif run.log_index is not None and run.log_index < head.size:  # 4
            raise BrokenError(INDEX, f"{run.run_id} has place {run.log_index}, and the log queues no such run")
    runs = len(queued.keys() & {run.run_id for run in index.runs})
    return f"{counted(runs, 'run')} of {counted(heads[-1].size, 'leaf', 'leaves')}, and no other of the period"


def _check_listed(index: Index, queued: Mapping[str, Queued]) -> None:
    listed, days, made_at = {run.run_id for run in index.runs}, index.period, datetime.fromisoformat(index.made_at)
    for run_id, one in queued.items():
        at = datetime.fromisoformat(one.at)
        is_of_period = days.since + AT_THE_EDGE <= at < days.until and made_at - at > CLOCKS
        if is_of_period and run_id not in listed:
            raise BrokenError(INDEX, f"{run_id}, queued at {one.at}, stands in the log and not in the index")


def _check_told(run: RunEntry, first: Queued, sealed: Mapping[str, str]) -> None:
    told = (first.log_index, first.data.get("trigger_ref"), first.data.get("definition_digest"))
    named = (run.log_index, run.reference if told[1] is not None else None, run.definition_digest)
    if told != named:  # the first release's leaves do not tell the reference
        raise BrokenError(INDEX, f"{run.run_id} is told otherwise by the log")
    if sealed.get(run.run_id, run.sha256) != run.sha256:
        raise BrokenError(INDEX, f"{run.run_id}: the log tells of another bundle, {sealed[run.run_id]}")


def _published(log: Path, keys: LogKeys | None) -> TreeHead:
    """Return size and root of the log as it is published by now; raise BrokenError."""
    file = log / "checkpoint"
    try:
        with file.open("rb") as stream:
            note = parse_note(stream.read(NOTE_LIMIT + 1))
        return (open_checkpoint(note, keys) if keys else parse_checkpoint(note.text)).head
    except OSError as error:
        raise BrokenError("", f"{file} cannot be read: {error.strerror}") from error
    except LogError as error:
        raise BrokenError("", f"{file}: {error}") from error


def _told(log: Path, heads: Sequence[TreeHead], before: int) -> tuple[dict[str, Queued], dict[str, str]]:
    """Return every run that the log queues, and the digest of each bundle that it tells of `before` a place."""
    queued: dict[str, Queued] = {}
    sealed: dict[str, str] = {}
    for place, entry in _entries(log, heads):
        said = _read(place, entry)
        if said.event == RUN_QUEUED:
            queued[said.run_id] = Queued(place, said.at, said.data)
        elif said.event == _SEALED and place < before:
            sealed[said.run_id] = str(said.data.get("sha256"))
    return queued, sealed


def _read(place: int, entry: bytes) -> _Said:
    try:
        return _Said.model_validate_json(entry)
    except ValidationError as error:
        raise BrokenError("", f"entry {place} of the log is no leaf: {error.errors()[0]['msg']}") from error


def _entries(log: Path, heads: Sequence[TreeHead]) -> Iterator[tuple[int, bytes]]:
    """Yield the entries under checkpoints, the smallest first, with their places; each gives its root, or raises."""
    grown = EMPTY
    for head in heads:
        while grown.size < head.size:
            bundle, first = divmod(grown.size, TILE_WIDTH)
            width = min(TILE_WIDTH, head.size - bundle * TILE_WIDTH)
            entries = _bundle(log, EntryBundle(bundle, width))[first:]
            yield from enumerate(entries, grown.size)
            grown = grown.append(map(hash_leaf, entries)).range
        if grown.head() != head:
            raise BrokenError("", f"the entries in {log} are not those that the checkpoint was signed over")


def _bundle(log: Path, bundle: EntryBundle) -> list[bytes]:
    """Return the entries of a bundle; of a partial one, which is not kept for ever, from a wider one."""
    for width in (TILE_WIDTH, *range(bundle.width, TILE_WIDTH)):
        one = EntryBundle(bundle.index, width)
        try:
            return read_bundle(one, (log / one.path).read_bytes())[: bundle.width]
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise BrokenError("", f"{log / one.path} cannot be read: {error.strerror}") from error
        except TileError as error:
            raise BrokenError("", str(error)) from error
    raise BrokenError("", f"{log / bundle.path} is not there")
