"""The counter at which exports of evidence are put on record: who was given which, in the tenant's own chain."""

from datetime import datetime

from receipts.tenant_acts import EvidenceExported
from runtime.services.operator import UnknownPersonError, person_of
from runtime.store.chains import one_view, read_chains
from runtime.store.database.pool import Conn
from runtime.store.tenant_acts import put_act

__all__ = ["EvidenceExported", "UnknownPersonError", "one_view", "person_of", "read_chains", "record_export"]


async def record_export(conn: Conn, tenant: str, act: EvidenceExported, by: str, now: datetime) -> None:
    """Put an export on record as the act of a person of the directory; raise UnknownPersonError."""
    async with conn.transaction():
        await put_act(conn, tenant, act, await person_of(conn, tenant, by), now)
