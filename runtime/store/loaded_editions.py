"""What starts have brought: on record in the tenant's chain when it is not what the start before brought."""

from datetime import datetime

from receipts.chain import PROGRAM
from receipts.loaded import LoadedAct
from runtime.store.database.pool import Conn
from runtime.store.tenant_acts import put_act
from runtime.store.tenant_rows import lock_chain


async def put_if_other(conn: Conn, tenant: str, act: LoadedAct, at: datetime) -> bool:
    """Put on record what a start brought, and return whether it is other than what holds by the record.

    Safe by many processes at once. Where nothing ever was, and there is nothing, nothing is written.
    """
    if not await _is_other(conn, tenant, act):
        return False
    async with conn.transaction():
        await lock_chain(conn, tenant)
        return await _is_other(conn, tenant, act) and await put_act(conn, tenant, act, PROGRAM, at)


async def _is_other(conn: Conn, tenant: str, act: LoadedAct) -> bool:
    query = """
        SELECT leaf -> 'data' AS data FROM tenant_leaves
         WHERE tenant = %s AND leaf ->> 'event' = %s ORDER BY seq DESC LIMIT 1
    """
    last = await (await conn.execute(query, (tenant, act.event))).fetchone()
    if last is None:
        return any(act.brought.values())
    return act.brought != type(act).model_validate(last["data"]).brought
