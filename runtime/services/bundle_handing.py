"""The counter at which bundles are handed out: what was stored, and who was given it."""

from datetime import datetime

from receipts.tenant_acts import BundleFetched
from runtime.services.operator import person_of
from runtime.store.bundles import StoredBundle, find_stored
from runtime.store.database.pool import Conn
from runtime.store.tenant_acts import put_act

__all__ = ["StoredBundle", "find_bundle", "put_fetched"]


async def find_bundle(conn: Conn, tenant: str, run_id: str) -> StoredBundle | None:
    """Return the stored bundle of a run of the tenant, or None."""
    return await find_stored(conn, tenant, run_id)


async def put_fetched(conn: Conn, tenant: str, by: str, bundle: StoredBundle, at: datetime) -> None:
    """Put on record that a person of the directory was given the bundle; raise UnknownPersonError."""
    async with conn.transaction():
        actor = await person_of(conn, tenant, by)
        await put_act(conn, tenant, BundleFetched(run_id=bundle.run_id, sha256=bundle.sha256), actor, at)
