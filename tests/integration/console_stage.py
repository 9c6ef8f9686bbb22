"""A console over a bench: served on a port of loopback, and browsers that sign in to it."""

import asyncio
import socket
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
from fastapi import FastAPI

from console.app import Desks, build_console
from console.pages import ROOT
from console.provider import Provider
from console.sign_in import CALLBACK, SignIn
from edge.server import Limits, Server
from evidence.local import LocalArchive
from runtime.model.console import ConsoleRole
from runtime.services.console_acts import ConsoleActs
from runtime.services.console_pages import ConsolePages
from runtime.services.console_requests import ConsoleRequests
from runtime.services.console_sessions import ConsoleSessions
from runtime.services.legal_holds import LegalHolds
from tests.bench import TENANT, Bench
from tests.patience import MINUTE

ISSUER = "https://id.example"
"""Whose accounts sign in where a test serves no provider."""
GROUPS = {
    ConsoleRole.VIEWER: ["compliance"],
    ConsoleRole.AUDITOR: ["operators"],
    ConsoleRole.OFFICER: ["compliance", "payments-owners"],
    ConsoleRole.OPERATOR: ["operators", "console-operators"],
}


_Fields = Mapping[str, str] | Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Shown:
    """A page as a browser got it."""

    status: int
    text: str
    data: bytes
    headers: Mapping[str, str]


@dataclass
class Visitor:
    """A browser with its cookies; `origin` is what it says of where its forms stand."""

    url: str
    origin: str | None
    http: aiohttp.ClientSession = field(repr=False)

    async def get(self, path: str) -> Shown:
        """Open a page."""
        return await self._send("GET", path)

    async def post(self, path: str, **fields: str) -> Shown:
        """Send a form."""
        return await self._send("POST", path, fields)

    async def post_all(self, path: str, fields: Sequence[tuple[str, str]]) -> Shown:
        """Send a form in which a field may stand more than once."""
        return await self._send("POST", path, fields)

    async def enter(self, link: str, person: str) -> Shown:
        """Choose a person at a link."""
        return await self.post(f"/enter/{link}", person=person)

    @property
    def cookies(self) -> list[dict[str, str]]:
        """Return the cookies as a real browser takes them."""
        return [{"name": one.key, "value": one.value, "url": self.url} for one in self.http.cookie_jar]

    async def _send(self, method: str, path: str, fields: _Fields | None = None) -> Shown:
        said = {"Origin": self.origin} if self.origin and method == "POST" else {}
        where = f"{self.url}{ROOT}{path}"
        async with self.http.request(method, where, data=fields, headers=said, allow_redirects=False) as answer:
            data = await answer.read()
            return Shown(answer.status, data.decode(errors="replace"), data, dict(answer.headers))


@dataclass
class ConsoleStage:
    """A bench, the folder of its archive, and its console."""

    bench: Bench
    folder: Path
    url: str
    stack: AsyncExitStack

    domains: Collection[str] = ()
    issuer: str | None = None

    @property
    def sessions(self) -> ConsoleSessions:
        """Return the console's sessions."""
        return self.sessions_of(self.bench, self.domains, self.issuer or ISSUER)

    @staticmethod
    def sessions_of(bench: Bench, domains: Collection[str], issuer: str | None) -> ConsoleSessions:
        """Return the sessions of a bench's console, which trusts its provider for addresses of these domains."""
        return ConsoleSessions(
            bench.engine.pool, bench.clock, TENANT, GROUPS, domains=domains, issuer=issuer, has_link=True
        )

    async def visitor(self, origin: str | None = "") -> Visitor:
        """Return a browser without cookies, whose forms stand on the console's pages if nothing else is said."""
        jar = aiohttp.CookieJar(unsafe=True)
        http = await self.stack.enter_async_context(aiohttp.ClientSession(cookie_jar=jar))
        return Visitor(self.url, self.url if origin == "" else origin, http)

    async def refused(self) -> list[dict[str, Any]]:
        """Return what is on record of forms and pages that were refused."""
        rows = await self.bench.rows(
            "SELECT leaf -> 'data' AS data FROM tenant_leaves WHERE leaf ->> 'event' = 'form.refused' ORDER BY seq"
        )
        return [row["data"] for row in rows]

    async def signed_in(self, person: str) -> Visitor:
        """Return a browser in which a person has a session."""
        visitor = await self.visitor()
        secret = await self.sessions.open(f"a link for {person} {uuid4()}", person)
        visitor.http.cookie_jar.update_cookies({"countersign_console": secret})
        return visitor


@asynccontextmanager
async def open_console(
    bench: Bench, folder: Path, link: str = "the-link", issuer: str | None = None, domains: Collection[str] = ()
) -> AsyncIterator[ConsoleStage]:
    """Serve the console of a bench, whose bundles are in a folder; people sign in at the issuer, where there is one."""
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    async with AsyncExitStack() as stack:
        stage = ConsoleStage(bench, folder, url, stack, domains, issuer)
        app = FastAPI()
        provider = Provider(issuer, "console", "a-secret-of-the-console", f"{url}{ROOT}{CALLBACK}") if issuer else None
        door = SignIn(stage.sessions, url, link=link, provider=provider)
        engine = bench.engine
        holds = LegalHolds(engine.pool, engine.clock, TENANT, engine.privacy)
        rooms = (ConsolePages(engine, TENANT), ConsoleRequests(engine, TENANT), ConsoleActs(engine, TENANT), holds)
        app.mount(ROOT, build_console(door, Desks(*rooms, lambda: LocalArchive(folder))))
        server: Any = Server(app, Limits(connections=100, seconds=MINUTE), headers=[])
        task = asyncio.create_task(server.serve([listener]))
        try:
            yield stage
        finally:
            await stack.aclose()
            server.should_exit = True
            await task
            listener.close()
