"""The commands about the directory of people and agents."""

from pathlib import Path
from typing import Annotated

import typer

from countersign.cli.command import out, run, shared_settings

people = typer.Typer(no_args_is_help=True, help="The directory: who is who, and who may do what.")


@people.callback()
def _group() -> None:
    """Keep `load` a word of its own, although it is the only one."""


@people.command()
def load(
    file: Annotated[Path, typer.Argument(help="YAML; with a higher version than the last")],
) -> None:
    """Make the directory in the database what the file says."""
    from countersign.cli.operate import load_people

    directory = run(load_people(shared_settings(), file))
    out.print(f"version {directory.version}: {len(directory.people)} people, {len(directory.agents)} agents")
