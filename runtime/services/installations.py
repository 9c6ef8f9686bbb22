"""Installations of the Slack app: each, and the end of each, goes on the tenant's record.

Tokens are read by the vault alone, and can be encrypted anew. What Slack says of the app's life is handed in here, too:
that it is gone from a workspace, and who has left one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any, Literal

from receipts.acts import RemovedWhy, SlackInstalled, SlackMemberChanged, SlackRekeyed, SlackRemoved
from receipts.chain import PROGRAM, Actor
from receipts.vault import Sealed, Vault
from runtime.model.installation import EndedInstallation, Installation, InstallPlace, NewInstallation, Tokens
from runtime.store import directory, installations
from runtime.store import installations as links
from runtime.store.database.pool import Conn
from runtime.store.installations import TakenError
from runtime.store.tenants import put_act

if TYPE_CHECKING:
    from runtime.engine import Engine

STATE_LIFE = timedelta(minutes=10)
"""How long somebody may take to say yes at Slack."""

EndedWhy = Literal["app_uninstalled", "tokens_revoked"]


class NotInstalledError(Exception):
    """The installation is not kept, and the message says why."""


@dataclass(frozen=True)
class Refreshing:
    """Leave to get new tokens for an installation, until `until`; nobody else has it meanwhile."""

    installation_id: str
    tokens: Tokens
    until: datetime


def sealed_of(installation_id: str, tokens: Tokens, vault: Vault) -> Sealed:
    """Return tokens as they are kept, bound to their installation."""
    return vault.seal(tokens.model_dump_json().encode(), installation_id)


def tokens_of(installation_id: str, sealed: Sealed, vault: Vault) -> Tokens:
    """Return what is kept; raise VaultError."""
    return Tokens.model_validate_json(vault.open(sealed, installation_id))


def installed_of(row: Mapping[str, Any], vault: Vault) -> Installation:
    """Return the installation that a row has; raise VaultError."""
    sealed = Sealed(row["key_id"], bytes(row["token"]))
    return Installation(
        installation_id=row["installation_id"],
        place=InstallPlace(row["team"], row["enterprise"]),
        name=row["name"],
        bot_user=row["bot_user"],
        bot_id=row["bot_id"],
        scopes=tuple(row["scopes"]),
        installed_at=row["installed_at"],
        tokens=tokens_of(row["installation_id"], sealed, vault),
    )


async def end_installation(
    conn: Conn, tenant: str, place: InstallPlace, why: RemovedWhy, now: datetime, before: datetime
) -> bool:
    """End the installation there, if it was made before a moment, and put that on record; return whether it has."""
    ended = await installations.end_installation(conn, tenant, place, why, now, before)
    if ended is not None:
        await put_act(conn, tenant, SlackRemoved(installation_id=ended, why=why), PROGRAM, now)
    return ended is not None


@dataclass(frozen=True)
class InstallationLifecycle:
    """Where the bot hands in what Slack says of the app's life in its workspaces, and of their members."""

    engine: "Engine"
    tenant: str

    async def remove(self, place: InstallPlace, why: EndedWhy, said_at: datetime) -> bool:
        """End the installation there, unless it was made after that was said; return whether it has ended now."""
        async with self.engine.pool.connection() as conn, conn.transaction():
            return await end_installation(conn, self.tenant, place, why, self.engine.clock(), said_at)

    async def note_member(self, team: str, user: str, *, is_active: bool) -> None:
        """Put on record that Slack says of an account of the directory whether it is active, where that is new."""
        now = self.engine.clock()
        async with self.engine.pool.connection() as conn, conn.transaction():
            if await directory.note_account_state(conn, self.tenant, team, user, now, is_active=is_active):
                act = SlackMemberChanged(team=team, user=user, is_active=is_active)
                await put_act(conn, self.tenant, act, PROGRAM, now)


REFRESH_BEFORE = timedelta(hours=2)
"""So long before they expire, tokens are replaced: those that there are last until an answer has come."""
_LEASE = timedelta(seconds=60)


