"""Reads the log as it is published: the entries below its folder, up to the checkpoints that they must give."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from evidence.export.lines import RunTold
from evidence.verify.contents import BrokenError
from receipts import canonical
from receipts.chain import RUN_QUEUED, VOTE_COUNTED, Leaf
from receipts.log.checkpoint import LogKeys, open_checkpoint, parse_checkpoint
from receipts.log.errors import LogError, TileError
from receipts.log.hashes import TreeHead, hash_leaf
from receipts.log.note import NOTE_LIMIT, parse_note
from receipts.log.range import EMPTY
from receipts.log.tile_data import read_bundle
from receipts.log.tiles import TILE_WIDTH, EntryBundle
from receipts.tenant_acts import EvidenceExported


@dataclass
class RunInLog:
    """A run of the index: as the first of its entries tell it, where the first stands, and how many stand early on.

    `early` counts those before the place up to which the export must know the log.
    """

    told: RunTold = field(default_factory=RunTold)
    first: int = 0
    leaves: int = 0
    early: int = 0


@dataclass(frozen=True)
class Unlisted:
    """A leaf that the index of its days has to list the run of: the run, when and where that was, and what."""

    run_id: str
    at: str
    place: int
    what: str


@dataclass
class LogTold:
    """What the entries tell: of the runs of an index, of others that were queued or voted on, and of exports."""

    runs: dict[str, RunInLog] = field(default_factory=dict)
    others: list[Unlisted] = field(default_factory=list)
    exports: list[tuple[Leaf, str]] = field(default_factory=list)  # each with the latest time of a leaf before it
    newest: str = ""  # of the leaves that the export must know
    size: int = 0


def read_log(folder: Path, head: TreeHead, keys: LogKeys | None, known: int, listed: Mapping[str, int]) -> LogTold:
    """Read the log; raise BrokenError where it is not the one of the export's checkpoint and of its own.

    `listed` are the runs of the index, each with how many of its leaves the index tells of; what stands before the
    place `known` was there when the export was made.
    """
    heads = sorted({head, _published(folder, keys)}, key=lambda one: one.size)
    found, newest = LogTold(size=heads[-1].size), ""
    for place, entry in _entries(folder, heads):
        leaf = _read(place, entry)
        newest = max(newest, leaf.at)
        if place < known:
            found.newest = newest
        if leaf.run_id in listed:
            _add(found.runs.setdefault(leaf.run_id, RunInLog(first=place)), leaf, listed[leaf.run_id], place < known)
        elif leaf.event == EvidenceExported.event:
            found.exports.append((leaf, newest))
        elif leaf.event in (RUN_QUEUED, VOTE_COUNTED):
            what = "queued" if leaf.event == RUN_QUEUED else "voted on"
            found.others.append(Unlisted(leaf.run_id, leaf.at, place, what))
    return found


def _add(run: RunInLog, leaf: Leaf, most: int, is_early: bool) -> None:  # noqa: FBT001 - says itself what it means
    run.leaves += 1
    run.early += is_early
    if leaf.seq != run.leaves:
        raise BrokenError("", f"the log has leaf {leaf.seq} of {leaf.run_id} where leaf {run.leaves} belongs")
    if run.leaves <= most:
        run.told.add(leaf)


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


def _read(place: int, entry: bytes) -> Leaf:
    try:
        return Leaf.model_validate({**canonical.loads(entry), "hash": hash_leaf(entry).hex()})
    except canonical.CanonicalError as error:
        raise BrokenError("", f"entry {place} of the log is no leaf: {error}") from error
    except (ValidationError, TypeError) as error:
        what = error.errors()[0]["msg"] if isinstance(error, ValidationError) else "it is no object"
        raise BrokenError("", f"entry {place} of the log is no leaf: {what}") from error


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
