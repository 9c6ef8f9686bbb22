"""The command `replay`."""

from typing import Annotated

import typer

from countersign.cli.command import out, run, shared_settings


def replay(run_id: Annotated[str, typer.Argument(metavar="RUN", help="Its id.")]) -> None:
    """Plan a run again from its record, and name the first place where today's planner decides otherwise."""
    from countersign.cli.operate import OperateError, looked_up
    from countersign.engine import install_functions
    from runtime.services import replaying

    settings = shared_settings("database_url")
    install_functions(settings)
    found = run(looked_up(settings, replaying.replay_run, run_id))
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
