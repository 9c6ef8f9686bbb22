"""The groups `runs`, `waits` and `effects`: listed, and each shown in full.

`runs trigger` starts a run; what a person does to one is in `acts`. `runs replay` plans a run again from its record,
and names the first place where today's planner decides otherwise.
"""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from countersign.cli.acts import cancel, retry, signal, undo
from countersign.cli.command import Row, run, shared_settings, show_facts, show_json, show_one
from countersign.cli.lists import keyed, show_list, table
from countersign.cli.options import AsJson, OfRun, Page, page, run_filter, takes
from runtime.model.search import RunFilter
from runtime.model.states import EffectStatus, RunStatus, WaitStatus

runs = typer.Typer()
waits = typer.Typer()
effects = typer.Typer()

_RUN = ("reference", "runbook", "status", "outcome", "requested_by", "created_at", "error", "run_id")
_WAIT = ("wait_id", "status", "type", "run_id", "step", "correlation_key", "deadline")
_EFFECT = ("effect_id", "status", "run_id", "step", "connector", "operation", "target", "tries", "next_try_at", "error")


@runs.command("list")
@takes(narrowed=run_filter, page=page)
def list_runs(
    status: Annotated[
        RunStatus | None, typer.Option(metavar="STATUS", help=f"In this status: {', '.join(RunStatus)}.")
    ] = None,
    *,
    as_json: AsJson = False,
    narrowed: RunFilter,
    page: Page,
) -> None:
    """List runs, newest first."""
    from runtime.services import listings

    rows = _list_rows(listings.list_runs, narrowed, page, status=status)
    show_list("runs", rows, page, keyed("run_id"), _print_runs, as_json=as_json)


def _print_runs(rows: Sequence[Row]) -> None:
    from countersign.cli.run_view import in_words

    table(*_RUN)([in_words(row) for row in rows])


@runs.command("show")
def show_run(run_id: Annotated[str, typer.Argument(metavar="RUN", help="Its id.")], *, as_json: AsJson = False) -> None:
    """Show a run with its steps, costs, waits, effects, child runs and undo runs."""
    from countersign.cli.run_view import show_run as show_to_people
    from runtime.services.run_in_full import find_run

    found = {**_find_row(find_run, "run", run_id), **_link(run_id)}
    if as_json:
        show_json(found)
    else:
        show_to_people(found)


@waits.command("list")
@takes(narrowed=run_filter, page=page)
def list_waits(
    status: Annotated[
        WaitStatus | None, typer.Option(metavar="STATUS", help=f"In this status: {', '.join(WaitStatus)}.")
    ] = None,
    run_id: OfRun = None,
    *,
    as_json: AsJson = False,
    narrowed: RunFilter,
    page: Page,
) -> None:
    """List waits, newest first."""
    from runtime.services import listings

    rows = _list_rows(listings.list_waits, narrowed, page, status=status, run_id=run_id)
    show_list("waits", rows, page, keyed("wait_id"), table(*_WAIT), as_json=as_json)


@waits.command("show")
def show_wait(
    wait_id: Annotated[str, typer.Argument(metavar="WAIT", help="Its id.")], *, as_json: AsJson = False
) -> None:
    """Show a wait."""
    from runtime.services import listings

    show_one(_find_row(listings.find_wait, "wait", wait_id), as_json=as_json)


@effects.command("list")
@takes(narrowed=run_filter, page=page)
def list_effects(
    status: Annotated[
        EffectStatus | None, typer.Option(metavar="STATUS", help=f"In this status: {', '.join(EffectStatus)}.")
    ] = None,
    run_id: OfRun = None,
    *,
    as_json: AsJson = False,
    narrowed: RunFilter,
    page: Page,
) -> None:
    """List effects, newest first."""
    from runtime.services import listings

    rows = _list_rows(listings.list_effects, narrowed, page, status=status, run_id=run_id)
    show_list("effects", rows, page, keyed("effect_id"), table(*_EFFECT), as_json=as_json)


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


