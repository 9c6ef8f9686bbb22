"""Request origin: the workspace that a request comes from. It holds for all work that answers the request."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import parse_qs

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

Id = Annotated[str, Field(pattern=r"^[A-Z0-9]{2,32}$")]


@dataclass(frozen=True)
class Origin:
    """The team and the organization that Slack names; "" where it names none.

    `is_whole` says that it is about an installation for the whole organization.
    """

    team: str
    enterprise: str
    is_whole: bool = False


ORIGIN: ContextVar[Origin | None] = ContextVar("origin", default=None)
"""The workspace behind what is being answered; None where nobody asked, as when a card is posted."""


@contextmanager
def asked_from(origin: Origin | None) -> Iterator[None]:
    """Have what is called in the block be for that workspace."""
    token = ORIGIN.set(origin)
    try:
        yield
    finally:
        ORIGIN.reset(token)


class _Read(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Named(_Read):
    id: Id


class _Installed(_Read):
    team_id: Id | None = None
    enterprise_id: Id | None = None
    is_enterprise_install: bool | None = None


class _Acting(_Read):
    team_id: Id | None = None


class _Envelope(_Read):
    """Events name the installation they are for; interactions a team, which an organization's views have not."""

    team_id: Id | None = None
    enterprise_id: Id | None = None
    is_enterprise_install: bool | None = None  # in a form "true" or "false"
    authorizations: list[_Installed] = []
    team: _Named | None = None
    enterprise: _Named | None = None
    user: _Acting | None = None

    def origin(self) -> Origin:
        event = self.authorizations[0] if self.authorizations else None
        team = (event and event.team_id) or (self.team and self.team.id) or self.team_id
        enterprise = (event and event.enterprise_id) or (self.enterprise and self.enterprise.id) or self.enterprise_id
        acting = self.user.team_id if self.user and not team else None
        is_whole = event.is_enterprise_install if event else self.is_enterprise_install
        return Origin(team or acting or "", enterprise or "", bool(is_whole))


_ENVELOPE: TypeAdapter[_Envelope] = TypeAdapter(_Envelope)


def origin_of(body: Any) -> Origin:
    """Return where a payload comes from; raise pydantic's ValidationError."""
    return _ENVELOPE.validate_python(body).origin()


def origin_of_request(content_type: str, body: str) -> Origin:
    """Return the same of a request: JSON, or a form that is a command or has JSON as `payload`. Raise ValueError."""
    if content_type.partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        return _ENVELOPE.validate_json(body).origin()
    form = parse_qs(body)
    if "payload" not in form:
        return origin_of({name: values[0] for name, values in form.items()})
    return _ENVELOPE.validate_json(form["payload"][0]).origin()
