"""Views of policy versions, over one connection: all tenants of a database share them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from policy.versions import NO_BACKTEST, PolicyChanges, backtest_rows, worst_example
from runtime.model.states import DefinitionStatus
from runtime.store import policy_versions as store
from runtime.store.database.pool import Conn


async def list_versions(
    conn: Conn,
    _: str,
    status: DefinitionStatus | None,
    since: datetime | None,
    until: datetime | None,
    after: int | None,
    limit: int,
) -> list[dict[str, Any]]:
    """Return versions, the newest first, below `after`, as narrowed by status and time of proposal."""
    sought = {"status": status, "since": since, "until": until, "after": after, "limit": limit}
    return await store.list_versions(conn, sought)


async def show_version(conn: Conn, _: str, version: int | None) -> dict[str, Any] | None:
    """Return where a version stands, or the one in force; None where there is none.

    `changes` are those against the version that was in force before it first was, or for a draft the one in force now.
    """
    there = await store.in_force(conn)
    if version is None and there is None:
        return None
    number = version or (there.version if there else 0)
    found = await store.find_version(conn, number)
    if found is None:
        return None
    activations = await store.activations_of(conn, number)
    before = activations[0]["replaces"] if activations else there.version if there else None
    report = found["report"]
    return {
        **found,
        "activations": activations,
        "changes": await _changes(conn, before, number),
        "backtest": backtest_rows(report) if report else [],
        "worst": worst_example(report) if report else NO_BACKTEST,
    }


async def _changes(conn: Conn, before: int | None, version: int) -> list[str]:
    if before is None:
        return []
    return PolicyChanges(await store.read_version(conn, before), await store.read_version(conn, version)).lines()


async def files_of(conn: Conn, _: str, version: int) -> Mapping[str, str] | None:
    """Return the files of a version, None where there is none."""
    try:
        return (await store.text_of(conn, version)).files
    except LookupError:
        return None
