"""What an export says, strictly: its index, the statement that signs it, and the names of its files."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints

from evidence.export.period import Period, period
from evidence.export.sheets import csv_of
from evidence.statement import Subject
from receipts import canonical
from receipts.fields import Closed, Identifier, NonEmpty, Sha256Hex, Timestamp

STATEMENT = "statement.dsse.json"
INDEX = "index.json"
RUNS = "runs.csv"
APPROVALS = "approvals.csv"
EXCEPTIONS = "exceptions.csv"
CHECKPOINT = "checkpoint.txt"
BUNDLES = "bundles"

Day = Annotated[str, StringConstraints(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
Count = Annotated[int, Field(ge=0)]


class RunEntry(Closed):
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


class LogWord(Closed):
    """What was found when the log was looked through: its size in leaves, what was wrong, and up to when all is in it.

    Every leaf that says an earlier time than `until` stood in the log.
    """

    size: Count
    runs: Count
    until: str
    findings: list[str]


class Counts(Closed):
    """How many runs there are, in which state and with which outcome, and how many votes."""

    runs: Count
    by_state: dict[str, Count]
    by_outcome: dict[str, Count]
    votes: Count


class Index(Closed):
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
    def period(self) -> Period:
        """Return its days; raise PeriodError."""
        return period(self.first_day, self.last_day)

    def data(self) -> bytes:
        """Return the index as it stands in its file."""
        return canonical.dumps(self.model_dump())


class Predicate(Closed):
    """What a statement about an export says beside the digests of its files."""

    tenant: NonEmpty
    first_day: Day
    last_day: Day
    made_at: Timestamp
    counts: Counts
    key_id: Sha256Hex


class ExportStatement(Closed):
    """The whole statement."""

    model_config = ConfigDict(serialize_by_alias=True)

    statement_type: Literal["https://in-toto.io/Statement/v1"] = Field(alias="_type")
    subject: list[Subject]
    predicate_type: Literal["urn:countersign:evidence-export:v1"] = Field(alias="predicateType")
    predicate: Predicate


def counts_of(runs: Sequence[RunEntry], votes: int) -> Counts:
    """Count the runs of an index."""
    by_state, by_outcome = Counter(run.state for run in runs), Counter(run.outcome for run in runs)
    return Counts(runs=len(runs), by_state=dict(by_state), by_outcome=dict(by_outcome), votes=votes)


def sheet_of(runs: Sequence[RunEntry]) -> bytes:
    """Return the runs of an index as a table."""
    return csv_of(list(RunEntry.model_fields), (run.model_dump() for run in runs))


def bundle_file(run_id: str) -> str:
    """Return the file of a run's bundle in an export."""
    return f"{BUNDLES}/{run_id}.zip"
