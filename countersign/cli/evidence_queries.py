"""`evidence list` and `evidence exceptions`: runs with their evidence, and what an auditor looks at first.

Runs are found by customer, person, runbook, outcome, state of their evidence and days. Exceptions are those of bundles,
an export or a period.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countersign.cli.command import AsJson, out, run, run_block, shared_settings
from countersign.cli.evidence_options import (
    AsCsv,
    QuickVote,
    Since,
    Until,
    day_of,
    period_of,
    quick_of,
    show_for_programs,
)
from evidence.export.index import end_of
from evidence.reading.words import counted
from runtime.model.search import EvidenceState, Sought
from runtime.model.states import RunStatus

if TYPE_CHECKING:
    from countersign.settings import Settings


_RUN_COLUMNS = (
    *("run_id", "reference", "trigger_type", "definition", "definition_version", "outcome", "state", "requested_by"),
    "requester_name",
    *("created_at", "finished_at", "sha256", "size", "location", "stored_at", "why"),
)

_OUTCOMES = f"The outcome that its runbook gave it, or its status: {', '.join(RunStatus)}."
_STATES = f"State of its evidence: {', '.join(EvidenceState)}; may be repeated."


def list_evidence(
    customer: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Text in its reference or in a value of its trigger.")
    ] = None,
    person: Annotated[
        str | None, typer.Option(metavar="PERSON", help="Who requested it or voted: a directory id or a name.")
    ] = None,
    definition: Annotated[str | None, typer.Option(metavar="NAME", help="Name of the runbook.")] = None,
    outcome: Annotated[str | None, typer.Option(metavar="WORD", help=_OUTCOMES)] = None,
    state: Annotated[list[EvidenceState] | None, typer.Option(metavar="STATE", help=_STATES)] = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, metavar="NUMBER", help="Maximum number of rows.")] = 50,
    after: Annotated[str | None, typer.Option(metavar="RUN", help="Continue the list after this run.")] = None,
    *,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """List runs with their evidence, the newest first: its SHA-256, or why there is none."""
    first, last = since and day_of(since, "--from"), until and day_of(until, "--to")
    if first and last and first > last:
        raise typer.BadParameter(f"{since} is after {until}", param_hint="--from")
    sought = Sought(
        customer=customer,
        person=person,
        definition=definition,
        outcome=outcome,
        states=state or (),
        since=datetime.combine(first, time(), UTC) if first else None,
        until=end_of(last) if last else None,
        after=after,
        limit=limit + 1,
    )
    found = run(_run_rows(shared_settings("database_url"), sought))
    rows = found[:limit]
    if show_for_programs(rows, _RUN_COLUMNS, as_json=as_json, as_csv=as_csv):
        return
    for row in rows:
        out.print(run_block(row))
    if len(found) > limit:
        out.print(f"There are more: --after {rows[-1]['run_id']}")
    else:
        out.print(counted(len(rows), "run"))


async def _run_rows(settings: "Settings", sought: Sought) -> Sequence[dict[str, Any]]:
    from countersign.cli.operate import OperateError, looked_up
    from countersign.doctor.unsealed import why
    from runtime.services.bundles import find_runs

    try:
        found = await looked_up(settings, find_runs, sought)
    except LookupError as error:
        raise OperateError(str(error)) from error
    return [_run_row(one, why(one)) for one in found]


def _run_row(found: Any, why: str) -> dict[str, Any]:
    named = {"outcome": found.ending, "why": why}
    return {name: named[name] if name in named else getattr(found, name) for name in _RUN_COLUMNS}


def exceptions(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="[PATH...]", help="Bundles, or exports with bundles.")
    ] = None,
    first: Since = None,
    last: Until = None,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The public key; without it nothing is verified.")
    ] = None,
    quick_vote: QuickVote = "PT10S",
    *,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """List exceptions: break-glass, edits, delegations, self-review, quick votes, refused attempts.

    Give files, or --from and --to for the stored bundles of a period and what was refused outside runs in it. Exits as
    `verify` does where --key is given.
    """
    from countersign.cli.period_evidence import exceptions_of_files, exceptions_of_period
    from evidence.export.bundle_rows import EXCEPTION_COLUMNS

    quick = quick_of(quick_vote)
    if bool(paths) == bool(first or last) or bool(first) != bool(last) or (key and not paths):
        raise typer.BadParameter("give either files, with --key to verify them, or --from and --to")
    if paths:
        found = exceptions_of_files(paths, key, quick)
    else:
        found = run(exceptions_of_period(shared_settings("database_url"), period_of(str(first), str(last)), quick))
    if not show_for_programs(found.rows, EXCEPTION_COLUMNS, as_json=as_json, as_csv=as_csv):
        _print_exceptions(found.rows, found.note)
    raise typer.Exit(found.standing)


def _print_exceptions(rows: Sequence[dict[str, Any]], note: str) -> None:
    from countersign.cli.command import exception_block
    from evidence.export.bundle_rows import NOT_RECORDED
    from evidence.verify.rules import counted

    for row in rows:
        out.print(exception_block(row))
    out.print(f"{counted(sum(row['kind'] != NOT_RECORDED for row in rows), 'exception')}{note}")
