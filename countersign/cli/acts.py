"""Acts on runs: `runs cancel`, `undo`, `retry` and `signal`, each on record by a named person.

`cancel` stops one run at once. Several runs, or one run with what it did, are listed first and canceled with `--yes`.
`undo` lists what would be undone, what not, and why; `--yes` undoes it. `signal` sends data to a step that waits for
that name. Other commands share `act`.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countersign.cli.command import out, run, shared_settings, show_json, show_rows
from countersign.cli.options import AsJson, By, Reason, Version, run_filter, takes
from countersign.foreseen_errors import OperateError
from evidence.reading.words import counted
from runtime.model.search import RunFilter
from runtime.model.states import RunStatus

if TYPE_CHECKING:
    from countersign.settings import Settings
    from runtime.services.compensation import Chosen
    from runtime.services.operator import OperatorService


def retry(
    subject: Annotated[str, typer.Argument(metavar="RUN|EFFECT", help="What to retry now.")],
    by: By,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why; it goes on record.")] = "",
    version: Version = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Retry now what a run has put off, or one of its effects, instead of after the pause."""
    act(lambda desk: desk.retry(by, subject, reason, version), f"{subject} will be retried now", as_json=as_json)


def act(record: "Callable[[OperatorService], Awaitable[str]]", done: str, *, as_json: bool) -> None:
    """Record an act, wait a while for a worker to apply it, and say what became of it; raise OperateError."""
    from countersign.cli.operate import perform

    facts = run(perform(shared_settings("database_url"), record))
    if as_json:
        show_json(facts)
    elif facts["status"] == "received":
        out.print(f"on record as {facts['notification_id']}: a worker will do it")
    else:
        out.print(done)


Yes = Annotated[bool, typer.Option("--yes", help="Undo them; without this they are only listed.")]

_UNDO_COLUMNS = ("step", "what", "target", "standing", "why")
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
    """List what can be undone of a run, and what cannot and why; with --yes a separate run undoes it."""
    settings = shared_settings("database_url")
    if not yes:
        show_items(run(items_of(settings, run_id, step)), as_json=as_json)
        return
    show_undone(run(ask_undo(settings, by, run_id, step, reason, version)), as_json=as_json)


async def ask_undo(
    settings: "Settings", by: str, run_id: str, step: str | None, reason: str, version: int | None
) -> dict[str, Any]:
    """Ask for an undo, and return what became of that; raise OperateError."""
    from countersign.cli.operate import perform

    return await perform(settings, lambda desk: desk.undo(by, run_id, step, reason, version))


async def items_of(settings: "Settings", run_id: str, step: str | None) -> list[dict[str, Any]]:
    """Return what of the run can be undone, and what not and why; raise OperateError where there is no such run."""
    from countersign.connection import expected, looked_up
    from runtime.services.compensation import preview_undo

    found = expected(await looked_up(settings, preview_undo, run_id, step), f"run {run_id}")
    return [{name: getattr(item, name) for name in (*_UNDO_COLUMNS, "receipt_id")} for item in found]


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
    if as_json:
        show_json({"items": items})
        return
    show_rows(items, _UNDO_COLUMNS)
    count = sum(item["standing"] == "possible" for item in items)
    out.print(f"\n{count} of {len(items)} can be undone; nothing was done{': add --yes' if count or besides else ''}")


def show_undone(facts: dict[str, Any], *, as_json: bool) -> None:
    """Print what became of asking for an undo."""
    if as_json:
        show_json(facts)
    elif facts["status"] == "received":
        out.print(f"on record as {facts['notification_id']}: a worker will do it")
    else:
        show_rows([*facts["undone"], *facts["left"]], _UNDO_COLUMNS)
        count = len(facts["undone"])
        out.print(f"\n{count} {'is' if count == 1 else 'are'} undone by {facts['undone_in']}")


_CANCEL_COLUMNS = ("run_id", "status", "definition_name", "reference", "requested_by", "created_at")
_CANCELED_COLUMNS = ("run_id", "status", "reason")


