"""Encrypts the tokens that are stored anew, under the first of the keys."""

from datetime import datetime

from receipts.chain import PROGRAM
from receipts.vault import Sealed, Vault
from receipts.workspaces import SlackRekeyed
from runtime.store import installations
from runtime.store.database.pool import Conn
from runtime.store.tenant_acts import put_act


async def rekey(conn: Conn, tenant: str, vault: Vault, now: datetime) -> int:
    """Put all tokens under the vault's first key; return of how many installations. Raise VaultError."""
    async with conn.transaction():
        rows = await installations.lock_tokens(conn, tenant)
        for row in rows:
            about = row["installation_id"]
            text = vault.open(Sealed(row["key_id"], bytes(row["token"])), about)
            await installations.reseal(conn, about, vault.seal(text, about))
        act = SlackRekeyed(key_id=vault.key_id, installations=len(rows))
        await put_act(conn, tenant, act, PROGRAM, now)
    return len(rows)
