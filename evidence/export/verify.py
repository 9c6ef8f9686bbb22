"""Verifies an export offline: believes a folder and a public key, and nothing and nobody else.

What an export is held to: each rule has a name, a sentence, and a bend in the tests.
"""

from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path

from evidence.export.approvals_table import by_run, check_of_run, check_rows, order_of
from evidence.export.bundle_rows import check_bundle, exceptions_sheet, read_bundle
from evidence.export.completeness import check_complete, check_entries, check_recorded, check_refusals
from evidence.export.contents import FILES, NEEDED, Contents, UnreadError, UnsignedError, open_export
from evidence.export.index import (
    APPROVALS,
    BUNDLES,
    CHECKPOINT,
    EXCEPTIONS,
    INDEX,
    REFUSED,
    RUNS,
    STATEMENT,
    Index,
    PeriodError,
    RunEntry,
    bundle_file,
    counts_of,
    sheet_of,
)
from evidence.verify.contents import BrokenError
from evidence.verify.judgement import Standing
from evidence.verify.rules import Rule, counted, rule
from evidence.verify.trust import Trust
from evidence.verify.verify import VerificationError
from receipts.checkpoint import cosignatures
from receipts.errors import LogError
from receipts.register import RegisterError, check_signed_at


@rule(
    "export.files",
    "The files beside the statement and the bundles are those that it signs: none missing, none added, each with its"
    " SHA-256.",
)
def _files(contents: Contents) -> str:
    signed = contents.signed
    there = {name for name in contents.present if name != STATEMENT and not name.startswith(f"{BUNDLES}/")}
    for name in sorted(there | signed.keys() | NEEDED):
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


@rule(
    "export.runs",
    "Each run stands once, the oldest first: in `runs` if it was triggered on one of the days, else in `voted`.",
)
def _runs(contents: Contents) -> str:
    index = contents.index
    for one, other in chain(pairwise(index.runs), pairwise(index.voted)):
        if (one.created_at, one.run_id) >= (other.created_at, other.run_id):
            raise BrokenError(INDEX, f"{other.run_id} is out of order, or stands twice")
    if len({run.run_id for run in index.entries}) < len(index.entries):
        raise BrokenError(INDEX, "a run stands twice")
    try:
        since, until = index.period.moments
    except PeriodError as error:
        raise BrokenError(INDEX, str(error)) from error
    for run in index.runs:
        if not since <= run.created_at < until:
            raise BrokenError(INDEX, f"{run.run_id} was triggered at {run.created_at}, on none of the days")
    for run in index.voted:
        if since <= run.created_at < until:
            raise BrokenError(INDEX, f"{run.run_id} was triggered at {run.created_at}, on one of the days")
    return counted(len(index.runs), "run")


@rule(
    "export.votes",
    "`approvals.csv` is a table as exports write it, its lines in the order of `at`, `approval_id` and `person`, each"
    " of one of the days, and of a run of `index.json`, of which it says the same. Each run of `voted` has one.",
)
def _votes(contents: Contents) -> str:
    index, rows = contents.index, contents.rows
    since, until = index.period.moments
    runs = {run.run_id: run for run in index.entries}
    for row in rows:
        if not since <= row["at"] < until:
            raise BrokenError(APPROVALS, f"a vote of {row['person']} is of {row['at']!r}, on none of the days")
        if row["run_id"] not in runs:
            raise BrokenError(APPROVALS, f"{row['run_id']} has a vote, and is not in index.json")
        check_of_run(row, runs[row["run_id"]])
    if any(order_of(one) >= order_of(other) for one, other in pairwise(rows)):
        raise BrokenError(APPROVALS, "its lines are out of order, or one stands twice")
    voters = by_run(rows)
    for run in index.voted:
        if run.run_id not in voters:
            raise BrokenError(INDEX, f"{run.run_id} is in `voted`, and has no vote")
    return counted(len(rows), "vote")


@rule(
    "export.refused",
    "`refused.csv` is a table as exports write it, its lines in the order of `leaf`, each of one of the days, its"
    " `data` in the form of its event. An export of format 1 has none.",
)
def _refused(contents: Contents) -> str:
    rows, index = contents.refused, contents.index
    since, until = index.period.moments
    for row in rows or ():
        if not since <= row["at"] < until:
            raise BrokenError(REFUSED, f"leaf {row['leaf']} is of {row['at']!r}, on none of the days")
    return _NONE_TOLD if rows is None else counted(len(rows), "record")


