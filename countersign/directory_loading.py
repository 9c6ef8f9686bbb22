"""Loads the directory file into the database, by a login that the program does not have."""

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

from psycopg.errors import InsufficientPrivilege

from countersign.connection import DatabaseError, connected
from countersign.directory import AgentEntry, Directory, DirectoryError, PersonEntry, read_directory
from countersign.notice_settings import NoticesEntry
from countersign.settings import Settings, required
from countersign.storage import check_migrations
from runtime.clock import utc_now
from runtime.model.json_limits import first_line
from runtime.model.usergroups import Sources
from runtime.store.database.pool import Conn
from runtime.store.directory import DirectoryVersionError, Edition, check_edition, replace_directory
from runtime.store.directory import edition_of as loaded_edition
from runtime.store.roles import DIRECTORY
from runtime.store.tenant_rows import bind

_LATER = ("cancels", "undoes", "signals", "answers_for", "mends")
"""What agents could not be granted at first: where they are not, a directory has the digest that it always had."""
_UNSAID: dict[str, Any] = {"triggers": [], "timezone": None, "quiet_hours": None, "email": None}
"""The same of people."""
_NOT_THERE: dict[str, Any] = {"groups": [], "match_by_email": False}
"""And of the whole file."""


async def load_people(settings: Settings, file: Path) -> Directory:
    """Load a directory file by the login that may, and return what it says."""
    await asyncio.to_thread(check_migrations, required(settings, "directory_database_url"))
    try:
        async with connected(settings.model_copy(update={"database_url": settings.directory_database_url})) as conn:
            # the first process of a tenant says whether its runs are on mocks
            await bind(conn, settings.tenant, mocked=settings.overlay is not None)
            return await load_directory(conn, settings.tenant, file)
    except InsufficientPrivilege as error:
        raise DatabaseError(
            "COUNTERSIGN_DIRECTORY_DATABASE_URL: its login may not load the directory; log in as a member of"
            f" {DIRECTORY} ({first_line(error)})"
        ) from error


async def expect_loaded(conn: Conn, tenant: str, file: Path) -> None:
    """Raise DirectoryError unless the directory that is loaded is the file's."""
    edition = edition_of(await asyncio.to_thread(read_directory, file))
    loaded = await loaded_edition(conn, tenant)
    if loaded == edition:
        return
    try:
        check_edition(loaded, edition)
    except DirectoryVersionError as error:
        raise DirectoryError(f"{file} is not loaded: {error}") from error
    held = "none is loaded" if loaded is None else f"version {loaded.version} is loaded"
    raise DirectoryError(
        f"{file} is not loaded: it is version {edition.version}, and {held}; load it: `countersign people load {file}`"
    )


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
