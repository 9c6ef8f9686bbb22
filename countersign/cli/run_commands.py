"""The groups `runs`, `waits` and `effects`: listed, and each shown in full; and `replay`.

`replay` plans a run again from its record, and names the first place where today's planner decides otherwise.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from countersign.cli.command import AsJson, Row, out, run, shared_settings, show_json, show_one, show_rows
from countersign.cli.run_view import in_words
from runtime.definitions.durations import parse_duration
from runtime.model.states import EffectStatus, RunStatus, WaitStatus

if TYPE_CHECKING:
    from runtime.services.listings import Wanted


Found = TypeVar("Found")

runs = typer.Typer(no_args_is_help=True, help="List and show runs.")
waits = typer.Typer(no_args_is_help=True, help="List and show waits.")
effects = typer.Typer(no_args_is_help=True, help="List and show effects: proposed, attempted and done.")

Definition = Annotated[str | None, typer.Option(metavar="NAME", help="Name of the runbook.")]
OfRun = Annotated[str | None, typer.Option("--run", metavar="RUN", help="Only this run.")]
OlderThan = Annotated[str | None, typer.Option(metavar="DURATION", help="Minimum age: PT1H, P3D.")]
Limit = Annotated[int, typer.Option(min=1, max=10_000, metavar="NUMBER", help="Maximum number of rows, newest first.")]

_RUN = ("reference", "runbook", "status", "outcome", "requested_by", "created_at", "error", "run_id")
_WAIT = ("wait_id", "status", "type", "run_id", "step", "correlation_key", "deadline")
_EFFECT = ("effect_id", "status", "run_id", "step", "connector", "operation", "target", "tries", "next_try_at", "error")


@runs.command("list")
def list_runs(
    status: Annotated[
        RunStatus | None, typer.Option(metavar="STATUS", help=f"In this status: {', '.join(RunStatus)}.")
    ] = None,
    definition: Definition = None,
    older_than: OlderThan = None,
    limit: Limit = 50,
    *,
    as_json: AsJson = False,
) -> None:
    """List runs, newest first."""
    from runtime.services import listings

    rows = _list_rows(listings.list_runs, _wanted(status, definition, None, older_than, limit))
    show_rows(rows if as_json else [in_words(row) for row in rows], _RUN, as_json=as_json)


@runs.command("show")
def show_run(run_id: Annotated[str, typer.Argument(metavar="RUN", help="Its id.")], *, as_json: AsJson = False) -> None:
    """Show a run with its steps, costs, waits, effects, child runs and undo runs."""
    from countersign.cli.run_view import show_run as show_to_people
    from runtime.services import listings

    found = {**_find_row(listings.find_run, "run", run_id), **_link(run_id)}
    if as_json:
        show_json(found)
    else:
        show_to_people(found)


@waits.command("list")
def list_waits(
    status: Annotated[
        WaitStatus | None, typer.Option(metavar="STATUS", help=f"In this status: {', '.join(WaitStatus)}.")
    ] = None,
    definition: Definition = None,
    run_id: OfRun = None,
    older_than: OlderThan = None,
    limit: Limit = 50,
    *,
    as_json: AsJson = False,
) -> None:
    """List waits, newest first."""
    from runtime.services import listings

    rows = _list_rows(listings.list_waits, _wanted(status, definition, run_id, older_than, limit))
    show_rows(rows, _WAIT, as_json=as_json)


@waits.command("show")
def show_wait(
    wait_id: Annotated[str, typer.Argument(metavar="WAIT", help="Its id.")], *, as_json: AsJson = False
) -> None:
    """Show a wait."""
    from runtime.services import listings

    show_one(_find_row(listings.find_wait, "wait", wait_id), as_json=as_json)


@effects.command("list")
def list_effects(
    status: Annotated[
        EffectStatus | None, typer.Option(metavar="STATUS", help=f"In this status: {', '.join(EffectStatus)}.")
    ] = None,
    definition: Definition = None,
    run_id: OfRun = None,
    older_than: OlderThan = None,
    limit: Limit = 50,
    *,
    as_json: AsJson = False,
) -> None:
    """List effects, newest first."""
    from runtime.services import listings

    rows = _list_rows(listings.list_effects, _wanted(status, definition, run_id, older_than, limit))
    show_rows(rows, _EFFECT, as_json=as_json)


@effects.command("show")
def show_effect(
    effect_id: Annotated[str, typer.Argument(metavar="EFFECT", help="Its id.")], *, as_json: AsJson = False
) -> None:
    """Show an effect, without its parameters."""
    from runtime.services import listings

    show_one(_find_row(listings.find_effect, "effect", effect_id), as_json=as_json)


def _link(run_id: str) -> Row:
    """Return our own link to a run, where browsers reach us."""
    from runtime.services.links import run_link

    url = shared_settings("database_url").public_url
    return {"link": run_link(url, run_id)} if url else {}


def _wanted(
    status: str | None, definition: str | None, run_id: str | None, older_than: str | None, limit: int
) -> "Wanted":
    from runtime.services.listings import Wanted

    return Wanted(status, definition, run_id, _age(older_than), limit)


def _age(text: str | None) -> timedelta | None:
    try:
        return None if text is None else parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--older-than") from error


async def _look(look: Callable[..., Awaitable[Found]], *what: Any) -> Found:
    from countersign.connection import connected

    settings = shared_settings("database_url")
    async with connected(settings) as conn:
        return await look(conn, settings.tenant, *what)


def _list_rows(look: Callable[..., Awaitable[list[dict[str, Any]]]], *what: Any) -> list[dict[str, Any]]:
    return run(_look(look, *what))


def _find_row(look: Callable[..., Awaitable[dict[str, Any] | None]], kind: str, id_: str) -> Row:
    row = run(_look(look, id_))
    if row is None:
        from countersign.cli.operate import OperateError

        raise OperateError(f"there is no {kind} {id_}")
    return row


def replay(run_id: Annotated[str, typer.Argument(metavar="RUN", help="Its id.")]) -> None:
    """Plan a run again from its record, and name the first place where today's planner decides otherwise."""
    from countersign.cli.operate import OperateError
    from countersign.engine import install_functions
    from runtime.services import run_replay

    install_functions(shared_settings("database_url"))
    found = run(_look(run_replay.replay_run, run_id))
    if found is None:
        raise OperateError(f"there is no run {run_id}")
    for value in sorted(found.hidden):
        out.print(f"{value}: the run's redacted values are gone")
    if found.difference is None:
        out.print(f"{run_id} replays the same: {found.events} events")
        return
    where = f"leaf {found.difference.seq}" if found.difference.seq else "the end"
    out.print(f"{run_id} differs at {where}")
    out.print(f"    planned now: {found.difference.planned}")
    out.print(f"    on record:   {found.difference.recorded}")
    raise typer.Exit(1)
