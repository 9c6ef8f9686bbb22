"""Who is who, as the directory that is loaded has it: people, who votes for whom, passkeys, and who acts."""

from typing import Any

from receipts.chain import Actor
from runtime.model.search import UnknownError
from runtime.store import directory
from runtime.store.database.pool import Conn
from runtime.store.delegations import list_delegations
from runtime.store.directory import find_people
from runtime.store.passkeys import list_passkeys

__all__ = [
    "find_people",
    "list_passkeys",
]


class UnknownPersonError(UnknownError):
    """The directory has no such person, and whatever is done is done by somebody."""


async def person_of(conn: Conn, tenant: str, by: str) -> Actor:
    """Return a person of the directory as one who acts, or raise UnknownPersonError."""
    person = await directory.actor(conn, tenant, by)
    if person is None or person["kind"] != "person":
        raise UnknownPersonError(f"the directory has no person {by}")
    return Actor(id=by, kind="person")


async def find_person(conn: Conn, tenant: str, person: str) -> dict[str, Any] | None:
    """Return a person with accounts and all their delegations, or None where the directory has no such person."""
    found = await find_people(conn, tenant, None, person)
    if not found:
        return None
    return {**found[0], "delegations": await list_delegations(conn, tenant, person, over=True)}
