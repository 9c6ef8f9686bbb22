"""The app in several workspaces: installed by OAuth, each on the real wire with a door of its own for its people."""

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp

from bot.app import BotSettings, Places, build_bot
from bot.connector import slack_handlers
from bot.doctor import SCOPES
from bot.listeners.oauth import INSTALL, REDIRECT, InstallPages, OAuthSettings
from bot.listeners.user_groups import UserGroupWatch
from bot.workspaces import AppCredentials, Workspaces
from edge.app import build_edge
from policy.engine import PolicyEngine
from receipts.vault import Vault
from runtime.inbox import inbox
from runtime.model.commands import InstallLinkPayload
from runtime.services.cards import StoredCards
from runtime.services.installations import InstallationLifecycle, Installations
from runtime.services.requests import RequestService
from sandbox.core import Sandbox
from sandbox.harness import Faults, SandboxUser, served
from sandbox.server import SANDBOX, create_app, create_gateway
from sandbox.slack_errors import Limits
from sandbox.workspace import parse_workspace
from tests.bench import PEOPLE, TEAM, TENANT, Bench, open_bench
from tests.integration.acts_stage import operators
from tests.integration.conftest import PACK, Targets
from tests.integration.running import heard

SECRET = "sandbox-signing-secret"
CREDENTIALS = AppCredentials("11.22", "client-secret-of-the-sandbox")
BETA, CHANNEL = "T0BETA", "C0COMPLIANCE"
USERS = [f"U{name.upper()}" for name in PEOPLE]
DAY = timedelta(days=1)
OUR_KEY = b"k" * 32


def workspace(team: Mapping[str, Any], channel: tuple[str, str], **app: Any) -> dict[str, Any]:
    """Return a workspace with all people, one channel, and the app, which nobody has installed yet."""
    bot = {"id": f"U0BOT{str(team['id'])[2:]}", "name": "countersign", "real_name": "Countersign", "is_bot": True}
    return {
        "team": dict(team),
        "users": [*({"id": user, "name": user.lower(), "real_name": user[1:].title()} for user in USERS), bot],
        "channels": [{"id": channel[0], "name": channel[1], "members": [*USERS, bot["id"]]}],
        "app": {
            "id": "A0COUNTERSIGN",
            "bot_user_id": bot["id"],
            "bot_token": f"xoxb-never-installed-{team['id']}",
            "app_token": "xapp-app",
            "signing_secret": SECRET,
            "client_id": CREDENTIALS.client_id,
            "client_secret": CREDENTIALS.client_secret,
            "is_installed": False,
            **app,
        },
    }


ACME = workspace({"id": TEAM, "name": "Acme", "domain": "acme"}, ("C0APPROVALS", "approvals"))
SECOND = workspace({"id": BETA, "name": "Beta", "domain": "beta"}, (CHANNEL, "compliance"))


