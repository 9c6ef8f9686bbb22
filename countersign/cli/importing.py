"""`people import`: people from elsewhere into a directory file, which is what is loaded and kept under versions."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from countersign.cli.command import out
from countersign.cli.tables import AsJson, show_json, show_rows
from evidence.reading.words import counted

if TYPE_CHECKING:
    from countersign.directory import Directory, PersonEntry

_CHANGE = ("person", "what", "before", "after")

Into = Annotated[
    Path, typer.Option("--into", metavar="FILE", help="The directory file whose people change; everything else stays.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Write the file, as its next version.")]


def import_(
    people: Annotated[Path, typer.Argument(metavar="FILE", help="A table as .csv, or a list as .yaml.")],
    into: Into,
    *,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """List what people from elsewhere change in a directory file; with --yes write it, to be loaded then."""
    from countersign.directory import read_directory
    from countersign.people_import import read_people

    old = read_directory(into)
    change_people(old, read_people(people, old), into, yes=yes, as_json=as_json)


def change_people(old: "Directory", new: "Directory", into: Path, *, yes: bool, as_json: bool) -> None:
    """List what changes from one directory to another, and write the file if that is said."""
    import yaml

    changes = list(changes_of(old, new))
    if changes and yes:
        said = new.model_dump(mode="json", exclude_defaults=True)
        _write(into, yaml.safe_dump(said, allow_unicode=True, sort_keys=False))
    if as_json:
        show_json({"changes": changes, "version": new.version if changes and yes else old.version})
        return
    if not changes:
        out.print("nothing changes")
        return
    show_rows(changes, _CHANGE, as_json=False)
    if yes:
        out.print(f"{into} is version {new.version} now: load it with `countersign people load {into}`")
    else:
        out.print(f"{counted(len(changes), 'change')}; nothing was written: add --yes")


def changes_of(old: "Directory", new: "Directory") -> Iterator[dict[str, str]]:
    """Give what becomes of each person: added, removed, or another name, other groups or accounts."""
    before, after = ({one.id: _shown(one) for one in each.people} for each in (old, new))
    for person in sorted({*before, *after}):
        was, will_be = before.get(person, {}), after.get(person, {})
        what = "added" if not was else "removed" if not will_be else ""
        for name in (name for name in {**was, **will_be} if was.get(name, "") != will_be.get(name, "")):
            said = f"{what}: {name}" if what else name
            yield {"person": person, "what": said, "before": was.get(name, ""), "after": will_be.get(name, "")}


def _shown(person: "PersonEntry") -> dict[str, str]:
    return {
        "name": person.name,
        "groups": "; ".join(sorted(person.groups)),
        "slack": "; ".join(sorted(f"{account.team}/{account.user}" for account in person.slack)),
        "triggers": "; ".join(sorted(person.triggers)),
        "timezone": person.timezone or "",
    }


def _write(file: Path, text: str) -> None:
    """Put the whole text in the place of the file at once."""
    beside = file.with_name(f".{file.name}.new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(file)
