"""`countersign cancel`: one run at once; several, or one with what it did, listed first and done with `--yes`."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countersign.cli.acts import By, Reason, Version, act
from countersign.cli.command import out, run, shared_settings
from countersign.cli.tables import AsJson, show_json, show_rows
from countersign.cli.undoing import ask_undo, items_of, settled_items_of, show_items, tell_undone
from evidence.reading.words import counted
from runtime.model.states import RunStatus

if TYPE_CHECKING:
    from countersign.settings import Settings
    from runtime.services.undo_preview import Chosen

_RUN = ("run_id", "status", "definition_name", "reference", "requested_by", "created_at")
_DONE = ("run_id", "status", "reason")


def _moment(text: str) -> datetime:
    """Return a moment that a person wrote: UTC, where no zone is named."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter("give a day or a moment: 2026-02-01 or 2026-02-01T18:00:00+01:00") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def cancel(
    run_id: Annotated[str | None, typer.Argument(metavar="RUN", help="The run to cancel.")] = None,
    *,
    by: By,
    reason: Reason,
    version: Version = None,
    reference: Annotated[str | None, typer.Option(metavar="REFERENCE", help="Every run with this reference.")] = None,
    definition: Annotated[str | None, typer.Option(metavar="NAME", help="Every run of this runbook.")] = None,
    status: Annotated[
        RunStatus | None, typer.Option(metavar="STATUS", help=f"Only runs in this status: {', '.join(RunStatus)}.")
    ] = None,
    started_after: Annotated[
        datetime | None,
        typer.Option(parser=_moment, metavar="MOMENT", help="Only runs that began then or later, in UTC."),
    ] = None,
    started_before: Annotated[
        datetime | None,
        typer.Option(parser=_moment, metavar="MOMENT", help="Only runs that began before then, in UTC."),
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Also undo what the run did.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Cancel them; without this they are only listed.")] = False,
    as_json: AsJson = False,
) -> None:
    """Stop a run: what has not been done will not be. Several, or one with --undo, are listed before."""
    narrowed = {"status": status, "started_after": started_after, "started_before": started_before}
    if run_id is None:
        _cancel_meant(
            by, reason, {"reference": reference, "definition": definition, **narrowed}, yes=yes, as_json=as_json
        )
        return
    if any((reference, definition, *narrowed.values())):
        raise typer.BadParameter("RUN takes no filter")
    if undo:
        _cancel_with_undo(shared_settings("database_url"), run_id, by, reason, version, yes=yes, as_json=as_json)
        return
    act(lambda desk: desk.cancel(by, run_id, reason, version), f"{run_id} is canceled", as_json=as_json)


def _cancel_meant(by: str, reason: str, given: dict[str, Any], *, yes: bool, as_json: bool) -> None:
    from runtime.services.undo_preview import Chosen

    if given["reference"] is None and given["definition"] is None:
        raise typer.BadParameter("name a RUN, or all of a --reference or a --definition")
    _cancel_chosen(shared_settings("database_url"), Chosen(**given), by, reason, yes=yes, as_json=as_json)


def _cancel_with_undo(
    settings: "Settings", run_id: str, by: str, reason: str, version: int | None, *, yes: bool, as_json: bool
) -> None:
    """Cancel a run and have what it did taken back; list that, unless `yes`."""
    if not yes:
        show_items(run(items_of(settings, run_id, None)), besides=True, as_json=as_json)
        return
    facts = run(_cancel_and_undo(settings, run_id, by, reason, version))
    tell_undone(facts, as_json=as_json)


async def _cancel_and_undo(
    settings: "Settings", run_id: str, by: str, reason: str, version: int | None
) -> dict[str, Any]:
    from countersign.cli.operate import perform

    facts = await perform(settings, lambda desk: desk.cancel(by, run_id, reason, version))
    if facts["status"] == "received":
        return facts
    await settled_items_of(settings, run_id)
    return await ask_undo(settings, by, run_id, None, reason, None)


def _cancel_chosen(settings: "Settings", chosen: "Chosen", by: str, reason: str, *, yes: bool, as_json: bool) -> None:
    """Cancel every run that is meant, each by an act of its own; list them, unless `yes`."""
    rows = run(_chosen(settings, chosen))
    if yes:
        show_rows(run(_cancel_all(settings, rows, by, reason)), _DONE, as_json=as_json)
    elif as_json:
        show_json(rows)
    elif rows:
        show_rows(rows, _RUN, as_json=False)
        out.print(f"\n{counted(len(rows), 'run')} would be canceled; nothing was done: add --yes")
    else:
        out.print("no run matches; nothing was done")


async def _chosen(settings: "Settings", chosen: "Chosen") -> list[dict[str, Any]]:
    from countersign.cli.operate import OperateError, looked_up
    from runtime.services.undo_preview import TooManyError, preview_cancel

    try:
        return list(await looked_up(settings, preview_cancel, chosen))
    except TooManyError as error:
        raise OperateError(str(error)) from error


async def _cancel_all(settings: "Settings", rows: list[dict[str, Any]], by: str, reason: str) -> list[dict[str, Any]]:
    from countersign.cli.operate import perform_each

    outcomes = await perform_each(
        settings, [row["run_id"] for row in rows], lambda desk, one: desk.cancel(by, one, reason, None)
    )
    return [{"run_id": one, "reason": "", **facts} for one, facts in outcomes.items()]