@dataclass
class Stage:
    """All of it. `public` is where browsers reach the app."""

    bench: Bench
    desk: Installations
    life: InstallationLifecycle
    workspaces: Workspaces
    sandboxes: Mapping[str, Sandbox]
    faults: Faults
    groups: UserGroupWatch
    public: str
    _doors: Mapping[str, str]
    _stack: AsyncExitStack

    async def person(self, name: str, team: str = TEAM) -> SandboxUser:
        return await self.account(f"U{name.upper()}", team)

    async def account(self, user: str, team: str) -> SandboxUser:
        return await self._stack.enter_async_context(SandboxUser(self._doors[team], user))

    async def link(self, by: str = "omar", lasts: timedelta = DAY) -> tuple[dict[str, Any], str]:
        """Ask for a link; return what became of that, and the link."""
        secret = secrets.token_urlsafe(32)
        digest = sha256(secret.encode()).hexdigest()
        wish = InstallLinkPayload(secret_sha256=digest, expires_at=self.bench.clock() + lasts, reason="a new team")
        recorded = await operators(self.bench).install_link(by, wish)
        return dict(await inbox.apply(self.bench.engine, recorded)), f"{self.public}{INSTALL}?link={secret}"

    async def browser(self) -> aiohttp.ClientSession:
        """Return a browser that follows nothing by itself; cookies go by hand, for they ask for HTTPS."""
        return await self._stack.enter_async_context(aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()))

    async def begin(self, link: str) -> tuple[int, str, str]:
        """Open a link; return the status, where it leads, and the cookie that comes with it."""
        browser = await self.browser()
        async with browser.get(link, allow_redirects=False) as answer:
            cookie = answer.headers.get("Set-Cookie", "").partition(";")[0]
            return answer.status, answer.headers.get("Location", ""), cookie

    async def say(self, authorize: str, team: str, answer: str = "allow", who: str = "UANN") -> str:
        """Say yes or no at Slack; return where that leads."""
        browser = await self.browser()
        async with browser.get(authorize) as page:
            assert page.status == 200, await page.text()
        asked = {name: values[0] for name, values in parse_qs(urlsplit(authorize).query).items()}
        said = {**asked, "who": f"{team} {who}", "answer": answer}
        async with browser.post(authorize.partition("?")[0], data=said, allow_redirects=False) as back:
            assert back.status == 302, await back.text()
            return back.headers["Location"]

    async def come_back(self, location: str, cookie: str) -> tuple[int, str]:
        """Follow the way back to the app; return status and page."""
        browser = await self.browser()
        async with browser.get(location, headers={"Cookie": cookie} if cookie else {}) as answer:
            return answer.status, await answer.text()

    async def install(self, team: str) -> None:
        """Install the app in a workspace, from the link on."""
        _, link = await self.link()
        _, authorize, cookie = await self.begin(link)
        status, page = await self.come_back(await self.say(authorize, team), cookie)
        assert (status, "is installed" in page) == (200, True), page

    async def acts(self, event: str) -> list[dict[str, Any]]:
        """Return what is on record in the tenant's chain of an event, the oldest first."""
        query = "SELECT leaf->'data' AS data FROM tenant_leaves WHERE leaf->>'event' = %s ORDER BY seq"
        return [row["data"] for row in await self.bench.rows(query, event)]

    async def file(self, ref: str = "1") -> str:
        """Start a filing, which wants two signatures of compliance; return its approval."""
        filing = {"company": "Halvorsen Seefracht", "text": "the owners"}
        run_id = (await self.bench.start("bench.file", filing, ref)).run_id
        await self.bench.settle()
        [row] = await self.bench.rows("SELECT approval_id FROM approvals WHERE run_id = %s", run_id)
        return str(row["approval_id"])

    def posted(self, team: str, channel: str) -> list[dict[str, Any]]:
        """Return the messages of a channel."""
        return self.sandboxes[team].store.data.messages.get(channel, [])


def desk_of(bench: Bench, *keys: bytes) -> Installations:
    """Return a counter with these keys."""
    return Installations(bench.engine, TENANT, Vault(keys or [OUR_KEY]))


@asynccontextmanager
async def installing(
    dsn: str, policy: PolicyEngine, targets: Targets, *workspaces: dict[str, Any]
) -> AsyncIterator[Stage]:
    """Run everything until the block ends, with these workspaces, or with two that know nothing of each other."""
    async with AsyncExitStack() as stack:
        listener = socket.create_server(("127.0.0.1", 0))
        stack.callback(listener.close)
        public = f"http://127.0.0.1:{listener.getsockname()[1]}"
        handlers: dict[str, Any] = targets.handlers()
        bench = await stack.enter_async_context(open_bench(dsn, policy, [PACK], handlers))
        doors, apps = {}, {}
        for said in workspaces or (ACME, SECOND):
            app = {**said["app"], "request_url": f"{public}/slack/events", "redirect_uris": [f"{public}{REDIRECT}"]}
            limits = Limits(burst=10_000, channel_burst=10_000)
            parsed = parse_workspace({**said, "app": app}, "the stage")
            apps[parsed.team.id] = create_app(parsed, clock=bench.clock, sleep=asyncio.sleep, limits=limits)
            doors[parsed.team.id] = await stack.enter_async_context(served(apps[parsed.team.id]))
        faults, gateway = Faults(), create_gateway(list(apps.values()))
        faults.attach(gateway)
        slack = await stack.enter_async_context(served(gateway))
        desk, life, cards = desk_of(bench), InstallationLifecycle(bench.engine, TENANT), StoredCards(bench.engine)
        known = Workspaces(desk, CREDENTIALS, bench.clock, f"{slack}/api/")
        oauth = OAuthSettings(CREDENTIALS, public, f"{slack}/oauth/v2/authorize", sorted(SCOPES), f"{slack}/api/")
        places = Places(life, known, InstallPages(oauth, desk, known, bench.clock))
        settings = BotSettings(None, (SECRET,), None, f"{slack}/api/")
        front = RequestService(bench.engine, TENANT, bench.catalog)
        bot = build_bot(settings, bench.desk, front, cards, bench.clock, places)
        handlers.update(slack_handlers(bot.client, bench.desk, cards, bench.clock, mocked=False))
        bench.engine.handlers.update(handlers)  # type: ignore[attr-defined]  # the mapping is a dict of ours
        edge = build_edge(_ready, api=None, slack=bot.asgi, install=bot.pages)
        await stack.enter_async_context(heard(edge, listener))
        sandboxes = {team: app[SANDBOX] for team, app in apps.items()}
        yield Stage(bench, desk, life, known, sandboxes, faults, bot.groups, public, doors, stack)


async def _ready() -> list[str]:
    return []
