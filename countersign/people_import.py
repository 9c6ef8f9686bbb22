"""Imports people: from a CSV table or a YAML list, they replace the people in a directory file.

Fields are named as in the directory, or as in SCIM (RFC 7643). A table is UTF-8; cells are quoted as RFC 4180 says;
several values in a cell are separated by `;`. The first line names the columns, each once, in any order: those of the
directory or those of SCIM.
"""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from countersign.directory import Account, AgentEntry, Directory, DirectoryError, PersonEntry, Title, Zone, faults_of
from runtime.definitions.loading.yaml_source import SourceError, read_source
from runtime.definitions.problems import show_path


@dataclass(frozen=True)
class Row:
    """What is said of a person, and where: file and line."""

    where: str
    said: Mapping[str, Any]


def _as_value(item: object) -> object:
    """Take a mere text as a SCIM value."""
    return {"value": item} if isinstance(item, str) else item


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _Group(_Closed):
    """A group by its name; SCIM's `value` is an id of the other system where there is a `display`."""

    value: Title
    display: Title | None = None
    type: str | None = None

    @property
    def name(self) -> str:
        return self.display or self.value


class _Email(_Closed):
    value: Annotated[str, StringConstraints(pattern=r"^[^@\s]+@[^@\s]+\.[^@\s]+$", max_length=254)]
    type: str | None = None
    primary: bool = False


class ScimUser(_Closed):
    """A user as SCIM has one. What Countersign has no use for is not accepted, so that nobody relies on it."""

    userName: Annotated[  # noqa: N815 - SCIM's names
        str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,99}(@[A-Za-z0-9.-]+)?$", max_length=254)
    ]
    displayName: Title  # noqa: N815
    emails: list[Annotated[_Email, BeforeValidator(_as_value)]] = []
    groups: list[Annotated[_Group, BeforeValidator(_as_value)]] = Field(max_length=1000)
    active: bool = True
    timezone: Zone | None = None
    slack: list[Account] | None = None

    @model_validator(mode="after")
    def _one_primary(self) -> "ScimUser":
        if sum(email.primary for email in self.emails) > 1:
            raise ValueError("emails: more than one is primary")
        return self

    def entry(self) -> dict[str, Any]:
        """Return the person by the names of the directory: what stands before the @ of `userName` is the id."""
        groups = list(dict.fromkeys(group.name for group in self.groups))
        said = {"id": self.userName.partition("@")[0], "name": self.displayName, "groups": groups}
        accounts = {} if self.slack is None else {"slack": [one.model_dump() for one in self.slack]}
        return {**said, **accounts, **({"timezone": self.timezone} if self.timezone else {})}


def person_of(said: Mapping[str, Any], into: Directory) -> PersonEntry | None:
    """Return the person that is said, with what the directory has of them beside it; None of one who is not active.

    Raise ValidationError.
    """
    if "userName" in said:
        user = ScimUser.model_validate(dict(said))
        if not user.active:
            return None
        said = user.entry()
    before = next((one.model_dump(by_alias=True) for one in into.people if one.id == said.get("id")), {})
    return PersonEntry.model_validate({**before, **said})


MAX_BYTES = 2**20

_DIRECTORY = ("id", "name", "groups", "slack")
_SCIM = ("userName", "displayName", "groups")
_MAY_HAVE: Mapping[str, Sequence[str]] = {"id": ("timezone",), "userName": ("emails", "active", "timezone", "slack")}


def table_rows(file: Path, faults: list[str]) -> Iterator[Row]:
    """Yield the people of a table, adding what is wrong with a line to `faults`; raise DirectoryError."""
    table = csv.reader(io.StringIO(_text(file), newline=""), strict=True)
    try:
        header = next(table, [])
        _check_columns(file, header)
        for cells in table:
            if len(cells) == len(header):
                said = dict(zip(header, cells, strict=True))
                yield Row(f"{file}:{table.line_num}", {name: _value(name, cell) for name, cell in said.items()})
            elif cells:
                faults.append(f"{file}:{table.line_num}: {len(cells)} cells, where there are {len(header)} columns")
    except csv.Error as error:
        raise DirectoryError(f"{file}:{table.line_num}: not CSV: {error}") from error


def _check_columns(file: Path, header: Sequence[str]) -> None:
    must = _SCIM if "userName" in header else _DIRECTORY
    others = sorted(set(header) - set(must))
    if len(set(header)) != len(header) or not set(must) <= set(header) or not set(others) <= set(_MAY_HAVE[must[0]]):
        may = ", ".join(_MAY_HAVE[must[0]])
        said = ", ".join(header) or "none"
        raise DirectoryError(f"{file}:1: its columns are {said}, not {', '.join(must)} (and, if wanted, {may})")


def _parts(cell: str) -> list[str]:
    return [part.strip() for part in cell.split(";")] if cell.strip() else []


def _accounts(cell: str) -> list[dict[str, str]]:
    parted = [account.partition("/") for account in _parts(cell)]
    return [{"team": team, "user": user} for team, _, user in parted]


_TRUTH = {"true": True, "false": False}
_READ: Mapping[str, Callable[[str], Any]] = {
    "groups": _parts,
    "emails": _parts,
    "slack": _accounts,
    "active": lambda cell: _TRUTH.get(cell.strip().lower(), cell),
    "timezone": lambda cell: cell.strip() or None,
}


def _value(column: str, cell: str) -> Any:
    return _READ[column](cell) if column in _READ else cell


def _text(file: Path) -> str:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise DirectoryError(f"{file} cannot be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise DirectoryError(f"{file} is larger than 1 MiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DirectoryError(f"{file}:{line}: not UTF-8") from error


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
