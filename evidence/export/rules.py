"""What an export is held to: each rule has a name, a sentence, and a bend in the tests."""

import csv
import io
from itertools import pairwise

from evidence.export.completeness import check_complete
from evidence.export.contents import FILES, Contents
from evidence.export.index import (
    APPROVALS,
    BUNDLES,
    CHECKPOINT,
    INDEX,
    RUNS,
    STATEMENT,
    RunEntry,
    bundle_file,
    counts_of,
    sheet_of,
)
from evidence.export.period import PeriodError
from evidence.verify.material.contents import BrokenError
from evidence.verify.rules import Rule, counted, rule
from receipts.fields import timestamp
from receipts.log.checkpoint import Checkpoint, cosignatures, open_checkpoint, parse_checkpoint
from receipts.log.errors import LogError
from receipts.log.note import Note, parse_note
from receipts.signatures.register import RegisterError, check_signed_at


@rule(
    "export.files",
    "The files beside the statement and the bundles are those that it signs: none missing, none added, each with its"
    " SHA-256.",
)
def _files(contents: Contents) -> str:
    signed = contents.signed
    there = {name for name in contents.present if name != STATEMENT and not name.startswith(f"{BUNDLES}/")}
    for name in sorted(there | signed.keys() | (FILES - {CHECKPOINT})):
        if name not in there:
            raise BrokenError(name, "is not there")
        if name not in signed or name not in FILES:
            raise BrokenError(name, "is there, and was not signed")
        if contents.digest(name) != signed[name]:
            raise BrokenError(name, f"its SHA-256 is not the one that was signed, {signed[name]}")
    return counted(len(signed), "file")


@rule(
    "export.index",
    "`index.json` is in its form, and speaks of the tenant, the days, the moment and the counts of the statement.",
)
def _index(contents: Contents) -> str:
    index, predicate = contents.index, contents.statement.predicate
    for name in ("tenant", "first_day", "last_day", "made_at", "counts"):
        if getattr(index, name) != getattr(predicate, name):
            raise BrokenError(INDEX, f"its {name} is not that of the statement")
    return f"{index.tenant}, {index.first_day} to {index.last_day}, for {index.by} at {index.made_at}"


@rule(
    "export.key-counted",
    "Where a register of keys is given, the export was made when the key that signed counted.",
)
def _key_counted(contents: Contents) -> str:
    entry = contents.trust.entries.get(contents.key_id)
    if entry is None:
        return "no register"
    try:
        check_signed_at(entry, contents.index.made_at)
    except RegisterError as error:
        raise BrokenError(STATEMENT, str(error)) from error
    return f"from {entry.since}" + (f" until {entry.until}" if entry.until else "")


@rule("export.runs", "Each run stands once, the oldest first, and was triggered on one of the days.")
def _runs(contents: Contents) -> str:
    runs = contents.index.runs
    for one, other in pairwise(runs):
        if (one.created_at, one.run_id) >= (other.created_at, other.run_id):
            raise BrokenError(INDEX, f"{other.run_id} is out of order, or stands twice")
    if len({run.run_id for run in runs}) < len(runs):
        raise BrokenError(INDEX, "a run stands twice")
    try:
        days = contents.index.period
        since, until = timestamp(days.since), timestamp(days.until)
    except PeriodError as error:
        raise BrokenError(INDEX, str(error)) from error
    for run in runs:
        if not since <= run.created_at < until:
            raise BrokenError(INDEX, f"{run.run_id} was triggered at {run.created_at}, on none of the days")
    return counted(len(runs), "run")


@rule(
    "export.sealed",
    "A run that is `sealed` has the SHA-256 and the size of its bundle; each other run has neither, and says why.",
)
def _sealed(contents: Contents) -> str:
    for run in contents.index.runs:
        if not _is_told(run):
            raise BrokenError(INDEX, f"{run.run_id} is {run.state}, and what is said of its bundle does not fit that")
    without = sum(run.sha256 is None for run in contents.index.runs)
    return f"{counted(len(contents.index.runs) - without, 'bundle')}, {counted(without, 'run')} without"


def _is_told(run: RunEntry) -> bool:
    is_sealed = run.state == "sealed"
    return is_sealed == (run.sha256 is not None) == (run.size is not None) == (run.why == "")


