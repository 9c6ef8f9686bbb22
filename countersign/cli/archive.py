"""`evidence get`, `hold`, `release`, `holds` and `repair`: each act is on record by a named person."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from countersign.cli.acts import By, Reason, act
from countersign.cli.command import out, run, shared_settings
from countersign.cli.tables import AsJson, show_rows

if TYPE_CHECKING:
    from runtime.services.holds import Subject

OneRun = Annotated[str | None, typer.Argument(metavar="RUN", help="The run; else name a reference.")]
Reference = Annotated[
    str | None, typer.Option(metavar="REFERENCE", help="All runs with this reference, future ones included.")
]

_HOLD = (
    "hold_id",
    "kind",
    "subject",
    "set_by",
    "set_at",
    "reason",
    "runs",
    "held",
    "to_be_held",
    "lifted_by",
    "lifted_at",
)


def get(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The run whose bundle to fetch.")],
    by: By,
    to: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="The file to write: RUN.zip. Nothing is overwritten."),
    ] = None,
    sigstore: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write its attestation here, as a Sigstore bundle for other tools."),
    ] = None,
) -> None:
    """Fetch the bundle of a run from the archive, and see that it is the one that was stored; it goes on record."""
    from countersign.cli.evidence_get import Wanted, fetch

    file = to or Path(f"{run_id}.zip")
    sha256 = run(fetch(shared_settings("database_url"), Wanted(run_id, by, file, sigstore)))
    out.print(f"sha256: {sha256}\nbundle: {file}" + (f"\nsigstore: {sigstore}" if sigstore else ""))


def hold(by: By, reason: Reason, run_id: OneRun = None, reference: Reference = None) -> None:
    """Keep the evidence of a run, or of all runs of a reference, from being deleted, until that is released."""
    from countersign.cli.legal_holds import set_hold

    hold_id, done = run(set_hold(shared_settings("database_url"), _subject(run_id, reference), by, reason))
    out.print(f"{hold_id} is set; bundles held in the archive now: {done}; others will be when they are stored")


def release(by: By, reason: Reason, run_id: OneRun = None, reference: Reference = None) -> None:
    """Lift the hold on a run, or on a reference; what another hold names stays held."""
    from countersign.cli.legal_holds import lift_hold

    hold_id, done = run(lift_hold(shared_settings("database_url"), _subject(run_id, reference), by, reason))
    out.print(f"{hold_id} is lifted; bundles that the archive was told of: {done}")


def holds(
    *,
    lifted: Annotated[bool, typer.Option("--all", help="Include lifted holds.")] = False,
    as_json: AsJson = False,
) -> None:
    """List legal holds, newest first: on what, by whom, why, and of how many runs the archive holds the bundle."""
    from countersign.cli.legal_holds import list_holds

    rows = run(list_holds(shared_settings("database_url"), lifted=lifted))
    show_rows(rows, _HOLD, as_json=as_json)


def repair(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The run whose bundle is stuck.")],
    by: By,
    reason: Reason,
    *,
    as_json: AsJson = False,
) -> None:
    """Have a stuck bundle tried anew; what took its name in the archive stays there, and it gets another."""
    act(lambda desk: desk.repair(by, run_id, reason), f"the bundle of {run_id} will be retried", as_json=as_json)


def _subject(run_id: str | None, reference: str | None) -> "Subject":
    from runtime.services.holds import Subject

    if run_id is not None and reference is None:
        return Subject("run", run_id)
    if reference is not None and run_id is None:
        return Subject("reference", reference)
    raise typer.BadParameter("name a run or --reference, not both")
