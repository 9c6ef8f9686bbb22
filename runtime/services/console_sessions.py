"""Sessions in the console: a link opens one, a secret in the browser proves it, and rights are read at each request.

Of secrets and links only SHA-256 digests are kept. What somebody may do follows from their groups in the directory as
it stands at the request, so a change there holds at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from secrets import token_urlsafe

from runtime.clock import Clock
from runtime.engine import new_id
from runtime.model.console import ConsoleRole
from runtime.services.people import UnknownPersonError, find_people
from runtime.store import console_sessions
from runtime.store.console_sessions import LinkUsedError, NewSession
from runtime.store.database.pool import Pool

__all__ = ["ConsoleRole", "LinkUsedError"]

LIFE = timedelta(hours=12)
"""How long a session lasts."""


@dataclass(frozen=True)
class ConsoleViewer:
    """Who looks at a page, and as what."""

    session_id: str
    person: str
    name: str
    roles: frozenset[ConsoleRole]


@dataclass(frozen=True)
class ConsolePerson:
    """Somebody who may be chosen at a link: id, name and groups."""

    person: str
    name: str
    groups: Sequence[str]


def digest_of(secret: str) -> str:
    """Return the digest under which a secret or a link is kept."""
    return sha256(secret.encode()).hexdigest()


@dataclass(frozen=True)
class ConsoleSessions:
    """The sessions of one tenant. `groups` are those whose people have a role; an auditor is a viewer, too."""

    pool: Pool
    clock: Clock
    tenant: str
    groups: Mapping[ConsoleRole, Sequence[str]]

    async def people(self) -> list[ConsolePerson]:
        """Return the directory's people who have a role, by name."""
        async with self.pool.connection() as conn:
            rows = await find_people(conn, self.tenant, None, None)
        able = [row for row in rows if self._roles(row["groups"])]
        found = [ConsolePerson(row["person"], row["name"], row["groups"]) for row in able]
        return sorted(found, key=lambda one: (one.name, one.person))

    async def is_used(self, link: str) -> bool:
        """Return whether a link has opened a session before."""
        async with self.pool.connection() as conn:
            return await console_sessions.is_link_used(conn, digest_of(link))

    async def open(self, link: str, person: str) -> str:
        """Open a session of a person by a link; return its secret. Raise LinkUsedError or UnknownPersonError."""
        secret, now = token_urlsafe(32), self.clock()
        new = NewSession(new_id("ses"), person, digest_of(secret), digest_of(link), now, now + LIFE)
        if person not in {one.person for one in await self.people()}:
            raise UnknownPersonError(f"{person} may not use the console")
        async with self.pool.connection() as conn, conn.transaction():
            await console_sessions.open_session(conn, self.tenant, new)
        return secret

    async def find(self, secret: str) -> ConsoleViewer | None:
        """Return whose session it is and what they may do now; None where it is none, or they may do nothing."""
        async with self.pool.connection() as conn:
            row = await console_sessions.find_session(conn, self.tenant, digest_of(secret), self.clock())
        roles = self._roles(row["groups"]) if row else frozenset()
        return ConsoleViewer(row["session_id"], row["actor_id"], row["name"], roles) if row and roles else None

    async def end(self, viewer: ConsoleViewer) -> None:
        """End a session."""
        async with self.pool.connection() as conn, conn.transaction():
            await console_sessions.end_session(conn, self.tenant, viewer.session_id, self.clock())

    def _roles(self, groups: Sequence[str]) -> frozenset[ConsoleRole]:
        found = {role for role, named in self.groups.items() if not set(named).isdisjoint(groups)}
        return frozenset(found | {ConsoleRole.VIEWER} if found else found)
