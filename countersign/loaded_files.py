"""Loaded files: the directory file goes into the database, and a start's files go on record.

The directory is loaded by a login that the program does not have. A start puts on record which of the tenant's files it
brought, if they differ from those of the start before.
"""

import asyncio
import hashlib
import json
import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from psycopg.errors import InsufficientPrivilege

from countersign.connection import DatabaseError, connected
from countersign.directory import AgentEntry, Directory, DirectoryError, NoticesEntry, PersonEntry, read_directory
from countersign.settings import Settings, required
from countersign.storage import check_migrations
from receipts.acts import LoadedAct, RoutingLoaded, SubscribedTo, SubscriptionsLoaded
from receipts.chain import PROGRAM, Actor
from runtime.clock import utc_now
from runtime.engine import Engine
from runtime.model.limits import first_line
from runtime.model.person import Sources
from runtime.model.subscription import Subscription
from runtime.services.people import UnknownPersonError, person_of
from runtime.store.database.pool import Conn
from runtime.store.directory import DirectoryVersionError, Edition, check_edition, replace_directory
from runtime.store.directory import edition_of as loaded_edition
from runtime.store.schema.role_names import DIRECTORY
from runtime.store.tenants import bind_tenant, put_if_changed

_LATER = ("cancels", "undoes", "signals", "answers_for", "repairs", "previews")
"""What agents could not be granted at first: where they are not, a directory has the digest that it always had."""
_UNSAID: dict[str, Any] = {"triggers": [], "timezone": None, "quiet_hours": None, "email": None, "sign_in": []}
"""The same of people."""
_NOT_THERE: dict[str, Any] = {"groups": [], "match_by_email": False}
"""And of the whole file."""


async def load_people(settings: Settings, file: Path, by: str | None = None) -> Directory:
    """Load a directory file by the login that may, and return what it says; see `load_directory`."""
    await asyncio.to_thread(check_migrations, required(settings, "directory_database_url"))
    try:
        async with connected(settings.model_copy(update={"database_url": settings.directory_database_url})) as conn:
            # the first process of a tenant says whether its runs are on mocks
            await bind_tenant(conn, settings.tenant, mocked=settings.overlay is not None)
            return await load_directory(conn, settings.tenant, file, by)
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
        f"{file} is not loaded: it is version {edition.version}, and {held};"
        f" load it: `countersign people load {file} --as PERSON`"
    )


async def load_directory(conn: Conn, tenant: str, file: Path, by: str | None = None) -> Directory:
    """Make the tenant's directory in the database what the file says; raise DirectoryError where it is not newer.

    It goes on record as the act of the person `by`, or where nobody is named, of the program, which brings the file
    with it. Where there is no such person, raise DirectoryError, too.
    """
    directory = await asyncio.to_thread(read_directory, file)
    edition = edition_of(directory)
    is_loaded = await loaded_edition(conn, tenant) == edition  # then nothing changes, whoever asks for it
    actor = PROGRAM if by is None or is_loaded else await _loader(conn, tenant, directory, by)
    people = [
        {
            "id": one.id,
            "kind": "person",
            "name": one.name,
            "groups": one.groups,
            "grants": _rights(one),
            "notices": directory.notices.of_person(one.timezone, one.quiet_hours),
            "sign_in": _sign_in(one),
        }
        for one in directory.people
    ]
    agents = [
        {"id": one.id, "kind": "agent", "name": one.name, "groups": [], "grants": _grants(one)}
        for one in directory.agents
    ]
    accounts = [(account.team, account.user, one.id) for one in directory.people for account in one.slack]
    try:
        remind, sources = directory.notices.reminders(), _sources(directory)
        await replace_directory(conn, tenant, edition, [*people, *agents], accounts, utc_now(), remind, sources, actor)
    except DirectoryVersionError as error:
        raise DirectoryError(f"{file} is not loaded: {error}") from error
    return directory


async def _loader(conn: Conn, tenant: str, directory: Directory, by: str) -> Actor:
    """Return who loads: a person of the directory that is loaded, or of the first one."""
    if await loaded_edition(conn, tenant) is not None:
        try:
            return await person_of(conn, tenant, by)
        except UnknownPersonError as error:
            raise DirectoryError(str(error)) from error
    if by not in {one.id for one in directory.people}:
        raise DirectoryError(f"the directory has no person {by}")
    return Actor(id=by, kind="person")


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
    told = directory.people if directory.match_by_email else []
    return Sources(groups, {one.email.casefold(): one.id for one in told if one.email})


def _sign_in(person: PersonEntry) -> dict[str, Any]:
    """Return how somebody signs in to the console, as it is stored; {} where nothing is said of it."""
    address = {"email": person.email.casefold()} if person.email else {}
    accounts = [one.model_dump() for one in person.sign_in]
    return {**address, **({"accounts": accounts} if accounts else {})}


def _rights(person: PersonEntry) -> dict[str, Any]:
    return {"triggers": person.triggers} if person.triggers else {}


def _grants(agent: AgentEntry) -> dict[str, Any]:
    return agent.model_dump(exclude={"id", "name"})


log = logging.getLogger(__name__)


async def note_configuration(engine: Engine, *, routes: bool) -> None:
    """Put on the tenant's record what this process goes by; nothing is written where the record says so already.

    A process that `routes` no requests is not given the rules for it: what it has of them says nothing.
    """
    async with engine.pool.connection() as conn:
        for act in _loaded_acts(engine, routes=routes):
            if await put_if_changed(conn, engine.tenant, act, engine.clock()):
                log.info("%s has changed since the last start; recorded", act.event)


def _loaded_acts(engine: Engine, *, routes: bool) -> Iterator[LoadedAct]:
    if routes:
        yield RoutingLoaded(process=engine.worker, digest=engine.routing.digest)
    yield SubscriptionsLoaded(process=engine.worker, subscriptions=_subscribed(engine.subscriptions))


def _subscribed(subscriptions: Iterable[Subscription]) -> list[SubscribedTo]:
    found = sorted(subscriptions, key=lambda one: one.name)
    return [SubscribedTo(name=one.name, target=one.target, configuration=one.digest) for one in found]
