"""`countersign evidence list`: runs by customer, person, runbook, outcome, state of their evidence and days."""

from collections.abc import Sequence
from datetime import UTC, datetime, time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countersign.cli.blocks import run_block
from countersign.cli.command import out, run, shared_settings
from countersign.cli.finding_options import AsCsv, Since, Until, a_day, show
from countersign.cli.tables import AsJson
from evidence.export.period import end_of
from evidence.reading.words import counted
from runtime.model.finding import EvidenceState, Sought
from runtime.model.states import RunStatus

if TYPE_CHECKING:
    from countersign.settings import Settings

_CSV = (
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
    first, last = since and a_day(since, "--from"), until and a_day(until, "--to")
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
    found = run(_rows(shared_settings("database_url"), sought))
    rows = found[:limit]
    if show(rows, _CSV, as_json=as_json, as_csv=as_csv):
        return
    for row in rows:
        out.print(run_block(row))
    if len(found) > limit:
        out.print(f"There are more: --after {rows[-1]['run_id']}")
    else:
        out.print(counted(len(rows), "run"))


async def _rows(settings: "Settings", sought: Sought) -> Sequence[dict[str, Any]]:
    from countersign.cli.operate import OperateError, looked_up
    from countersign.doctor.unsealed import why
    from runtime.services.bundle_search import find_runs

    try:
        found = await looked_up(settings, find_runs, sought)
    except LookupError as error:
        raise OperateError(str(error)) from error
    return [_row(one, why(one)) for one in found]


def _row(found: Any, why: str) -> dict[str, Any]:
    named = {"outcome": found.ending, "why": why}
    return {name: named[name] if name in named else getattr(found, name) for name in _CSV}
