"""The measures of a run: names, units, which way is better; their figures kept, compared and shown. Pure.

What stands between two marks of docs/performance.md is written by the run, and no figure by hand.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
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
ALL_IN_ENDED = more("all_in_ended", "all in: from the first trigger over HTTP to the last run's end", "steps/s")
ALL_IN_SEALED = more("all_in_sealed", "  to the last run's bundle in MinIO", "steps/s")
ALL_IN_EDGE = less("all_in_edge_us_per_run", "  CPU a run: the edge", "us")
ALL_IN_WORKERS = less("all_in_workers_us_per_run", "  CPU a run: workers", "us")
ALL_IN_POSTGRES = less("all_in_postgres_us_per_run", "  CPU a run: PostgreSQL", "us")
ALL_IN_OPA = less("all_in_opa_us_per_run", "  CPU a run: OPA", "us")
ALL_IN_MINIO = less("all_in_minio_us_per_run", "  CPU a run: MinIO", "us")
TRIGGERS = more("triggers_per_s", "triggers accepted, one by one", "triggers/s")
TRIGGERS_BATCH = more("triggers_batch_per_s", "triggers accepted, in batches", "triggers/s")
PARKS = more("parks_per_s", "runs parked", "runs/s")
CLICK_STATEMENTS = less("click_statements", "statements a click, under load", "statements")
CARD = less("card_p50_ms", "trigger to the call that posts its card, p50", "ms")
CLICK_CALL = less("click_call_p50_ms", "click to the next connector's call, p50", "ms")
CLI_HELP = less("cli_help_s", "CPU of `countersign --help`", "s")
CLI_LIST = less("cli_list_s", "CPU of `countersign runs list`", "s")

REPORTED = (
    *(STEPS_OPA, STEPS_INSTANT, SEQUENTIAL, RESUME_P50, RESUME_P99, BULK, SLOWDOWN, PARKED_BYTES, RESTART, CLICKS),
    *(STATEMENTS, COMMITS, CPU),
    *(ALL_IN_ENDED, ALL_IN_SEALED, ALL_IN_EDGE, ALL_IN_WORKERS, ALL_IN_POSTGRES, ALL_IN_OPA, ALL_IN_MINIO),
    *(TRIGGERS, TRIGGERS_BATCH, PARKS, CLICK_STATEMENTS, CARD, CLICK_CALL, CLI_HELP, CLI_LIST),
)
"""What `latest.json` holds, exactly; what else is measured is in the table alone."""


_PEERS = (Party.DBOS, Party.RESTATE, Party.LIMIT)
_HEAD = ("measure", "unit", *Party, *(f"ours/{party}" for party in _PEERS))


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least `share` of all do not exceed; raise ValueError where there is none."""
    if not values:
        raise ValueError("no values, so no percentile")
    return sorted(values)[max(math.ceil(share * len(values)) - 1, 0)]


@dataclass
class Figures:
    """What was measured, in the order in which rows were first named."""

    values: dict[Measure, dict[Party, float]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def name(self, *measures: Measure) -> None:
        """Name rows that shall stand together."""
        for measure in measures:
            self.values.setdefault(measure, {})

    def put(self, measure: Measure, party: Party, value: float) -> None:
        """Keep a figure; of a party that runs twice, the better one."""
        row = self.values.setdefault(measure, {})
        best = max if measure.better is Better.MORE else min
        row[party] = best(value, row[party]) if party in row else value

    def get(self, measure: Measure, party: Party) -> float | None:
        """Return a figure, or None where it was not measured."""
        return self.values.get(measure, {}).get(party)

    def report(self) -> dict[str, dict[str, float | str | None]]:
        """Return what `latest.json` holds: the reported measures and no other, None where not measured."""
        return {measure.name: {**self._row(measure), "unit": measure.unit} for measure in REPORTED}

    def _row(self, measure: Measure) -> dict[str, float | None]:
        return {party.value: _rounded(self.get(measure, party)) for party in Party}

    def table(self) -> str:
        """Return the table in Markdown, columns aligned: reported measures first, then what else was measured."""
        others = [measure for measure in self.values if measure not in REPORTED]
        rows = [_HEAD, *(self._cells(measure) for measure in (*REPORTED, *others))]
        widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
        lines = ["| " + " | ".join(map(_padded, row, widths)) + " |" for row in rows]
        lines.insert(1, "| " + " | ".join("-" * width for width in widths) + " |")
        return "\n".join(lines) + "\n"

    def _cells(self, measure: Measure) -> tuple[str, ...]:
        figures = [self.get(measure, party) for party in Party]
        ratios = [ratio(figures[0], self.get(measure, party)) for party in _PEERS]
        return (measure.title, measure.unit, *(shown(figure) for figure in (*figures, *ratios)))


def ratio(ours: float | None, theirs: float | None) -> float | None:
    """Return ours over theirs, or None where one of them is not there."""
    return ours / theirs if ours is not None and theirs else None


def shown(figure: float | None) -> str:
    """Write a figure with about three digits, or a dash where there is none."""
    if figure is None:
        return "-"
    digits = 0 if abs(figure) >= 100 else 1 if abs(figure) >= 10 else 2 if abs(figure) >= 1 else 3  # noqa: PLR2004
    return f"{figure:,.{digits}f}"


def _rounded(figure: float | None) -> float | None:
    return None if figure is None else float(f"{figure:.4g}") if abs(figure) < 1000 else round(figure)  # noqa: PLR2004


def _padded(text: str, width: int) -> str:
    return text.ljust(width)


BEGIN, END = "<!-- figures: written by `make bench` -->", "<!-- end of figures -->"


class PageError(Exception):
    """The page has no place for figures; the message says what is missing."""


def page_with_figures(page: str, figures: str) -> str:
    """Return the page with `figures` between its marks; raise PageError where they are missing."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise PageError(f"the page has no {BEGIN if not begin else END}")
    return f"{head}{BEGIN}\n\n{figures.strip()}\n\n{END}{tail}"
