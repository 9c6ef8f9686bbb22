"""Whether an index lists every run of its period and says what the log's entries say, and whether it is on record."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from evidence.export.entries import LogTold, RunInLog, Unlisted
from evidence.export.index import INDEX, Index, RunEntry
from evidence.export.lines import differing
from evidence.export.table import check_rows
from evidence.verify.contents import BrokenError
from evidence.verify.rules import counted
from receipts.chain import Leaf
from receipts.fields import timestamp

CLOCKS = timedelta(hours=1)
"""So much may the clocks differ of who triggers and who exports, with the time that reading the runs takes."""
TAKES = timedelta(days=1)
"""An export is on record so long after it was made at the latest: copying bundles takes time."""

Rows = Mapping[str, Sequence[Mapping[str, str]]]


def check_complete(index: Index, known: int, log: LogTold) -> str:
    """Say how many runs the index lists; raise BrokenError at the first that it should list."""
    since, until = timestamp(index.period.since), timestamp(index.period.until)
    if index.made_at < log.newest:
        raise BrokenError(INDEX, f"says that it was made at {index.made_at}, before the log's leaf of {log.newest}")
    for one in log.others:
        if since <= one.at < until and _was_there(one, index, known):
            raise BrokenError(INDEX, f"{one.run_id}, {one.what} at {one.at}, stands in the log and not in the index")
    return f"{counted(len(index.entries), 'run')} of {counted(log.size, 'leaf', 'leaves')}, and no other of the period"


def _was_there(one: Unlisted, index: Index, known: int) -> bool:
    """Return whether it was there when the export was made, by its place or by the clock."""
    waited = datetime.fromisoformat(index.made_at) - datetime.fromisoformat(one.at)
    return one.place < known or waited > CLOCKS


def check_entries(index: Index, known: int, rows: Rows, log: LogTold) -> str:
    """Say how many runs and votes are as the log's entries tell them; raise BrokenError at the first that is not."""
    votes = 0
    since, until = timestamp(index.period.since), timestamp(index.period.until)
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
    told = {
        "statement": (statement, asked.get("statement") if isinstance(asked, Mapping) else None),
        "period": (_period(index), (leaf.data.get("from"), leaf.data.get("until"))),
        "number of runs": (len(index.runs), leaf.data.get("rows")),
        "person": (index.by, leaf.actor.id),
    }
    at = datetime.fromisoformat(leaf.at)
    is_late = not timedelta() <= at - datetime.fromisoformat(index.made_at) <= TAKES
    is_early = datetime.fromisoformat(newest) - at > TAKES
    late = ["time"] if is_late or is_early else []
    return next(iter([*(name for name, (here, there) in told.items() if here != there), *late]), "")


def _period(index: Index) -> tuple[str, str]:
    return timestamp(index.period.since), timestamp(index.period.until)