@dataclass(frozen=True)
class Installations:
    """Where the bot keeps installations of one tenant. `vault` encrypts tokens."""

    engine: "Engine"
    tenant: str
    vault: Vault

    async def live(self) -> list[Installation]:
        """Return the installations that have not ended, the oldest first; raise VaultError."""
        async with self.engine.pool.connection() as conn:
            rows = await installations.live_installations(conn, self.tenant)
        return [installed_of(row, self.vault) for row in rows]

    async def issue_state(self, secret: str) -> str | None:
        """Return a state for whoever has a link with this secret, or None where it can't be used any more."""
        state, now = token_urlsafe(32), self.engine.clock()
        async with self.engine.pool.connection() as conn, conn.transaction():
            link_id = await links.open_install_link(conn, self.tenant, secret, now)
            if link_id is None:
                return None
            await links.add_oauth_state(conn, state, link_id, now, now + STATE_LIFE)
        return state

    async def take_state(self, state: str) -> str | None:
        """Use a state up; return the id of its link, or None."""
        async with self.engine.pool.connection() as conn:
            return await links.take_oauth_state(conn, self.tenant, state, self.engine.clock())

    async def install(self, new: NewInstallation, link_id: str) -> None:
        """Keep an installation, by the leave of a link, in the place of one that there is; raise NotInstalledError."""
        now, new_id = self.engine.clock(), self.engine.new_id("ins")
        by = Actor(id=f"slack:{new.place}:{new.user}", kind="person")
        sealed = sealed_of(new_id, new.tokens, self.vault)
        async with self.engine.pool.connection() as conn, conn.transaction():
            if not await links.use_install_link(conn, self.tenant, link_id, now):
                raise NotInstalledError("The link was used already, or its time is over.")
            await end_installation(conn, self.tenant, new.place, "installed_again", now, now)
            try:
                await installations.add_installation(conn, self.tenant, new_id, new, link_id, by.id, now)
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

    async def confirm(self, one: Installation) -> None:
        """Forget the refresh token before the present one, unless there are others by now: these have been used."""
        async with self.engine.pool.connection() as conn, conn.transaction():
            for row in await installations.lock_tokens(conn, self.tenant):
                kept = Sealed(row["key_id"], bytes(row["token"]))
                is_it = row["installation_id"] == one.installation_id
                if is_it and tokens_of(one.installation_id, kept, self.vault) == one.tokens:
                    tokens = one.tokens.model_copy(update={"before": None})
                    sealed = sealed_of(one.installation_id, tokens, self.vault)
                    await installations.reencrypt_tokens(conn, one.installation_id, sealed)


async def rekey(conn: Conn, tenant: str, vault: Vault, by: Actor, now: datetime) -> int:
    """Put all tokens under the vault's first key, as the act of a person; return of how many installations.

    Raise VaultError.
    """
    async with conn.transaction():
        rows = await installations.lock_tokens(conn, tenant)
        for row in rows:
            about = row["installation_id"]
            text = vault.open(Sealed(row["key_id"], bytes(row["token"])), about)
            await installations.reencrypt_tokens(conn, about, vault.seal(text, about))
        act = SlackRekeyed(key_id=vault.key_id, installations=len(rows))
        await put_act(conn, tenant, act, by, now)
    return len(rows)


async def live(conn: Conn, tenant: str, vault: Vault) -> list[Installation]:
    """Return the installations that have not ended, the oldest first; raise VaultError."""
    return [installed_of(row, vault) for row in await installations.live_installations(conn, tenant)]


async def ended(conn: Conn, tenant: str) -> list[EndedInstallation]:
    """Return where the app was installed, and is not now."""
    rows = await installations.ended_installations(conn, tenant)
    return [
        EndedInstallation(
            InstallPlace(row["team"], row["enterprise"]), row["name"], row["removed_at"], row["removed_why"]
        )
        for row in rows
    ]


async def places(conn: Conn, tenant: str) -> list[dict[str, Any]]:
    """Return team, enterprise, name, installed_at, removed_at, why of all places, those that are installed first."""
    here: list[dict[str, Any]] = [
        {"team": row["team"], "enterprise": row["enterprise"], "name": row["name"], "why": None, "removed_at": None}
        | {"installed_at": row["installed_at"]}
        for row in await installations.live_installations(conn, tenant)
    ]
    gone: list[dict[str, Any]] = [
        {"team": one.place.team, "enterprise": one.place.enterprise, "name": one.name, "why": one.why}
        | {"removed_at": one.removed_at, "installed_at": None}
        for one in await ended(conn, tenant)
    ]
    return [*here, *gone]


async def people_left(conn: Conn, tenant: str) -> list[str]:
    """Return the people of the directory all of whose accounts Slack says are deactivated."""
    return await directory.deactivated_people(conn, tenant)