def _list_rows(
    look: Callable[..., Awaitable[list[dict[str, Any]]]], narrowed: RunFilter, page: Page, **more: Any
) -> list[dict[str, Any]]:
    """Return the rows of a page, and one more if there is one; raise OperateError where it follows on none."""
    from countersign.cli.command import find
    from runtime.services.listings import Wanted

    return find(look, Wanted(**vars(narrowed), **more, after=page.after, limit=page.limit + 1))


def _find_row(look: Callable[..., Awaitable[dict[str, Any] | None]], kind: str, id_: str) -> Row:
    from countersign.cli.command import find_one

    return find_one(f"{kind} {id_}", look, id_)


@runs.command()
def replay(run_id: Annotated[str, typer.Argument(metavar="RUN", help="Its id.")], *, as_json: AsJson = False) -> None:
    """Plan a run again from its record, and name the first place where today's planner decides otherwise."""
    from countersign.cli.command import find_one
    from countersign.engine import install_functions
    from runtime.services import run_replay

    install_functions(shared_settings("database_url"))
    found = find_one(f"run {run_id}", run_replay.replay_run, run_id)
    hidden, other = sorted(found.hidden), found.difference
    lines = [f"{value}: the run's redacted values are gone" for value in hidden]
    if other is None:
        lines.append(f"{run_id} replays the same: {found.events} events")
    else:
        lines += [
            f"{run_id} differs at {f'leaf {other.seq}' if other.seq else 'the end'}",
            f"    planned now: {other.planned}",
            f"    on record:   {other.recorded}",
        ]
    facts = {"run_id": run_id, "events": found.events, "hidden": hidden, "differs": other and vars(other)}
    show_facts(facts, *lines, as_json=as_json)
    raise typer.Exit(1 if other else 0)


@runs.command()
def trigger(
    type_: Annotated[str, typer.Argument(metavar="TYPE", help="The trigger type; it decides which runbook runs.")],
    payload: Annotated[Path, typer.Argument(metavar="FILE", help="A file with the payload as JSON.")],
    ref: Annotated[
        str, typer.Option(metavar="TEXT", help="The event's reference: the same reference starts no second run.")
    ],
    caller: Annotated[
        str | None,
        typer.Option(metavar="CALLER", help="The agent that signs; default: the only one of COUNTERSIGN_CALLERS."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option("--as", metavar="PERSON", help="The directory id of the person who requests it."),
    ] = None,
    version: Annotated[
        int | None,
        typer.Option(min=1, metavar="VERSION", help="Version of the runbook; default: the newest active one."),
    ] = None,
    edge: Annotated[
        str | None, typer.Option(metavar="URL", help="Base URL of the edge; default: this machine's.")
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Start a run through the edge, signed as one of the settings' callers."""
    from countersign.cli.operate import read_json
    from edge.client import post

    settings = shared_settings("callers")
    known = sorted(settings.callers)
    signer = caller or (known[0] if len(known) == 1 else "")
    if not signer:
        raise typer.BadParameter(f"name one with --caller: {', '.join(known)}")
    if signer not in settings.callers:
        raise typer.BadParameter(f"COUNTERSIGN_CALLERS has no secret for {signer}; it has {', '.join(known)}")
    body = {"ref": ref, "payload": read_json(payload), "on_behalf_of": by, "version": version}
    secret = settings.callers[signer].get_secret_value()
    path = f"/v1/triggers/{quote(type_, safe='')}"
    facts = run(post(edge or f"http://127.0.0.1:{settings.port}", path, body, signer, secret))
    show_facts(facts, _trigger_text(facts), as_json=as_json)


def _trigger_text(facts: Row) -> str:
    if facts.get("signal"):
        return f"{facts['run_id']} is about the same, goes on, and was told"
    return f"{facts['run_id']} {'is started' if facts['is_new'] else 'was started before by this reference'}"


for act in (cancel, undo, retry, signal):
    runs.command()(act)
