"""People from elsewhere, who take the place of the people in a directory file: a CSV table, or a list in YAML."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from countersign.directory import AgentEntry, Directory, DirectoryError, PersonEntry, faults_of
from countersign.people_entry import Row, person_of
from countersign.people_table import table_rows
from runtime.definitions.loading.yaml_source import SourceError, read_source
from runtime.definitions.problems import show_path

_YAML = (".yaml", ".yml")


def read_people(file: Path, into: Directory) -> Directory:
    """Return the directory with the people of the file in the place of its own, as its next version.

    What the file does not say of a person whom the directory has stays as it is there, and so does all else in it.
    Raise DirectoryError naming file, line and column of every fault.
    """
    faults: list[str] = []
    rows = list(_listed(file) if file.suffix in _YAML else table_rows(file, faults))
    people = [(row, person) for row in rows if (person := _person(row, into, faults)) is not None]
    made = into.model_copy(update={"version": into.version + 1, "people": [person for _, person in people]})
    faults += (_told(file, place, what, [row for row, _ in people], made.agents) for place, what in faults_of(made))
    if faults:
        raise DirectoryError("\n".join(faults))
    return made


def _listed(file: Path) -> Iterator[Row]:
    """Yield the people of a list in YAML, each a mapping."""
    try:
        source = read_source(file, str(file))
    except SourceError as error:
        raise DirectoryError(str(error)) from error
    if not isinstance(source.value, list):
        raise DirectoryError(f"{file}:1: it is not a list of people")
    for index, said in enumerate(source.value):
        where = f"{file}:{source.problem((index,), '', '').line}"
        if not isinstance(said, dict):
            raise DirectoryError(f"{where}: it is not a person by keys and values")
        yield Row(where, said)


def _person(row: Row, into: Directory, faults: list[str]) -> PersonEntry | None:
    try:
        return person_of(row.said, into)
    except ValidationError as error:
        wrong = error.errors(include_url=False)
        faults.extend(f"{row.where}: {'.'.join(map(str, one['loc'])) or 'person'}: {one['msg']}" for one in wrong)
        return None


def _told(file: Path, place: Sequence[str | int], what: str, rows: Sequence[Row], agents: Sequence[AgentEntry]) -> str:
    """Return a fault of the whole directory: by the line of its person, or by the agent who speaks for somebody."""
    kind, number, *rest = place
    if kind == "people":
        return f"{rows[int(number)].where}: {'.'.join(map(str, rest))}: {what}"
    return f"{file}: agent {agents[int(number)].id}, {'.'.join(map(str, rest))}: {what}"


def with_person(old: Directory, said: Mapping[str, Any]) -> Directory:
    """Return the directory with one person more, as its next version; raise DirectoryError."""
    faults: list[str] = []
    if any(one.id == said["id"] for one in old.people):
        raise DirectoryError(f"there is a person {said['id']} already")
    person = _person(Row(str(said["id"]), said), old, faults)
    return _checked(old, [*old.people, *filter(None, [person])], faults)


def without_person(old: Directory, person: str) -> Directory:
    """Return the directory without a person, as its next version; raise DirectoryError."""
    left = [one for one in old.people if one.id != person]
    if len(left) == len(old.people):
        raise DirectoryError(f"there is no person {person}")
    return _checked(old, left, [])


def _checked(old: Directory, people: list[PersonEntry], faults: list[str]) -> Directory:
    made = old.model_copy(update={"version": old.version + 1, "people": people})
    faults += (f"{show_path(place)}: {what}" for place, what in faults_of(made))
    if faults:
        raise DirectoryError("\n".join(faults))
    return made
