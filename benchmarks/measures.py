"""The measures: what each is called, in which unit, and which way is better. Pure."""

from dataclasses import dataclass
from enum import StrEnum


class Party(StrEnum):
    """Whose figure it is. `LIMIT` is the machine's: what its database can commit at all."""

    OURS = "ours"
    DBOS = "dbos"
    RESTATE = "restate"
    LIMIT = "limit"


class Better(StrEnum):
    """Which way is better."""

    MORE = "more"
    LESS = "less"


@dataclass(frozen=True)
class Measure:
    """A row of the table."""

    name: str
    title: str
    unit: str
    better: Better


def more(name: str, title: str, unit: str) -> Measure:
    """Return a measure of which more is better."""
    return Measure(name, title, unit, Better.MORE)


def less(name: str, title: str, unit: str) -> Measure:
    """Return a measure of which less is better."""
    return Measure(name, title, unit, Better.LESS)


STEPS_OPA = more("governed_steps_opa", "governed steps, real OPA", "steps/s")
STEPS_INSTANT = more("governed_steps_instant", "governed steps, policy that answers at once", "steps/s")
SEQUENTIAL = less("sequential_ten_p50_ms", "ten steps in a row, p50", "ms")
RESUME_P50 = less("resume_p50_ms", "resume, event to claimed, p50", "ms")
RESUME_P99 = less("resume_p99_ms", "resume, event to claimed, p99", "ms")
BULK = more("bulk_resume_per_s", "parked runs resumed in bulk, to their end", "runs/s")
SLOWDOWN = less("parked_slowdown", "a step among the most parked runs over one among the fewest", "x")
PARKED_BYTES = less("parked_bytes", "a parked run without evidence", "bytes")
RESTART = less("restart_s", "restart to first resume, many parked", "s")
CLICKS = more("clicks_per_s", "clicks through /slack/events to the vote", "clicks/s")
STATEMENTS = less("statements_per_step", "statements a step, busy", "statements")
COMMITS = less("commits_per_step", "commits a step, busy", "commits")
CPU = less("cpu_us_per_step", "CPU a step, busy, all processes", "us")

REPORTED = (
    *(STEPS_OPA, STEPS_INSTANT, SEQUENTIAL, RESUME_P50, RESUME_P99, BULK, SLOWDOWN, PARKED_BYTES, RESTART, CLICKS),
    *(STATEMENTS, COMMITS, CPU),
)
"""What `latest.json` holds, exactly; what else is measured is in the table alone."""
