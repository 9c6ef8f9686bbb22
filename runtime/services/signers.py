"""Who could sign now what a requirement of policy asks for, by the directory that is loaded."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from runtime.approvals.electorate import able
from runtime.model.person import Person
from runtime.store.database.pool import Conn
from runtime.store.electorate import electorate_of


async def signers_of(
    conn: Conn, tenant: str, requirement: Mapping[str, Any], barred: Collection[str], now: datetime
) -> list[Person]:
    """Return who could sign now, by their ids, each with those of the groups that are asked.

    Neither requester nor submitter (`barred`) nor whom the requirement excludes can, nor who has no active account.
    """
    groups = set(requirement["groups"])
    asked = await electorate_of(conn, tenant, sorted(groups), now)
    people = able(asked, groups, frozenset(requirement["exclude"]).union(barred))
    found = {one.id: Person(one.id, one.name, tuple(name for name in one.groups if name in groups)) for one in people}
    return [found[name] for name in sorted(found)]