@takes(narrowed=run_filter)
def cancel(
    run_id: Annotated[str | None, typer.Argument(metavar="RUN", help="The run to cancel.")] = None,
    *,
    by: By,
    reason: Reason,
    version: Version = None,
    status: Annotated[
        RunStatus | None, typer.Option(metavar="STATUS", help=f"In this status: {', '.join(RunStatus)}.")
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Also undo what the run did.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Cancel them; without this they are only listed.")] = False,
    as_json: AsJson = False,
    narrowed: RunFilter,
) -> None:
    """Stop a run: nothing more is done. Several runs, or one with --undo, are listed first."""
    from runtime.services.compensation import Chosen

    chosen = Chosen(**vars(narrowed), status=status)
    if run_id is None:
        if chosen.reference is None and chosen.definition is None:
            raise typer.BadParameter(
                "name a RUN, or the runs of a --reference or a --definition: the other options only narrow these"
            )
        if undo or version is not None:
            raise typer.BadParameter("--undo and --version go with one RUN")
        _cancel_chosen(shared_settings("database_url"), chosen, by, reason, yes=yes, as_json=as_json)
        return
    if chosen != Chosen():
        raise typer.BadParameter("RUN takes no filter")
    if undo:
        _cancel_with_undo(shared_settings("database_url"), run_id, by, reason, version, yes=yes, as_json=as_json)
        return
    act(lambda desk: desk.cancel(by, run_id, reason, version), f"{run_id} is canceled", as_json=as_json)


def _cancel_with_undo(
    settings: "Settings", run_id: str, by: str, reason: str, version: int | None, *, yes: bool, as_json: bool
) -> None:
    """Cancel a run and have what it did taken back; list that, unless `yes`."""
    if not yes:
        show_items(run(items_of(settings, run_id, None)), besides=True, as_json=as_json)
        return
    facts = run(_cancel_and_undo(settings, run_id, by, reason, version))
    show_undone(facts, as_json=as_json)


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
    rows = run(_runs_chosen(settings, chosen))
    if yes:
        rows = run(_cancel_all(settings, rows, by, reason))
    if as_json:
        show_json({"runs": rows})
    elif yes:
        show_rows(rows, _CANCELED_COLUMNS)
    elif rows:
        show_rows(rows, _CANCEL_COLUMNS)
        out.print(f"\n{counted(len(rows), 'run')} would be canceled; nothing was done: add --yes")
    else:
        out.print("no run matches; nothing was done")


async def _runs_chosen(settings: "Settings", chosen: "Chosen") -> list[dict[str, Any]]:
    from countersign.connection import looked_up
    from runtime.services.compensation import TooManyError, preview_cancel

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


_SIGNAL_NAME = re.compile(r"[a-z][a-z0-9_]{0,99}")


def signal(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The run to signal.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="The signal's name in the runbook.")],
    by: By,
    data: Annotated[str, typer.Option(metavar="FILE|JSON", help="A JSON object: the step's result.")] = "{}",
    *,
    as_json: AsJson = False,
) -> None:
    """Send a signal to a run: a step that waits for it continues; an early signal is kept."""
    from countersign.cli.operate import perform

    if not _SIGNAL_NAME.fullmatch(name):
        raise typer.BadParameter("lower case, digits and _, as runbooks name signals", param_hint="NAME")
    said = _json_object(data)
    facts = run(perform(shared_settings("database_url"), lambda desk: desk.signal(by, run_id, name, said)))
    if as_json:
        show_json(facts)
    elif facts["status"] == "received":
        out.print(f"on record as {facts['notification_id']}: a worker will do it")
    else:
        out.print(facts["reason"] or f"{', '.join(wait['step'] for wait in facts['waits'])} of {run_id} goes on")


def _json_object(given: str) -> dict[str, Any]:
    """Return the JSON object that is given, or stands in the file that is."""
    from countersign.cli.operate import expect_recordable, read_json
    from policy.bundle import strict_json

    if not given.lstrip().startswith(("{", "[", '"')):
        found = read_json(Path(given))
    else:
        try:
            found = strict_json(given)
        except (ValueError, RecursionError) as error:
            raise OperateError(f"--data is not JSON: {error}") from error
    return expect_recordable(found, "--data")
