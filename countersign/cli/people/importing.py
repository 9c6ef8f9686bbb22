"""`people import`: a table of people into a directory file, which is what is loaded and kept under versions."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from countersign.cli.command import out
from countersign.cli.tables import AsJson, show_json, show_rows

if TYPE_CHECKING:
    from countersign.config.directory import Directory, PersonEntry

_CHANGE = ("person", "what", "before", "after")


def import_(
    table: Annotated[Path, typer.Argument(metavar="CSV", help="With the columns id, name, groups and slack.")],
    into: Annotated[Path, typer.Option(help="The directory file whose people it replaces; agents stay.")],
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Write the file, as its next version.")] = False,
    as_json: AsJson = False,
) -> None:
    """List what a table of people changes in a directory file; with --yes write it, to be loaded then."""
    import yaml

    from countersign.config.directory import read_directory
    from countersign.config.people_csv import read_people

    old = read_directory(into)
    new = read_people(table, old)
    changes = list(changes_of(old, new))
    if changes and yes:
        _write(into, yaml.safe_dump(new.model_dump(exclude_defaults=True), allow_unicode=True, sort_keys=False))
    if as_json:
        show_json({"changes": changes, "version": new.version if changes and yes else old.version})
        return
    show_rows(changes, _CHANGE, as_json=False)
    if not changes:
        out.print("nothing changes")
    elif yes:
        out.print(f"{into} is version {new.version} now: load it with `countersign people load {into}`")
    else:
        out.print(f"{len(changes)} changes; nothing was written: say --yes")


def changes_of(old: "Directory", new: "Directory") -> Iterator[dict[str, str]]:
    """Give what becomes of each person: added, removed, or another name, other groups or accounts."""
    before, after = ({one.id: _shown(one) for one in each.people} for each in (old, new))
    for person in sorted({*before, *after}):
        was, will_be = before.get(person, {}), after.get(person, {})
        what = "added" if not was else "removed" if not will_be else ""
        for name in (name for name in ("name", "groups", "slack") if was.get(name, "") != will_be.get(name, "")):
            said = f"{what}: {name}" if what else name
            yield {"person": person, "what": said, "before": was.get(name, ""), "after": will_be.get(name, "")}


def _shown(person: "PersonEntry") -> dict[str, str]:
    return {
        "name": person.name,
        "groups": "; ".join(sorted(person.groups)),
        "slack": "; ".join(sorted(f"{account.team}/{account.user}" for account in person.slack)),
    }


def _write(file: Path, text: str) -> None:
    """Put the whole text in the place of the file at once."""
    beside = file.with_name(f".{file.name}.new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(file)
