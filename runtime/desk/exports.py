"""The counter at which exports of evidence are put on record: who was given which, in the tenant's own chain."""

from datetime import datetime

from receipts.chain import Actor
from receipts.tenant.acts import EvidenceExported
from runtime.desk.operator import UnknownPersonError
from runtime.store import directory
from runtime.store.database.pool import Conn
from runtime.store.tenant.acts import put_act

__all__ = ["EvidenceExported", "UnknownPersonError", "expect_person", "record_export"]


async def expect_person(conn: Conn, tenant: str, person: str) -> None:
    """Raise UnknownPersonError unless the directory has that person."""
    found = await directory.actor(conn, tenant, person)
    if found is None or found["kind"] != "person":
        raise UnknownPersonError(f"the directory has no person {person}")


async def record_export(conn: Conn, tenant: str, act: EvidenceExported, by: str, now: datetime) -> None:
    """Put an export on record as the act of a person; raise UnknownPersonError."""
    async with conn.transaction():
        await expect_person(conn, tenant, by)
        await put_act(conn, tenant, act, Actor(id=by, kind="person"), now)