@rule("export.in-time", "Nothing that the index or its tables tell is of a later time than the export.")
def _in_time(contents: Contents) -> str:
    index = contents.index
    told = [moment for run in index.entries for moment in (run.created_at, run.finished_at) if moment]
    latest = max(
        [*told, *(row["at"] for row in [*contents.rows, *(contents.refused or ())]), index.log.until], default=""
    )
    if latest > index.made_at:
        raise BrokenError(INDEX, f"says that it was made at {index.made_at}, and tells of {latest}")
    return index.made_at


@rule(
    "export.sealed",
    "A run that is `sealed` has the SHA-256 and the size of its bundle; each other run has neither, and says why.",
)
def _sealed(contents: Contents) -> str:
    for run in contents.index.entries:
        is_sealed = run.state == "sealed"
        if not is_sealed == (run.sha256 is not None) == (run.size is not None) == (run.why == ""):
            raise BrokenError(INDEX, f"{run.run_id} is {run.state}, and what is said of its bundle does not fit that")
    runs = contents.index.entries
    without = sum(run.sha256 is None for run in runs)
    return f"{counted(len(runs) - without, 'bundle')}, {counted(without, 'run')} without"


@rule(
    "export.counts",
    "The counts are those of the runs in `index.json`, and of the lines of `approvals.csv` and `refused.csv`.",
)
def _counts(contents: Contents) -> str:
    index, votes, refused = contents.index, len(contents.rows), contents.refused
    if counts_of(index.runs, votes, None if refused is None else len(refused)) != index.counts:
        raise BrokenError(INDEX, "its counts are not those of its runs, or of the lines of its tables")
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
    named = {bundle_file(run.run_id): run.sha256 for run in _bundled(contents)}
    there = {name for name in contents.present if name.startswith(f"{BUNDLES}/")}
    for name in sorted(there | named.keys()):
        if name not in there:
            raise BrokenError(name, "is named by index.json, and is not there")
        if name not in named:
            raise BrokenError(name, "is there, and index.json does not name it")
        if contents.digest(name) != named[name]:
            raise BrokenError(name, f"its SHA-256 is not the one that index.json names, {named[name]}")
    return counted(len(named), "bundle") if index.has_bundles else "not part of the export"


def _bundled(contents: Contents) -> list[RunEntry]:
    """Return the runs of which the export has bundles."""
    return [run for run in contents.index.entries if run.sha256] if contents.index.has_bundles else []


@rule(
    "export.derived",
    "Each bundle holds by itself, under the same keys, and gives its run's line in `index.json` and its votes in"
    " `approvals.csv`, byte for byte. It is of the export's tenant, and nothing in it is of a later time.",
)
def _derived(contents: Contents) -> str:
    index, rows = contents.index, by_run(contents.rows)
    since, until = index.period.moments
    trust = replace(contents.trust, witnesses=(), witnessed=0)  # they cosigned checkpoints of another size
    votes = 0
    for run in _bundled(contents):
        file = bundle_file(run.run_id)
        try:
            bundle = read_bundle(contents.folder / file, trust)
        except VerificationError as error:
            raise BrokenError(file, str(error)) from error
        check_bundle(index, run, bundle)
        votes += check_rows(run.run_id, bundle.rows(since, until), rows.get(run.run_id, ()), "its bundle")
    return f"{counted(len(_bundled(contents)), 'bundle')} with {counted(votes, 'vote')}"


@rule(
    "export.exceptions",
    "An export with bundles has `exceptions.csv`, byte for byte what its bundles give. One without bundles has none.",
)
def _exceptions(contents: Contents) -> str:
    is_there = EXCEPTIONS in contents.signed
    if is_there != contents.index.has_bundles:
        raise BrokenError(EXCEPTIONS, "is there, without bundles" if is_there else "is not there, and bundles are")
    if not is_there:
        return "not part of the export"
    if contents.read(EXCEPTIONS) != exceptions_sheet(contents.index, contents.folder):
        raise BrokenError(EXCEPTIONS, "does not say what the bundles say")
    return "as the bundles give them"


@rule(
    "export.log",
    "When the log was looked through, nothing was wrong. `checkpoint.txt` is a checkpoint of the log, no larger than it"
    " was then. Where the log's key is given, it is there, and signed by it.",
)
def _log(contents: Contents) -> str:
    log = contents.index.log
    if log.findings:
        raise BrokenError(INDEX, f"the log did not hold when this was made: {log.findings[0]}")
    found = contents.checkpoint
    if found is None:
        return "nothing of the log was signed"
    if found[1].head.size > log.size:
        raise BrokenError(CHECKPOINT, f"is of {found[1].head.size} leaves, and the log had {log.size}")
    return f"all before {log.until} was in the log; {counted(found[1].head.size, 'leaf', 'leaves')} of it were signed"


