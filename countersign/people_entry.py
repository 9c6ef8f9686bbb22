"""One person as an import has them: by the names of the directory, or by those of SCIM (RFC 7643)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from countersign.directory import Account, Directory, PersonEntry, Title
from countersign.notice_settings import Zone


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
