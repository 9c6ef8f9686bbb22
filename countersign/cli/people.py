"""The commands about the directory of people and agents, and about who stands in for whom."""

from pathlib import Path
from typing import Annotated

import typer

from countersign.cli.command import out, run, shared_settings
from countersign.cli.importing import import_
from countersign.cli.passkeys import passkeys
from countersign.cli.people_looking import list_, show
from countersign.cli.person import add, remove
from countersign.cli.standing_in import delegate, undelegate
from evidence.reading.words import counted

people = typer.Typer(no_args_is_help=True, help="Load and show the directory; delegations; passkeys.")
people.command("list")(list_)
people.command()(show)
people.command("import")(import_)
people.command()(add)
people.command()(remove)
people.command()(delegate)
people.command()(undelegate)
people.add_typer(passkeys, name="passkeys")


@people.command()
def load(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A directory as YAML, with a higher version than the one loaded.")
    ],
) -> None:
    """Load a directory file into the database."""
    from countersign.directory_loading import load_people

    directory = run(load_people(shared_settings("directory_database_url"), file))
    persons, agents = counted(len(directory.people), "person", "people"), counted(len(directory.agents), "agent")
    out.print(f"version {directory.version}: {persons}, {agents}")
