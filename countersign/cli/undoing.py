"""`countersign undo`, and the list that stands before it: what would be undone, what not, and why."""

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countersign.cli.acts import By, Reason, Version
from countersign.cli.command import out, run, shared_settings
from countersign.cli.tables import AsJson, show_json, show_rows

if TYPE_CHECKING:
    from countersign.settings import Settings

Yes = Annotated[bool, typer.Option("--yes", help="Undo them; without this they are only listed.")]

_COLUMNS = ("step", "what", "target", "standing", "why")
_UNDER_WAY_SECONDS, _PAUSE = 10.0, 0.2
"""How long a canceled run's attempts that are under way are waited for, and between two looks."""


def undo(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The run whose effects to undo.")],
    by: By,
    reason: Reason,
    step: Annotated[str | None, typer.Option(metavar="STEP", help="Only effects of this step.")] = None,
    version: Version = None,
    *,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """List what of a run can be undone, and what not and why; with --yes have it undone, by a run of its own."""
    settings = shared_settings("database_url")
    if not yes:
        show_items(run(items_of(settings, run_id, step)), as_json=as_json)
        return
    tell_undone(run(ask_undo(settings, by, run_id, step, reason, version)), as_json=as_json)


async def ask_undo(
    settings: "Settings", by: str, run_id: str, step: str | None, reason: str, version: int | None
) -> dict[str, Any]:
    """Ask for an undo, and return what became of that; raise OperateError."""
    from countersign.cli.operate import perform

    return await perform(settings, lambda desk: desk.undo(by, run_id, step, reason, version))


async def items_of(settings: "Settings", run_id: str, step: str | None) -> list[dict[str, Any]]:
    """Return what of the run can be undone, and what not and why; raise OperateError where there is no such run."""
    from countersign.cli.operate import OperateError, looked_up
    from runtime.services.undo_preview import preview_undo

    found = await looked_up(settings, preview_undo, run_id, step)
    if found is None:
        raise OperateError(f"there is no run {run_id}")
    return [{name: getattr(item, name) for name in (*_COLUMNS, "receipt_id")} for item in found]


async def settled_items_of(settings: "Settings", run_id: str) -> list[dict[str, Any]]:
    """Return the same of a run that was just canceled, once nothing of it is under way, or that takes too long."""
    until = time.monotonic() + _UNDER_WAY_SECONDS
    while True:
        items = await items_of(settings, run_id, None)
        if all(item["standing"] != "under_way" for item in items) or time.monotonic() >= until:
            return items
        await asyncio.sleep(_PAUSE)


def show_items(items: Sequence[dict[str, Any]], *, besides: bool = False, as_json: bool) -> None:
    """Print what can be undone, and what not and why, in the order in which it is undone.

    `besides` says that more than that is to be done.
    """
    show_rows(items, _COLUMNS, as_json=as_json)
    if not as_json:
        count = sum(item["standing"] == "possible" for item in items)
        out.print(
            f"\n{count} of {len(items)} can be undone; nothing was done{': add --yes' if count or besides else ''}"
        )


def tell_undone(facts: dict[str, Any], *, as_json: bool) -> None:
    """Print what became of asking for an undo."""
    if as_json:
        show_json(facts)
    elif facts["status"] == "received":
        out.print(f"on record as {facts['notification_id']}: a worker will do it")
    else:
        show_rows([*facts["undone"], *facts["left"]], _COLUMNS, as_json=False)
        count = len(facts["undone"])
        out.print(f"\n{count} {'is' if count == 1 else 'are'} undone by {facts['undone_in']}")
