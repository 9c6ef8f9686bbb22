"""Loads the directory file into the database."""

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

from countersign.config.directory import AgentEntry, Directory, DirectoryError, PersonEntry, read_directory
from countersign.config.notices import NoticesEntry
from runtime.clock import utc_now
from runtime.model.people.usergroups import Sources
from runtime.store.database.pool import Conn
from runtime.store.directory import DirectoryVersionError, Edition, replace_directory

_LATER = ("cancels", "undoes", "signals", "answers_for", "mends")
"""What agents could not be granted at first: where they are not, a directory has the digest that it always had."""
_UNSAID: dict[str, Any] = {"triggers": [], "timezone": None, "quiet_hours": None, "email": None}
"""The same of people."""
_NOT_THERE: dict[str, Any] = {"groups": [], "match_by_email": False}
"""And of the whole file."""


async def load_directory(conn: Conn, tenant: str, file: Path) -> Directory:
    """Make the tenant's directory in the database what the file says; raise DirectoryError where it is not newer."""
    directory = await asyncio.to_thread(read_directory, file)
    people = [
        {
            "id": one.id,
            "kind": "person",
            "name": one.name,
            "groups": one.groups,
            "grants": _rights(one),
            "notices": directory.notices.of_person(one.timezone, one.quiet_hours),
        }
        for one in directory.people
    ]
    agents = [
        {"id": one.id, "kind": "agent", "name": one.name, "groups": [], "grants": _grants(one)}
        for one in directory.agents
    ]
    accounts = [(account.team, account.user, one.id) for one in directory.people for account in one.slack]
    try:
        edition, remind = edition_of(directory), directory.notices.reminders()
        sources = _sources(directory)
        await replace_directory(conn, tenant, edition, [*people, *agents], accounts, utc_now(), remind, sources)
    except DirectoryVersionError as error:
        raise DirectoryError(f"{file} is not loaded: {error}") from error
    return directory


def edition_of(directory: Directory) -> Edition:
    """Return the version of a directory, and the digest of what it says."""
    said = directory.model_dump(exclude={"version"})
    for agent in said["agents"]:
        for name in _LATER:
            if not agent[name]:
                del agent[name]
    for person in said["people"]:
        for name, unsaid in _UNSAID.items():
            if person[name] == unsaid:
                del person[name]
    for name, unsaid in _NOT_THERE.items():
        if said[name] == unsaid:
            del said[name]
    if directory.notices == NoticesEntry():
        del said["notices"]
    content = json.dumps(said, sort_keys=True)
    return Edition(directory.version, hashlib.sha256(content.encode()).hexdigest())


def _sources(directory: Directory) -> Sources:
    groups = {group.name: group.slack_usergroup for group in directory.groups}
    return Sources(groups, {one.email.casefold(): one.id for one in directory.people if one.email})


def _rights(person: PersonEntry) -> dict[str, Any]:
    return {"triggers": person.triggers} if person.triggers else {}


def _grants(agent: AgentEntry) -> dict[str, Any]:
    return agent.model_dump(exclude={"id", "name"})
