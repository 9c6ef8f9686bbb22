"""Completeness: whether an index lists every run of its period.

It says what the log's entries say, and is on record itself. The log is read as it is published: the entries below its
folder, up to the checkpoints that they must give.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from pydantic import ValidationError

from evidence.export.approvals_table import check_rows
from evidence.export.index import INDEX, Index, RunEntry
from evidence.export.refused_table import check_refused
from evidence.export.run_lines import RunTold, differing
from evidence.verify.contents import BrokenError
from evidence.verify.rules import counted
from receipts import canonical
from receipts.acts import REFUSED_ACTS
from receipts.chain import RUN_QUEUED, VOTE_COUNTED, Leaf
from receipts.checkpoint import LogKeys, open_checkpoint, parse_checkpoint
from receipts.errors import LogError, TileError
from receipts.hashes import EMPTY, TreeHead, hash_leaf
from receipts.note import NOTE_LIMIT, parse_note
from receipts.tenant_acts import EvidenceExported, chain_of
from receipts.tiles import TILE_WIDTH, EntryBundle, read_bundle


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
    """What the entries tell: of the runs of an index, of others, of refused attempts, and of exports."""

    runs: dict[str, RunInLog] = field(default_factory=dict)
    others: list[Unlisted] = field(default_factory=list)
    refused: list[tuple[int, Leaf]] = field(default_factory=list)  # each with its place
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
        elif leaf.event in REFUSED_ACTS:
            found.refused.append((place, leaf))
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


CLOCKS = timedelta(hours=1)
"""So much may the clocks differ of who triggers and who exports, with the time that reading the runs takes."""
TAKES = timedelta(days=1)
"""An export is on record so long after it was made at the latest: copying bundles takes time."""

Rows = Mapping[str, Sequence[Mapping[str, str]]]


def check_complete(index: Index, known: int, log: LogTold) -> str:
    """Say how many runs the index lists; raise BrokenError at the first that it should list."""
    since, until = index.period.moments
    if index.made_at < log.newest:
        raise BrokenError(INDEX, f"says that it was made at {index.made_at}, before the log's leaf of {log.newest}")
    for one in log.others:
        if since <= one.at < until and _was_there(one.place, one.at, index, known):
            raise BrokenError(INDEX, f"{one.run_id}, {one.what} at {one.at}, stands in the log and not in the index")
    return f"{counted(len(index.entries), 'run')} of {counted(log.size, 'leaf', 'leaves')}, and no other of the period"


def _was_there(place: int, at: str, index: Index, known: int) -> bool:
    """Return whether a leaf was there when the export was made, by its place or by the clock."""
    return place < known or datetime.fromisoformat(index.made_at) - datetime.fromisoformat(at) > CLOCKS


def check_refusals(index: Index, known: int, rows: Sequence[Mapping[str, str]], log: LogTold) -> str:
    """Say how many records of refused attempts there are; raise BrokenError unless they are those of the log."""
    (since, until), chain = index.period.moments, chain_of(index.tenant)
    ours = [(place, leaf) for place, leaf in log.refused if leaf.run_id == chain]
    there = (leaf for place, leaf in ours if since <= leaf.at < until and _was_there(place, leaf.at, index, known))
    return f"{counted(check_refused(rows, [leaf for _, leaf in ours], there), 'record')}, as the entries tell them"


def check_entries(index: Index, known: int, rows: Rows, log: LogTold) -> str:
    """Say how many runs and votes are as the log's entries tell them; raise BrokenError at the first that is not."""
    votes = 0
    since, until = index.period.moments
    for run in index.entries:
        there = log.runs.get(run.run_id)
        if there is None or not there.told.is_queued:
            raise BrokenError(INDEX, f"{run.run_id} is a run that the log does not have")
        _check_leaves(index, known, run, there)
        if name := differing(there.told, run):
            raise BrokenError(INDEX, f"{run.run_id}: the log tells another {name}")
        votes += check_rows(run.run_id, there.told.rows(since, until), rows.get(run.run_id, ()), "the log")
    return f"{counted(len(index.entries), 'run')} and {counted(votes, 'vote')}, as the entries tell them"


def _check_leaves(index: Index, known: int, run: RunEntry, there: RunInLog) -> None:
    """Raise BrokenError unless the line is about leaves that the log has, and about all that were there before it."""
    if there.leaves < run.leaves:
        what = f"{run.run_id}: the index tells of {run.leaves} leaves, and the log as published has {there.leaves}"
        raise BrokenError(INDEX, what)
    if run.leaves < there.early:
        raise BrokenError(INDEX, f"{run.run_id}: the index tells of {run.leaves} leaves of {there.early}")
    if run.log_index != there.first and (run.log_index is not None or there.first < known):
        raise BrokenError(INDEX, f"{run.run_id}: the log has its first leaf at place {there.first}")
    if index.made_at < there.told.newest:
        raise BrokenError(INDEX, f"{run.run_id} has a leaf of {there.told.newest}, after the export was made")


def check_recorded(index: Index, sha256: str, statement: str, log: LogTold) -> str:
    """Say who put the export on record, and when; raise BrokenError where the log has no act about it."""
    named = [(leaf, newest) for leaf, newest in log.exports if leaf.data.get("sha256") == sha256]
    if not named:
        raise BrokenError(INDEX, f"its SHA-256 stands in no `evidence.exported` of the {log.size} leaves published")
    faults = [_unlike(index, statement, leaf, newest) for leaf, newest in named]
    if all(faults):
        raise BrokenError(INDEX, f"`evidence.exported` in the log is about another {faults[0]}")
    leaf, _ = named[faults.index("")]
    return f"by {leaf.actor.id} at {leaf.at}"


def _unlike(index: Index, statement: str, leaf: Leaf, newest: str) -> str:
    """Return what an act says of another export than of this one; "" where it is about this one.

    `newest` is the latest time of a leaf that stands before it in the log, or its own.
    """
    asked = leaf.data.get("asked")
    asked = asked if isinstance(asked, Mapping) else {}
    told = {
        "statement": (statement, asked.get("statement")),
        "format": (index.format, asked.get("format", 1)),
        "period": (index.period.moments, (leaf.data.get("from"), leaf.data.get("until"))),
        "number of runs": (len(index.runs), leaf.data.get("rows")),
        "person": (index.by, leaf.actor.id),
    }
    at = datetime.fromisoformat(leaf.at)
    is_late = not timedelta() <= at - datetime.fromisoformat(index.made_at) <= TAKES
    is_early = datetime.fromisoformat(newest) - at > TAKES
    late = ["time"] if is_late or is_early else []
    return next(iter([*(name for name, (here, there) in told.items() if here != there), *late]), "")
