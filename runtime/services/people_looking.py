"""Who is who, as the directory that is loaded has it, and who votes for whom."""

from typing import Any

from runtime.store import delegations
from runtime.store.database.pool import Conn
from runtime.store.passkeys import list_passkeys
from runtime.store.people_listing import find_people

__all__ = ["find_person", "list_passkeys", "list_people"]


async def list_people(conn: Conn, tenant: str, group: str | None) -> list[dict[str, Any]]:
    """Return people, by their ids: of a group, if one is named.

    `stands_in_for` and `delegates` are whom each votes for now, and who votes for them.
    """
    return await find_people(conn, tenant, group, None)


async def find_person(conn: Conn, tenant: str, person: str) -> dict[str, Any] | None:
    """Return a person with accounts and all their delegations, or None where the directory has no such person."""
    found = await find_people(conn, tenant, None, person)
    if not found:
        return None
    given = await delegations.list_delegations(conn, tenant, person, over=True)
    return {**found[0], "delegations": given}
