"""Views of definitions: the versions of runbooks, their statuses and differences, over one connection."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runtime.definitions.canonical import definition_document, from_canonical
from runtime.definitions.diff import Change, changes
from runtime.definitions.model import Definition
from runtime.model.runbook_version import RunbookVersion
from runtime.model.search import UnknownError
from runtime.model.states import DefinitionStatus
from runtime.store import definitions
from runtime.store.database.pool import Conn
from runtime.store.definitions import canonical_definition


class UnknownVersionError(UnknownError):
    """The tenant has no such version; the message says which it has."""


@dataclass(frozen=True, kw_only=True)
class Sought:
    """Which versions to list, behind the one named by `after`: ``(name, version)``; None leaves it wide."""

    name: str | None = None
    status: DefinitionStatus | None = None
    trigger: str | None = None  # type that may start it
    since: datetime | None = None  # somebody moved it then or later
    until: datetime | None = None  # before that
    after: tuple[str, int] | None = None
    limit: int


@dataclass(frozen=True)
class Comparison:
    """What changes from `before`, None where nothing was there, to `after`."""

    before: RunbookVersion | None
    after: RunbookVersion
    changes: list[Change]


async def list_versions(conn: Conn, tenant: str, sought: Sought) -> list[dict[str, Any]]:
    """Return versions by name, the newest first; raise UnknownVersionError where `after` is none."""
    after, version = sought.after or ("", 0)
    if sought.after is not None:
        await _find(conn, tenant, after, version)
    return await definitions.list_versions(conn, tenant, {**vars(sought), "after": after, "version": version})


async def show_version(conn: Conn, tenant: str, name: str, version: int | None) -> dict[str, Any]:
    """Return where a version stands, its moves, and all that it says; raise UnknownVersionError."""
    life = await _find(conn, tenant, name, version)
    return {
        "name": life.name,
        "version": life.version,
        "status": str(life.status),
        "digest": life.digest,
        "moves": await definitions.moves_of(conn, tenant, life),
        "definition": json.loads(json.dumps(definition_document(await _definition(conn, life)))),  # words, no enums
    }


async def compare(conn: Conn, tenant: str, name: str, version: int | None, against: int | None) -> Comparison:
    """Return what changes to a version from another: the newest active one beside it, or else the one before it.

    Raise UnknownVersionError.
    """
    after = await _find(conn, tenant, name, version)
    others = [one for one in await definitions.versions_of_runbook(conn, tenant, name) if one.version != after.version]
    if against is not None:
        before: RunbookVersion | None = await _find(conn, tenant, name, against)
    else:
        older = [one for one in others if one.version < after.version]
        before = next(reversed([one for one in others if one.is_active] or older), None)
    old = await _definition(conn, before) if before else None
    return Comparison(before, after, changes(old, await _definition(conn, after)))


async def _find(conn: Conn, tenant: str, name: str, version: int | None) -> RunbookVersion:
    """Return a version, or where none is named the newest."""
    known = await definitions.versions_of_runbook(conn, tenant, name)
    found = [one for one in known if version in (None, one.version)]
    if not known:
        raise UnknownVersionError(f"there is no runbook {name}")
    if not found:
        there = ", ".join(str(one.version) for one in known)
        raise UnknownVersionError(f"there is no {name} version {version}; there is {there}")
    return found[-1]


async def _definition(conn: Conn, life: RunbookVersion) -> Definition:
    return from_canonical(await canonical_definition(conn, life.name, life.version))
