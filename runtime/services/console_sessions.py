"""Sessions in the console: a link or an account opens one, a secret in the browser proves it.

Of secrets and links only SHA-256 digests are kept. What somebody may do, and whose an account is, follows from the
directory as it stands at each request, so a change there holds at once. Who is refused is on the tenant's record.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any, Literal

from psycopg.errors import UniqueViolation

from receipts.acts import FormRefused, SignInRefused
from receipts.chain import Actor
from receipts.console_acts import AccountLinked, SessionsEnded
from receipts.privacy import Privacy
from runtime.clock import Clock
from runtime.engine import new_id
from runtime.model.console import LINK, ConsoleRole, ProviderAccount, SignInRefusal, domain_of, whose
from runtime.model.limits import error_text
from runtime.services.people import UnknownPersonError, find_people, person_of
from runtime.store import console_sessions
from runtime.store.console_sessions import LinkUsedError, NewSession
from runtime.store.database.pool import Conn, Pool
from runtime.store.tenants import put_act

__all__ = ["ConsoleRole", "LinkUsedError", "ProviderAccount", "SignInRefusal"]

LIFE = timedelta(hours=12)
"""How long a session lasts."""


class SignInRefusedError(Exception):
    """An account is not let in; `code` says why."""

    def __init__(self, code: SignInRefusal) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class ConsoleViewer:
    """Who looks at a page, as what, and by which account they signed in: `issuer` and `subject`."""

    session_id: str
    person: str
    name: str
    roles: frozenset[ConsoleRole]
    issuer: str
    subject: str

    @property
    def is_officer(self) -> bool:
        """Return whether they may answer requests here."""
        return ConsoleRole.OFFICER in self.roles


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
    """The sessions of one tenant. `groups` are those whose people have a role; who has another is a viewer, too.

    `domains` are those of mail addresses for which the identity provider (`issuer`) is trusted, in small letters;
    `has_link` says that links open sessions. A session counts as long as what opened it still would.
    """

    pool: Pool
    clock: Clock
    tenant: str
    groups: Mapping[ConsoleRole, Sequence[str]]
    domains: Collection[str] = ()
    issuer: str | None = None
    has_link: bool = False

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
        if person not in {one.person for one in await self.people()}:
            raise UnknownPersonError(f"{person} may not use the console")
        async with self.pool.connection() as conn, conn.transaction():
            return await self._open(conn, person, link=digest_of(link))

    async def sign_in(self, account: ProviderAccount) -> str:
        """Open a session of the person whose account it is; return its secret. Raise SignInRefusedError, on record."""
        try:
            async with self.pool.connection() as conn, conn.transaction():
                person, address = await self._person(conn, account)
                if address is not None:
                    await self._link(conn, account, person)
                return await self._open(conn, person, account=account, address=address)
        except UniqueViolation:  # another account became theirs meanwhile
            refusal = SignInRefusal.CHANGED
        except SignInRefusedError as error:
            refusal = error.code
        act = SignInRefused(issuer=account.issuer, subject=account.subject, code=refusal)
        actor = Actor(id=f"{account.issuer} {account.subject}", kind="person")
        async with self.pool.connection() as conn, conn.transaction():
            await put_act(conn, self.tenant, act, actor, self.clock())
        raise SignInRefusedError(refusal)

    async def find(self, secret: str) -> ConsoleViewer | None:
        """Return whose session it is and what they may do now; None where it is none, or they may do nothing."""
        async with self.pool.connection() as conn:
            row = await console_sessions.find_session(conn, self.tenant, digest_of(secret), self.clock())
        roles = self._roles(row["groups"]) if row else frozenset()
        if row is None or not roles or not self._still_opens(row):
            return None
        account = row["issuer"] or LINK, row["subject"] or row["actor_id"]
        return ConsoleViewer(row["session_id"], row["actor_id"], row["name"], roles, *account)

    def _still_opens(self, session: Mapping[str, Any]) -> bool:
        """Return whether the settings let somebody in as a session was opened."""
        if session["issuer"] is None:
            return self.has_link
        address = session["address"]
        return session["issuer"] == self.issuer and (address is None or domain_of(address) in self.domains)

    async def note_refused(self, viewer: ConsoleViewer, route: str, rule: Literal["role", "origin"]) -> None:
        """Put on record that a form or page was refused to somebody."""
        act = FormRefused(route=route, person=viewer.person, rule=rule, session=viewer.session_id)
        async with self.pool.connection() as conn, conn.transaction():
            await put_act(conn, self.tenant, act, Actor(id=viewer.person, kind="person"), self.clock())

    async def end(self, viewer: ConsoleViewer) -> None:
        """End a session."""
        async with self.pool.connection() as conn, conn.transaction():
            await console_sessions.end_session(conn, self.tenant, viewer.session_id, self.clock())

    async def _person(self, conn: Conn, account: ProviderAccount) -> tuple[str, str | None]:
        """Return whose account it is and the address that tells it; raise SignInRefusedError."""
        found = whose(account, await console_sessions.known_of(conn, self.tenant, account), self.domains)
        if isinstance(found, SignInRefusal):
            raise SignInRefusedError(found)
        (row,) = await find_people(conn, self.tenant, None, found[0])
        if not self._roles(row["groups"]):
            raise SignInRefusedError(SignInRefusal.NO_ROLE)
        return found

    async def _link(self, conn: Conn, account: ProviderAccount, person: str) -> None:
        now = self.clock()
        if await console_sessions.link_account(conn, self.tenant, account, person, now):
            act = AccountLinked(issuer=account.issuer, subject=account.subject, person=person, address=account.address)
            await put_act(conn, self.tenant, act, Actor(id=person, kind="person"), now)

    async def _open(
        self, conn: Conn, person: str, *, link: str | None = None, account: ProviderAccount | None = None,
        address: str | None = None,
    ) -> str:  # fmt: skip
        secret, now = token_urlsafe(32), self.clock()
        new = NewSession(new_id("ses"), person, digest_of(secret), now, now + LIFE, link, account, address)
        await console_sessions.open_session(conn, self.tenant, new)
        return secret

    def _roles(self, groups: Sequence[str]) -> frozenset[ConsoleRole]:
        found = {role for role, named in self.groups.items() if not set(named).isdisjoint(groups)}
        return frozenset(found | {ConsoleRole.VIEWER} if found else found)


async def end_sessions(
    conn: Conn, tenant: str, person: str, by: str, reason: str, privacy: Privacy, now: datetime
) -> int:
    """End all sessions of a person, on record; return how many went on. Raise UnknownPersonError.

    Somebody who has left the directory has no session that counts; there is nothing to end.
    """
    async with conn.transaction():
        actor = await person_of(conn, tenant, by)
        await person_of(conn, tenant, person)
        ended = await console_sessions.end_sessions_of(conn, tenant, person, now)
        await put_act(
            conn,
            tenant,
            SessionsEnded(person=person, sessions=ended, reason=privacy.text(error_text(reason))),
            actor,
            now,
        )
        return ended
