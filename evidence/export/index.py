"""The index of an export: what it says, strictly, the statement that signs it, its period, and the names of its files.

Periods are whole days in UTC. Tables are CSV (RFC 4180) that a spreadsheet may open: no cell of ours is a formula
there.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StringConstraints

from evidence.errors import EvidenceError
from evidence.statement import Subject
from receipts import canonical
from receipts.fields import Exact, Identifier, NonEmpty, Sha256Hex, Timestamp, timestamp

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class PeriodError(EvidenceError):
    """What was given is no day, or no period; the message says what and why."""


@dataclass(frozen=True)
class Period:
    """From the first day to the last, both included."""

    first: date
    last: date

    @property
    def since(self) -> datetime:
        """Return the first moment."""
        return datetime.combine(self.first, time(), UTC)

    @property
    def until(self) -> datetime:
        """Return the first moment after it."""
        return end_of(self.last)

    @property
    def moments(self) -> tuple[str, str]:
        """Return the first moment and the first after it, as leaves write them."""
        return timestamp(self.since), timestamp(self.until)


def period(first: str, last: str) -> Period:
    """Return the period from one day to another, or raise PeriodError."""
    found = Period(day(first), day(last))
    if found.first > found.last:
        raise PeriodError(f"{first} is after {last}")
    return found


def day(text: str) -> date:
    """Return the day that is written as YYYY-MM-DD, or raise PeriodError."""
    if not _DAY.fullmatch(text):
        raise PeriodError(f"{text!r} is not written as a day: YYYY-MM-DD, such as 2026-03-31")
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise PeriodError(f"there is no day {text}: {error}") from error


def end_of(last: date) -> datetime:
    """Return the first moment after a day; raise PeriodError after the last day that there is."""
    try:
        return datetime.combine(last + timedelta(days=1), time(), UTC)
    except OverflowError as error:
        raise PeriodError(f"there is no day after {last}") from error


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")
"""What a spreadsheet begins a formula, or a call of another program, with."""


_UNSEEN = " \u00a0\ufeff"
"""What may stand before it, and is not seen."""


def csv_of(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return a table with a line of names, in UTF-8; what is None is empty, and moments are RFC 3339 in UTC.

    A text that a spreadsheet would take for a formula has an apostrophe before it, by which it is shown as it is.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row[column]) for column in columns])
    return out.getvalue().encode()


def rows_of(columns: Sequence[str], data: bytes) -> list[dict[str, str]]:
    """Return the rows of a table; raise ValueError unless it has these columns, and is as `csv_of` writes it."""
    try:
        lines = list(csv.reader(io.StringIO(data.decode(), newline=""), strict=True))
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"is no table: {error}") from error
    names, rows = lines[:1], lines[1:]
    if names != [list(columns)] or any(len(row) != len(columns) for row in rows):
        raise ValueError(f"is no table with the columns {', '.join(columns)}")
    found = [dict(zip(columns, row, strict=True)) for row in rows]
    if csv_of(columns, found) != data:
        raise ValueError("is not written as an export writes tables")
    return found


def written(row: Mapping[str, Any]) -> dict[str, str]:
    """Return a row as `rows_of` reads it once it was written."""
    return {name: "" if (cell := _cell(value)) is None else str(cell) for name, value in row.items()}


def _cell(value: Any) -> Any:
    if isinstance(value, datetime):
        return timestamp(value)
    if not isinstance(value, str):
        return value
    return f"'{value}" if value.lstrip(_UNSEEN).startswith(_FORMULA) else value


STATEMENT = "statement.dsse.json"
INDEX = "index.json"
RUNS = "runs.csv"
APPROVALS = "approvals.csv"
EXCEPTIONS = "exceptions.csv"
REFUSED = "refused.csv"
CHECKPOINT = "checkpoint.txt"
BUNDLES = "bundles"

Day = Annotated[str, StringConstraints(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
Count = Annotated[int, Field(ge=0)]


class RunEntry(Exact):
    """A run. `why` says why there is no bundle; "" where there is one, and then its `sha256` and `size` in bytes.

    `leaves` were on its chain, the first of them at `log_index` of the log; null where it had no place yet.
    """

    run_id: Identifier
    reference: NonEmpty
    trigger_type: NonEmpty
    definition: NonEmpty
    definition_version: int
    definition_digest: Sha256Hex
    requested_by: NonEmpty
    created_at: Timestamp
    finished_at: Timestamp | None
    outcome: NonEmpty
    state: NonEmpty
    why: str
    sha256: Sha256Hex | None
    size: Count | None
    leaves: Count
    log_index: Count | None


class LogWord(Exact):
    """What was found when the log was looked through: its size in leaves, what was wrong, and up to when all is in it.

    Every leaf that says an earlier time than `until` stood in the log.
    """

    size: Count
    runs: Count
    until: str
    findings: list[str]


class Counts(Exact):
    """How many runs there are, in which state and with which outcome, how many votes, and records of refused attempts.

    `refused` is None in exports of format 1, which do not tell of them.
    """

    runs: Count
    by_state: dict[str, Count]
    by_outcome: dict[str, Count]
    votes: Count
    refused: Count | None = Field(default=None, exclude_if=lambda told: told is None)


class Index(Exact):
    """The index: whose, of which days, by whom and when, what the log was, and every run, the oldest first.

    `voted` are runs of other days on which people voted in these days.
    """

    tenant: NonEmpty
    first_day: Day
    last_day: Day
    by: NonEmpty
    made_at: Timestamp
    has_bundles: bool
    counts: Counts
    log: LogWord
    runs: list[RunEntry]
    voted: list[RunEntry]

    @property
    def entries(self) -> list[RunEntry]:
        """Return every run that the index tells of."""
        return [*self.runs, *self.voted]

    @property
    def format(self) -> int:
        """Return the number of its format: the second tells of refused attempts, the first, of 0.2.0, does not."""
        return 1 if self.counts.refused is None else 2

    @property
    def period(self) -> Period:
        """Return its days; raise PeriodError."""
        return period(self.first_day, self.last_day)

    def data(self) -> bytes:
        """Return the index as it stands in its file."""
        return canonical.dumps(self.model_dump())


class Predicate(Exact):
    """What a statement about an export says beside the digests of its files."""

    tenant: NonEmpty
    first_day: Day
    last_day: Day
    made_at: Timestamp
    counts: Counts
    key_id: Sha256Hex


class ExportStatement(Exact):
    """The whole statement."""

    model_config = ConfigDict(serialize_by_alias=True)

    statement_type: Literal["https://in-toto.io/Statement/v1"] = Field(alias="_type")
    subject: list[Subject]
    predicate_type: Literal["urn:countersign:period-evidence:v1", "urn:countersign:period-evidence:v2"] = Field(
        alias="predicateType"
    )
    predicate: Predicate

    @property
    def tells_refused(self) -> bool:
        """Return whether its format is one that tells of refused attempts, as the second does, not that of 0.2.0."""
        return self.predicate_type != "urn:countersign:period-evidence:v1"


def counts_of(runs: Sequence[RunEntry], votes: int, refused: int | None) -> Counts:
    """Count the runs of an index."""
    by_state, by_outcome = Counter(run.state for run in runs), Counter(run.outcome for run in runs)
    return Counts(runs=len(runs), by_state=dict(by_state), by_outcome=dict(by_outcome), votes=votes, refused=refused)


def sheet_of(runs: Sequence[RunEntry]) -> bytes:
    """Return the runs of an index as a table."""
    return csv_of(list(RunEntry.model_fields), (run.model_dump() for run in runs))


def bundle_file(run_id: str) -> str:
    """Return the file of a run's bundle in an export."""
    return f"{BUNDLES}/{run_id}.zip"
