"""What the database says to lint of a policy: who could sign each requirement, and which rules were behind decisions.

It is read in read-only transactions, even if the login may write.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from policy.lint.rules import Fired
from runtime.approvals.electorate import able
from runtime.model.person import Person
from runtime.services.recorded_decisions import RecordedDecisions
from runtime.store.database.pool import Conn
from runtime.store.directory import edition_of, group_names
from runtime.store.electorate import electorate_of
from runtime.store.passkeys import passkey_holders
from runtime.store.recorded_decisions import read_fired


@dataclass(frozen=True)
class TenantPeople:
    """The people of a tenant: the groups that its directory has, and who can decide now, by the groups that are asked.

    `holders` are the people with a registered passkey.
    """

    groups: frozenset[str]
    able: Mapping[tuple[str, ...], Sequence[Person]]
    holders: frozenset[str]


async def people_of(
    conn: Conn, tenants: Mapping[str, Sequence[tuple[str, ...]]], now: datetime
) -> dict[str, TenantPeople]:
    """Return the people of each tenant whose directory is loaded, who can decide by these sets of groups."""
    async with RecordedDecisions(conn).reading():
        loaded = [name for name in tenants if await edition_of(conn, name) is not None]
        return {
            name: TenantPeople(
                await group_names(conn, name),
                {groups: await _able(conn, name, groups, now) for groups in tenants[name]},
                await passkey_holders(conn, name),
            )
            for name in loaded
        }


async def _able(conn: Conn, tenant: str, groups: tuple[str, ...], now: datetime) -> list[Person]:
    return able(await electorate_of(conn, tenant, groups, now), frozenset(groups), frozenset())


async def fired_rules(conn: Conn, last: int) -> Fired:
    """Return what the last decisions on record say of rules."""
    async with RecordedDecisions(conn).reading():
        row: dict[str, Any] = await read_fired(conn, last)
    return Fired(row["decisions"], frozenset(row["names"]), frozenset(row["codes"]))