@rule("export.witnessed", "As many of the witnesses as are asked for cosigned the checkpoint.")
def _witnessed(contents: Contents) -> str:
    trust, found = contents.trust, contents.checkpoint
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
    " `checkpoint`, signed by its key where that is given. The export was made no earlier than the newest leaf under"
    " `checkpoint.txt`, or of the `size` that the log had. `index.json` lists each run that is queued, or voted on, on"
    " one of the days by a leaf that is one of these, or that was an hour old when the export was made.",
)
def _complete(contents: Contents) -> str:
    log = contents.logged
    return check_complete(contents.index, contents.known, log) if log else _NO_LOG


@rule(
    "export.entries",
    "Where the log is given, it has as many leaves of each run as `index.json` says, the first at its `log_index`, all"
    " those that the export must know among them, and none of a later time than the export. They give the run's line,"
    " but for why there is no bundle of a run that has ended; and they name the votes of `approvals.csv`, no others,"
    " with what leaves tell of votes.",
)
def _entries(contents: Contents) -> str:
    log = contents.logged
    return check_entries(contents.index, contents.known, by_run(contents.rows), log) if log else _NO_LOG


@rule(
    "export.recorded",
    "Where the log is given, an `evidence.exported` in it has the SHA-256 of `index.json` and of the statement, the"
    " format, the period and the number of runs; it is by whom the index says, its time is that at which the export was"
    " made, or a day later at most, and no more than a day before that of a leaf which stands before it.",
)
def _recorded(contents: Contents) -> str:
    log = contents.logged
    return check_recorded(contents.index, contents.signed[INDEX], contents.sha256, log) if log else _NO_LOG


@rule(
    "export.refusals",
    "Where the log is given, each line of `refused.csv` is as its leaf tells, and each leaf of the tenant's chain about"
    " refused attempts that is of one of the days has its line if the export must know it.",
)
def _refusals(contents: Contents) -> str:
    log, rows = contents.logged, contents.refused
    if rows is None or log is None:
        return _NO_LOG if log is None else _NONE_TOLD
    return check_refusals(contents.index, contents.known, rows, log)


_NO_LOG = "not held against the log"
_NONE_TOLD = "not part of an export of format 1, as release 0.2.0 made them"

RULES: tuple[Rule[Contents], ...] = (
    *(_files, _index, _key_counted, _runs, _sealed, _refused, _counts, _sheet, _votes, _in_time, _bundles),
    *(_log, _witnessed, _derived, _exceptions, _complete, _entries, _refusals, _recorded),
)


READ = "export.read"
SIGNED = "export.signed"

FIRST_RULES = {
    READ: "The folder and the files that are named are there, and can be read.",
    SIGNED: "`statement.dsse.json` is an in-toto Statement about an export, signed by the key, or by one that the"
    " register vouches for, and names it. Nothing else is read before that.",
}


@dataclass(frozen=True)
class Passed:
    """A rule that holds, and what it looked at."""

    rule: str
    found: str


@dataclass(frozen=True)
class ExportReport:
    """Everything holds: the digest of the statement, whose key signed it, what each rule found, and the index."""

    sha256: str
    key_id: str
    rules: tuple[Passed, ...]
    index: Index


@dataclass(frozen=True)
class ExportFault:
    """The first thing that does not hold: by which rule, in which file ("" for the folder), and what."""

    rule: str
    file: str
    what: str
    standing: Standing

    def sentence(self) -> str:
        """Return it in one line."""
        return f"{self.rule}: {self.file}: {self.what}" if self.file else f"{self.rule}: {self.what}"


def verify_export(folder: Path, trust: Trust, log: Path | None = None) -> ExportReport | ExportFault:
    """Verify an export by all rules; return what each found, or the first fault.

    `log` is a folder with the log as it is published: with it, a run that was left out is found.
    """
    rule = SIGNED
    try:
        contents = open_export(folder, trust, log)
        passed = [Passed(SIGNED, f"by the key {contents.key_id}")]
        for one in RULES:
            rule = one.name
            passed.append(Passed(rule, one.check(contents)))
    except UnreadError as error:
        return ExportFault(READ, error.member, error.what, Standing.UNREAD)
    except UnsignedError as error:
        return ExportFault(SIGNED, error.member, error.what, Standing.UNSIGNED)
    except BrokenError as error:
        return ExportFault(rule, error.member, error.what, Standing.BROKEN)
    return ExportReport(contents.sha256, contents.key_id, tuple(passed), contents.index)
