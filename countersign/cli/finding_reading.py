"""Reads what an export tells of a period: runs and votes of one moment, each held against its chain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pydantic import ValidationError

from countersign.cli.finding_words import vote_row
from countersign.connection import connected
from countersign.doctor.unsealed import why
from countersign.settings import Settings
from evidence.export.index import RunEntry
from evidence.export.lines import RunTold, differing
from evidence.export.period import Period
from evidence.export.sheets import written
from evidence.export.table import by_run, check_rows, order_of
from evidence.verify.contents import BrokenError
from receipts.chain import Leaf
from receipts.fields import timestamp
from runtime.services.bundle_search import FoundRun, Sought, find_runs, find_votes
from runtime.services.exports import one_view, read_chains

_BEFORE = timedelta(minutes=1)
"""A run's row is made a moment before the leaf that says it is queued, which may be on the day before."""


@dataclass(frozen=True)
class PeriodRead:
    """Runs of the days and runs of others that have votes, the votes' lines, and where rows are not as leaves tell."""

    runs: list[RunEntry]
    voted: list[RunEntry]
    votes: list[dict[str, Any]]
    newest: str
    locations: Mapping[str, str]
    findings: list[str]


async def read_period(settings: Settings, period: Period) -> PeriodRead:
    """Read a period in one view of the database."""
    tenant = settings.tenant
    async with connected(settings) as conn, one_view(conn):
        votes = [vote_row(one) for one in await find_votes(conn, tenant, period.since, period.until, None)]
        found = await find_runs(conn, tenant, Sought(since=period.since - _BEFORE, until=period.until))
        others = sorted({vote["run_id"] for vote in votes} - {run.run_id for run in found})
        found += await find_runs(conn, tenant, Sought(run_ids=others))
        told = {run.run_id: RunTold() for run in found}
        findings = []
        async for run_id, leaves in read_chains(conn, list(told)):
            try:
                told[run_id] = _told(leaves)
            except ValidationError as error:
                findings.append(f"chain.broken: {run_id}: {error.errors()[0]['msg']}")
    votes.sort(key=lambda vote: order_of(written(vote)))
    return _held(period, found, told, votes, findings)


def _told(leaves: Sequence[Mapping[str, Any]]) -> RunTold:
    told = RunTold()
    for leaf in leaves:
        told.add(Leaf.model_validate(leaf))
    return told


def _held(
    period: Period,
    found: Sequence[FoundRun],
    told: Mapping[str, RunTold],
    votes: list[dict[str, Any]],
    findings: list[str],
) -> PeriodRead:
    """Make the lines of what was read, with a finding for each row that is not as its leaves tell."""
    since, until = timestamp(period.since), timestamp(period.until)
    entries = sorted((_entry(run, told[run.run_id]) for run in found), key=lambda run: (run.created_at, run.run_id))
    rows = by_run(list(map(written, votes)))
    for run in entries:
        if name := differing(told[run.run_id], run):
            findings.append(f"row.changed: {run.run_id}: its row has another {name} than its leaves tell")
        try:
            check_rows(run.run_id, told[run.run_id].rows(since, until), rows.get(run.run_id, ()), "the chain")
        except BrokenError as error:
            findings.append(f"row.changed: {error.what}")
    return PeriodRead(
        runs=[run for run in entries if since <= run.created_at < until],
        voted=[run for run in entries if not since <= run.created_at < until and run.run_id in rows],
        votes=votes,
        newest=max((one.newest for one in told.values()), default=""),
        locations={run.run_id: run.location for run in found if run.location},
        findings=findings,
    )


def _entry(run: FoundRun, told: RunTold) -> RunEntry:
    """Return a run's line: as its row has it, but for the moments, which are those of the leaves."""
    same = (
        *("run_id", "trigger_type", "definition", "definition_version", "definition_digest"),
        *("requested_by", "sha256", "size", "leaves", "log_index"),
    )
    finished = timestamp(run.finished_at) if run.finished_at else None
    return RunEntry(
        **{name: getattr(run, name) for name in same},
        reference=run.trigger_ref,
        created_at=told.line.get("created_at") or timestamp(run.created_at),
        finished_at=finished and (told.line.get("finished_at") or finished),
        outcome=run.ending,
        state=run.state,
        why=why(run),
    )
