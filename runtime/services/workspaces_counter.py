"""The counter for installations of one tenant: each, and the end of each, goes on the tenant's record."""

from dataclasses import dataclass
from datetime import timedelta
from secrets import token_urlsafe

from receipts.chain import Actor
from receipts.vault import Sealed, Vault
from receipts.workspaces import SlackInstalled
from runtime.engine import Engine
from runtime.model.installed import Installed, NewInstallation, Tokens
from runtime.services.installation_life import end_installation
from runtime.services.workspaces_model import STATE_LIFE, NotInstalledError, Refreshing
from runtime.services.workspaces_rows import installed_of, sealed_of, tokens_of
from runtime.store import installations
from runtime.store import workspaces_links as links
from runtime.store.installations import TakenError
from runtime.store.tenant_acts import put_act

REFRESH_BEFORE = timedelta(hours=2)
"""So long before they expire, tokens are replaced: those that there are last until an answer has come."""
_LEASE = timedelta(seconds=60)


@dataclass(frozen=True)
class InstallationCounter:
    """The counter of one tenant, over the engine. `vault` encrypts tokens."""

    engine: Engine
    tenant: str
    vault: Vault

    async def live(self) -> list[Installed]:
        """Return the installations that have not ended, the oldest first; raise VaultError."""
        async with self.engine.pool.connection() as conn:
            rows = await installations.live(conn, self.tenant)
        return [installed_of(row, self.vault) for row in rows]

    async def issue_state(self, secret: str) -> str | None:
        """Return a state for whoever has a link with this secret, or None where it can't be used any more."""
        state, now = token_urlsafe(32), self.engine.clock()
        async with self.engine.pool.connection() as conn, conn.transaction():
            link_id = await links.open_link(conn, self.tenant, secret, now)
            if link_id is None:
                return None
            await links.add_state(conn, state, link_id, now, now + STATE_LIFE)
        return state

    async def take_state(self, state: str) -> str | None:
        """Use a state up; return the id of its link, or None."""
        async with self.engine.pool.connection() as conn:
            return await links.take_state(conn, self.tenant, state, self.engine.clock())

    async def install(self, new: NewInstallation, link_id: str) -> None:
        """Keep an installation, by the leave of a link, in the place of one that there is; raise NotInstalledError."""
        now, new_id = self.engine.clock(), self.engine.new_id("ins")
        by = Actor(id=f"slack:{new.place}:{new.user}", kind="person")
        sealed = sealed_of(new_id, new.tokens, self.vault)
        async with self.engine.pool.connection() as conn, conn.transaction():
            if not await links.use_link(conn, self.tenant, link_id, now):
                raise NotInstalledError("The link was used already, or its time is over.")
            await end_installation(conn, self.tenant, new.place, "installed_again", now, now)
            try:
                await installations.add(conn, self.tenant, new_id, new, link_id, by.id, now)
            except TakenError as error:
                raise NotInstalledError("The app is installed there for somebody else.") from error
            await installations.add_tokens(conn, new_id, sealed, new.tokens.expires_at)
            act = SlackInstalled(
                installation_id=new_id,
                team=new.place.team,
                enterprise=new.place.enterprise,
                app_id=new.app_id,
                bot_user=new.bot_user,
                scopes=list(new.scopes),
                link_id=link_id,
            )
            await put_act(conn, self.tenant, act, by, now)

    async def lease_refresh(self, installation_id: str) -> Refreshing | None:
        """Take on to get new tokens, or return None where nobody needs to."""
        now = self.engine.clock()
        until = now + _LEASE
        async with self.engine.pool.connection() as conn:
            sealed = await installations.lease_refresh(conn, installation_id, now, now + REFRESH_BEFORE, until)
        if sealed is None:
            return None
        return Refreshing(installation_id, tokens_of(installation_id, sealed, self.vault), until)

    async def refreshed(self, lease: Refreshing, tokens: Tokens) -> None:
        """Keep new tokens."""
        sealed = sealed_of(lease.installation_id, tokens, self.vault)
        async with self.engine.pool.connection() as conn:
            await installations.replace_tokens(conn, lease.installation_id, sealed, tokens.expires_at, lease.until)

    async def confirm(self, one: Installed) -> None:
        """Forget the refresh token before the present one, unless there are others by now."""
        async with self.engine.pool.connection() as conn, conn.transaction():
            for row in await installations.lock_tokens(conn, self.tenant):
                kept = Sealed(row["key_id"], bytes(row["token"]))
                is_it = row["installation_id"] == one.installation_id
                if is_it and tokens_of(one.installation_id, kept, self.vault) == one.tokens:
                    tokens = one.tokens.model_copy(update={"before": None})
                    sealed = sealed_of(one.installation_id, tokens, self.vault)
                    await installations.reseal(conn, one.installation_id, sealed)
