"""The whole way from a run to Slack and back: a runtime on the bench, its chat in a sandbox workspace, and the bot."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.app import Bot, BotSettings, Places, build_bot
from bot.slack.client import slack_client
from bot.slack.connector import slack_handlers
from policy.contract import PolicyEngine
from runtime.engine import Routing
from runtime.model.states import ApprovalStatus
from runtime.services.cards import StoredCards
from runtime.services.installations import InstallationLifecycle
from runtime.services.requests import RequestService
from sandbox.core import Sandbox
from sandbox.delivery import HttpCourier
from sandbox.harness import Faults, SandboxUser, served
from sandbox.people import People
from sandbox.server import SANDBOX, create_app
from sandbox.slack_errors import Limits
from sandbox.workspace import Workspace, parse_workspace
from tests.bench import PEOPLE, ROUTING, TEAM, TENANT, Bench, open_bench
from tests.integration.bot_stage import heard, watched
from tests.integration.conftest import PACK, Targets
from tests.integration.incident_stage import ServiceNow
from tests.integration.undo_stage import Shelves

SECRET = "sandbox-signing-secret"
CHANNEL = "C0COMPLIANCE"
FILING = {"company": "Halvorsen Seefracht", "text": "the owners"}
USERS = [f"U{name.upper()}" for name in PEOPLE]
WORKSPACE: dict[str, Any] = {
    "team": {"id": TEAM, "name": "Acme", "domain": "acme"},
    "users": [
        *(
            {
                "id": user,
                "name": user.lower(),
                "real_name": user[1:].title(),
                "email": f"{user[1:].lower()}@acme.example",
            }
            for user in USERS
        ),
        {"id": "U0BOT", "name": "countersign", "real_name": "Countersign", "is_bot": True},
    ],
    "channels": [
        {"id": channel, "name": name, "members": [*USERS, "U0BOT"]}
        for channel, name in (("C0APPROVALS", "approvals"), (CHANNEL, "compliance"))
    ],
    "usergroups": [{"id": "S0DESK", "handle": "desk", "name": "The desk", "users": ["UANN"]}],
}


@dataclass
class Chat:
    """A bench whose chat is real as far as the wire, the faults of that wire, and people at their screens."""

    bench: Bench
    faults: Faults
    raw: AsyncWebClient
    bot: Bot
    sandbox: Sandbox
    _url: str
    _stack: AsyncExitStack

    async def person(self, name: str) -> SandboxUser:
        return await self._stack.enter_async_context(SandboxUser(self._url, f"U{name.upper()}"))

    async def cards(self, channel: str = CHANNEL) -> list[dict[str, Any]]:
        """Return the cards in a channel, newest first."""
        found = (await self.raw.conversations_history(channel=channel, limit=200))["messages"]
        return [m for m in found if any(block["type"] == "actions" for block in m.get("blocks", []))]

    @property
    def workspace(self) -> Workspace:
        """Return the workspace as it was in the beginning."""
        return self.sandbox.workspace

    async def happen(self, event: dict[str, Any]) -> None:
        """Bring an event to the bot, as Slack would."""
        courier = HttpCourier(self.sandbox, str(self.workspace.app.request_url))
        assert await People(self.sandbox, courier).hear(event)

    async def forgotten(self, person: SandboxUser) -> None:
        """Have Slack say that somebody has changed: what it said of them before does not count any more."""
        await self.happen({"type": "user_change", "user": {"id": person.user_id, "team_id": TEAM, "deleted": False}})

    async def file(self, ref: str = "1") -> str:
        """Start a filing, which wants two signatures of compliance; return its approval."""
        run_id = (await self.bench.start("bench.file", FILING, ref)).run_id
        await self.bench.settle()
        [row] = await self.bench.rows("SELECT approval_id FROM approvals WHERE run_id = %s", run_id)
        return str(row["approval_id"])

    async def decided(self, approval_id: str) -> ApprovalStatus:
        """Do all that can be done, and return where the approval stands."""
        await self.bench.settle()
        view = await self.bench.desk.approval(approval_id)
        assert view
        return view.status

    async def home(self, person: SandboxUser) -> dict[str, Any]:
        """Return the Home of a person as it is now."""
        published = self.faults.calls["views.publish"]
        await person.open_home()
        await self.faults.called("views.publish", published + 1)
        home: dict[str, Any] = await person.wait_for(lambda state: state["home"])
        return home


@asynccontextmanager
async def chatting(
    dsn: str,
    policy: PolicyEngine,
    targets: Targets | Shelves | ServiceNow,
    *packs: Path,
    routing: Routing = ROUTING,
    **connection: Any,
) -> AsyncIterator[Chat]:
    """Run everything until the block ends, with these packs or the bench's own."""
    faults = Faults()
    async with AsyncExitStack() as stack:
        listener = socket.create_server(("127.0.0.1", 0))
        stack.callback(listener.close)
        app = {
            "id": "A0COUNTERSIGN",
            "bot_user_id": "U0BOT",
            "bot_token": "xoxb-bot",
            "app_token": "xapp-app",
            "signing_secret": SECRET,
            "unfurl_domains": ["countersign.example"],
            "request_url": f"http://127.0.0.1:{listener.getsockname()[1]}/slack/events",
        }
        handlers: dict[str, Any] = targets.handlers()
        bench = await stack.enter_async_context(
            open_bench(dsn, policy, list(packs) or [PACK], handlers, routing=routing, **connection)
        )
        limits = Limits(burst=10_000, channel_burst=10_000)
        workspace = parse_workspace({**WORKSPACE, "app": app}, "the stage")
        sandbox = create_app(workspace, clock=bench.clock, sleep=asyncio.sleep, limits=limits)
        faults.attach(sandbox)
        url = await stack.enter_async_context(served(sandbox))
        client, cards = slack_client("xoxb-bot", f"{url}/api/"), StoredCards(bench.engine)
        handlers.update(slack_handlers(client, bench.desk, cards, bench.clock, mocked=False))
        bench.engine.handlers.update(handlers)  # type: ignore[attr-defined]  # the mapping is a dict of ours
        front = RequestService(bench.engine, TENANT, bench.catalog)
        slack = BotSettings("xoxb-bot", (SECRET,), None, f"{url}/api/")
        bot = build_bot(
            slack, bench.desk, front, cards, bench.clock, Places(InstallationLifecycle(bench.engine, TENANT))
        )
        await stack.enter_async_context(heard(bot.asgi, listener))
        await stack.enter_async_context(watched(bot))
        assert bench.engine.tenant == TENANT
        yield Chat(bench, faults, client, bot, sandbox[SANDBOX], url, stack)
