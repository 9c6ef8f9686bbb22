"""`evidence list` and `evidence exceptions`: runs with their evidence, and what an auditor looks at first.

Runs are found by customer, person, runbook, outcome, state of their evidence and days. Exceptions are those of bundles,
an export or a period.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from countersign.cli.command import Row, out, run, run_block, shared_settings, show_json
from countersign.cli.evidence_options import AsCsv, QuickVote, expect_one_format, quick_of, show_csv
from countersign.cli.lists import keyed, show_list
from countersign.cli.options import AsJson, Between, Page, between, page, run_filter, takes
from runtime.model.search import EvidenceState, RunFilter, Sought
from runtime.model.states import RunStatus

_RUN_COLUMNS = (
    *("run_id", "reference", "trigger_type", "definition", "definition_version", "outcome", "state", "requested_by"),
    "requester_name",
    *("created_at", "finished_at", "sha256", "size", "location", "stored_at", "why"),
)

_OUTCOMES = f"The outcome that its runbook gave it, or its status: {', '.join(RunStatus)}."
_STATES = f"State of its evidence: {', '.join(EvidenceState)}; may be repeated."


@takes(narrowed=run_filter, page=page)
def list_evidence(
    customer: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Text in its reference or in a value of its trigger.")
    ] = None,
    person: Annotated[
        str | None, typer.Option(metavar="PERSON", help="Who requested it or voted: a directory id or a name.")
    ] = None,
    outcome: Annotated[str | None, typer.Option(metavar="WORD", help=_OUTCOMES)] = None,
    state: Annotated[list[EvidenceState] | None, typer.Option(metavar="STATE", help=_STATES)] = None,
    *,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    narrowed: RunFilter,
    page: Page,
) -> None:
    """List runs with their evidence, the newest first: its SHA-256, or why there is none.

    With --csv all of them are listed, unless --limit says how many.
    """
    expect_one_format(as_json=as_json, as_csv=as_csv)
    sought = Sought(
        **vars(narrowed),
        customer=customer,
        person=person,
        outcome=outcome,
        states=state or (),
        after=page.after,
        limit=page.asked if as_csv else page.limit + 1,
    )
    rows = _run_rows(sought)
    if as_csv:  # a table that is kept has all rows, unless somebody wants fewer
        show_csv(rows, _RUN_COLUMNS)
    else:
        show_list("runs", rows, page, keyed("run_id"), _print_found, as_json=as_json)


def _print_found(rows: Sequence[Row]) -> None:
    for row in rows:
        out.print(run_block(row))
    if not rows:
        out.print("none")


def _run_rows(sought: Sought) -> Sequence[dict[str, Any]]:
    from countersign.cli.command import find
    from countersign.doctor.unsealed import why
    from runtime.services.bundles import find_runs

    return [_run_row(one, why(one)) for one in find(find_runs, sought)]


def _run_row(found: Any, why: str) -> dict[str, Any]:
    named = {"outcome": found.ending, "why": why}
    return {name: named[name] if name in named else getattr(found, name) for name in _RUN_COLUMNS}


@takes(period=between)
def exceptions(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="[PATH...]", help="Bundles, or exports with bundles.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The public key; without it nothing is verified.")
    ] = None,
    quick_vote: QuickVote = "PT10S",
    *,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    period: Between,
) -> None:
    """List exceptions: break-glass, edits, delegations, self-review, quick votes, refused attempts.

    Give files, or --since and --until for the stored bundles of a period and what was refused outside runs in it. Exits
    as `verify` does where --key is given.
    """
    from countersign.cli.period_evidence import exceptions_of_files, exceptions_of_period
    from evidence.export.bundle_rows import EXCEPTION_COLUMNS

    expect_one_format(as_json=as_json, as_csv=as_csv)
    quick, (since, until) = quick_of(quick_vote), (period.since, period.until)
    if bool(paths) == bool(since or until) or bool(since) != bool(until) or (key and not paths):
        raise typer.BadParameter("give either files, with --key to verify them, or --since and --until")
    if since is None or until is None:
        found = exceptions_of_files(paths or [], key, quick)
    else:
        found = run(exceptions_of_period(shared_settings("database_url"), since, until, quick))
    if as_csv:
        show_csv(found.rows, EXCEPTION_COLUMNS)
    elif as_json:
        show_json({"exceptions": list(found.rows)})
    else:
        _print_exceptions(found.rows, found.note)
    raise typer.Exit(found.standing)


def _print_exceptions(rows: Sequence[dict[str, Any]], note: str) -> None:
    from countersign.cli.command import exception_block
    from evidence.export.bundle_rows import NOT_RECORDED
    from evidence.verify.rules import counted

    for row in rows:
        out.print(exception_block(row))
    out.print(f"{counted(sum(row['kind'] != NOT_RECORDED for row in rows), 'exception')}{note}")
