"""The directory file: people, agents, groups, and which Slack account is whose. Loaded into the database at start."""

from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from countersign.errors import CountersignError
from runtime.store.directory import replace_directory
from runtime.store.pool import Conn


class DirectoryError(CountersignError):
    """The directory file is not usable; the message names every fault and where it is."""


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Account(_Closed):
    """A Slack account."""

    team: str = Field(pattern=r"^[TE][A-Z0-9]+$")
    user: str = Field(pattern=r"^[UW][A-Z0-9]+$")


class PersonEntry(_Closed):
    """One person, who may have several accounts and still counts once."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    name: str = Field(min_length=1)
    groups: list[str] = []
    slack: list[Account] = []


class AgentEntry(_Closed):
    """A program that calls the edge: what it may start, whose wishes it may bring, which verbs it may answer for."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    name: str = Field(min_length=1)
    triggers: list[str] = []
    on_behalf: bool = False
    completes: list[str] = []


class Directory(_Closed):
    """The whole file."""

    people: list[PersonEntry]
    agents: list[AgentEntry] = []


def read_directory(path: Path) -> Directory:
    """Return the directory in a YAML file, or raise DirectoryError."""
    try:
        directory = Directory.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise DirectoryError(f"{path}: {error}") from error
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise DirectoryError(f"{path}: {faults}") from error
    ids = [entry.id for entry in (*directory.people, *directory.agents)]
    twice = sorted({one for one in ids if ids.count(one) > 1})
    if twice:
        raise DirectoryError(f"{path}: listed twice: {', '.join(twice)}")
    return directory


async def load_directory(conn: Conn, tenant: str, directory: Directory) -> None:
    """Make the tenant's directory in the database what the file says."""
    people = [
        {"id": one.id, "kind": "person", "name": one.name, "groups": one.groups, "grants": {}}
        for one in directory.people
    ]
    agents = [
        {"id": one.id, "kind": "agent", "name": one.name, "groups": [], "grants": _grants(one)}
        for one in directory.agents
    ]
    accounts = [(account.team, account.user, one.id) for one in directory.people for account in one.slack]
    await replace_directory(conn, tenant, [*people, *agents], accounts)


def _grants(agent: AgentEntry) -> dict[str, Any]:
    return {"triggers": agent.triggers, "on_behalf": agent.on_behalf, "completes": agent.completes}
