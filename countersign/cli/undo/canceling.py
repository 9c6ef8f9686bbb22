"""Cancels several runs, or one with what it did: listed first, and done with `--yes`."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from countersign.cli.command import out, run
from countersign.cli.tables import show_json, show_rows
from countersign.cli.undo.undoing import ask_undo, items_of, settled_items_of, show_items, tell_undone

if TYPE_CHECKING:
    from countersign.config.settings import Settings
    from runtime.desk.undo.preview import Chosen

_RUN = ("run_id", "status", "definition_name", "reference", "requested_by", "created_at")
_DONE = ("run_id", "status", "reason")


def moment(given: datetime | None) -> datetime | None:
    """Return a moment that a person wrote: UTC, where no zone is named."""
    return given.replace(tzinfo=UTC) if given is not None and given.tzinfo is None else given


def cancel_and_undo(
    settings: "Settings", run_id: str, by: str, reason: str, version: int | None, *, yes: bool, as_json: bool
) -> None:
    """Cancel a run and have what it did taken back; list that, unless `yes`."""
    if not yes:
        show_items(run(items_of(settings, run_id, None)), as_json=as_json)
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


def cancel_chosen(settings: "Settings", chosen: "Chosen", by: str, reason: str, *, yes: bool, as_json: bool) -> None:
    """Cancel every run that is meant, each by an act of its own; list them, unless `yes`."""
    rows = run(_chosen(settings, chosen))
    if yes:
        show_rows(run(_cancel_all(settings, rows, by, reason)), _DONE, as_json=as_json)
    elif as_json:
        show_json(rows)
    else:
        show_rows(rows, _RUN, as_json=False)
        out.print(f"\n{len(rows)} would be canceled; nothing was done: say --yes")


async def _chosen(settings: "Settings", chosen: "Chosen") -> list[dict[str, Any]]:
    from countersign.cli.operate import OperateError, looked_up
    from runtime.desk.undo.preview import TooManyError, preview_cancel

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