@rule("export.counts", "The counts are those of the runs in `index.json`, and of the votes in `approvals.csv`.")
def _counts(contents: Contents) -> str:
    index = contents.index
    try:
        votes = sum(1 for _ in csv.reader(io.StringIO(contents.read(APPROVALS).decode(), newline=""), strict=True)) - 1
    except (csv.Error, UnicodeDecodeError) as error:
        raise BrokenError(APPROVALS, f"is no table: {error}") from error
    if counts_of(index.runs, votes) != index.counts:
        raise BrokenError(INDEX, "its counts are not those of its runs, or of the votes in approvals.csv")
    return f"{counted(index.counts.runs, 'run')}, {counted(votes, 'vote')}"


@rule("export.sheet", "`runs.csv` is, byte for byte, what `index.json` gives.")
def _sheet(contents: Contents) -> str:
    if contents.read(RUNS) != sheet_of(contents.index.runs):
        raise BrokenError(RUNS, "does not say what index.json says")
    return counted(len(contents.index.runs), "line")


@rule(
    "export.bundles",
    "Where the export has bundles, there is one of each run that has one, with the SHA-256 that the index names; there"
    " is no other.",
)
def _bundles(contents: Contents) -> str:
    index = contents.index
    named = {bundle_file(run.run_id): run.sha256 for run in index.runs if run.sha256} if index.has_bundles else {}
    there = {name for name in contents.present if name.startswith(f"{BUNDLES}/")}
    for name in sorted(there | named.keys()):
        if name not in there:
            raise BrokenError(name, "is named by index.json, and is not there")
        if name not in named:
            raise BrokenError(name, "is there, and index.json does not name it")
        if contents.digest(name) != named[name]:
            raise BrokenError(name, f"its SHA-256 is not the one that index.json names, {named[name]}")
    return counted(len(named), "bundle") if index.has_bundles else "not part of the export"


@rule(
    "export.log",
    "When the log was looked through, nothing was wrong. `checkpoint.txt` is a checkpoint of the log, no larger than it"
    " was then. Where the log's key is given, it is there, and signed by it.",
)
def _log(contents: Contents) -> str:
    log = contents.index.log
    if log.findings:
        raise BrokenError(INDEX, f"the log did not hold when this was made: {log.findings[0]}")
    found = _checkpoint(contents)
    if found is None:
        return "nothing of the log was signed"
    if found[1].head.size > log.size:
        raise BrokenError(CHECKPOINT, f"is of {found[1].head.size} leaves, and the log had {log.size}")
    return f"all before {log.until} was in the log; {counted(found[1].head.size, 'leaf', 'leaves')} of it were signed"


@rule("export.witnessed", "As many of the witnesses as are asked for cosigned the checkpoint.")
def _witnessed(contents: Contents) -> str:
    trust, found = contents.trust, _checkpoint(contents)
    if not trust.witnesses or found is None:
        return "no witness"
    try:
        who = {one.key.name for one in cosignatures(found[0], trust.witnesses)}
    except LogError as error:
        raise BrokenError(CHECKPOINT, str(error)) from error
    if len(who) < trust.witnessed:
        raise BrokenError(CHECKPOINT, f"is cosigned by {len(who)} of the witnesses, and must be by {trust.witnessed}")
    return ", ".join(sorted(who)) or "no witness"


@rule(
    "export.complete",
    "Where the log is given as it is published, its entries give the root of `checkpoint.txt`, and of the log's own"
    " `checkpoint`, signed by its key where that is given. Each run that they queue on one of the days (but for the"
    " first minute, as it may have been triggered before, and for the hour before the export was made) stands in"
    " `index.json`; each under `checkpoint.txt` with its place, reference and definition, and with the digest of the"
    " bundle that they tell of. Each run of the index that has a place under that is one of them.",
)
def _complete(contents: Contents) -> str:
    if contents.log is None:
        return "not held against the log"
    found = _checkpoint(contents)
    if found is None:
        raise BrokenError(CHECKPOINT, "is not there, and the log is given")
    return check_complete(contents.index, found[1].head, contents.trust.log, contents.log)


def _checkpoint(contents: Contents) -> tuple[Note, Checkpoint] | None:
    log = contents.trust.log
    if CHECKPOINT not in contents.signed:
        if log is not None:
            raise BrokenError(CHECKPOINT, "is not there, and the log's key is given")
        return None
    try:
        note = parse_note(contents.read(CHECKPOINT))
        return note, open_checkpoint(note, log) if log else parse_checkpoint(note.text)
    except LogError as error:
        raise BrokenError(CHECKPOINT, str(error)) from error


RULES: tuple[Rule[Contents], ...] = (
    *(_files, _index, _key_counted, _runs, _sealed, _counts, _sheet, _bundles, _log, _witnessed, _complete),
)
