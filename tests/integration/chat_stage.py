"""The chat of tests: a runtime with its bot in a sandbox workspace, the menu of a card, and groups.

The whole way from a run to Slack and back: a runtime on the bench, its chat in a sandbox workspace, and the bot.

The menu of a request as a person uses it in the sandbox.

A chat whose policy wants one signature of each of several groups, or whatever else a test writes there.
"""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from slack_sdk.web.async_client import AsyncWebClient

from bot.app import RATE, Bot, BotSettings, Places, build_bot
from bot.client import slack_client
from bot.connector import slack_handlers
from policy.client import OpaEngine
from policy.engine import PolicyEngine
from runtime.engine import Routing
from runtime.handlers import Handler
from runtime.model.limits import Rate
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
from tests.integration.conftest import PACK, Targets
from tests.integration.running import connected, heard, watched
from tests.opa_server import copy_policies, kept_opa
from tests.patience import MINUTE, until

SECRET = "sandbox-signing-secret"
BOT_TOKEN, APP_TOKEN = "xoxb-bot", "xapp-app"
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


APP: dict[str, Any] = {
    "id": "A0COUNTERSIGN",
    "bot_user_id": "U0BOT",
    "bot_token": BOT_TOKEN,
    "app_token": APP_TOKEN,
    "signing_secret": SECRET,
    "unfurl_domains": ["countersign.example"],
}


UNLIMITED = Limits(burst=10_000, channel_burst=10_000)


class Handlers(Protocol):
    """The other sides of a pack's verbs."""

    def handlers(self) -> dict[str, Handler]:
        """Return them by operation."""
        ...


@dataclass
class Chat:
    """A bench whose chat is real as far as the wire, the faults of that wire, and people at their screens."""

    bench: Bench
    faults: Faults
    raw: AsyncWebClient
    bot: Bot
    sandbox: Sandbox
    heard_at: str
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

    async def file(self, ref: str = "1", asked_by: str = "bench.file", /, **payload: Any) -> str:
        """Start a filing, which wants two signatures of compliance, or something else; return its approval."""
        run_id = (await self.bench.start(asked_by, payload or FILING, ref)).run_id
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


@dataclass(frozen=True)
class Slack:
    """What is other than usual with Slack: the `workspace` (what is said of it replaces what there is), and the rest.

    Over Socket Mode the bot is connected when the stage begins, unless `is_heard` is False. `sleep` waits for the
    workspace, `rate` is what one person may do, and `faults` are there from the beginning.
    """

    transport: str = "http"
    workspace: Mapping[str, Any] = field(default_factory=dict)
    limits: Limits = UNLIMITED
    faults: Faults = field(default_factory=Faults)
    rate: Rate = RATE
    is_heard: bool = True
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


@asynccontextmanager
async def chatting(
    dsn: str,
    policy: PolicyEngine,
    targets: Handlers,
    *packs: Path,
    routing: Routing = ROUTING,
    slack: Slack | None = None,
    **connection: Any,
) -> AsyncIterator[Chat]:
    """Run everything until the block ends, with these packs or the bench's own."""
    slack = slack or Slack()
    async with AsyncExitStack() as stack:
        listener = socket.create_server(("127.0.0.1", 0))
        stack.callback(listener.close)
        heard_at = f"http://127.0.0.1:{listener.getsockname()[1]}/slack/events"
        handlers: dict[str, Any] = targets.handlers()
        bench = await stack.enter_async_context(
            open_bench(dsn, policy, list(packs) or [PACK], handlers, routing=routing, **connection)
        )
        app = create_app(workspace_of(slack, heard_at), clock=bench.clock, sleep=slack.sleep, limits=slack.limits)
        slack.faults.attach(app)
        url = await stack.enter_async_context(served(app))
        client, cards = slack_client(BOT_TOKEN, f"{url}/api/"), StoredCards(bench.engine)
        handlers.update(slack_handlers(client, bench.desk, cards, bench.clock, mocked=False))
        bench.engine.handlers.update(handlers)  # type: ignore[attr-defined]  # the mapping is a dict of ours
        bot = _bot(bench, cards, slack, f"{url}/api/")
        is_by_http = slack.transport == "http"
        running = heard(bot.asgi, listener) if is_by_http else connected(bot, is_awaited=slack.is_heard)
        await stack.enter_async_context(running)
        await stack.enter_async_context(watched(bot))
        assert bench.engine.tenant == TENANT
        yield Chat(bench, slack.faults, client, bot, app[SANDBOX], heard_at, url, stack)


def workspace_of(slack: Slack, heard_at: str = "") -> Workspace:
    """Return the workspace of a stage, whose app is heard there."""
    by_http = {"request_url": heard_at} if heard_at and slack.transport == "http" else {}
    told = {**WORKSPACE, **slack.workspace}
    return parse_workspace({**told, "app": {**APP, **by_http, **told.get("app", {})}}, "the stage")


def _bot(bench: Bench, cards: StoredCards, slack: Slack, url: str) -> Bot:
    front = RequestService(bench.engine, TENANT, bench.catalog)
    app_token = None if slack.transport == "http" else APP_TOKEN
    settings = BotSettings(BOT_TOKEN, (SECRET,), app_token, url, rate=slack.rate)
    places = Places(InstallationLifecycle(bench.engine, TENANT))
    return build_bot(settings, bench.desk, front, cards, bench.clock, places)


def entry(card: dict[str, Any], label: str) -> tuple[str, str]:
    """Return the menu's action and the value of the entry with these words."""
    return next(
        (element["action_id"], option["value"])
        for block in card["blocks"]
        if block["type"] == "actions"
        for element in block["elements"]
        if element["type"] == "overflow"
        for option in element["options"]
        if option["text"]["text"].startswith(label)
    )


async def choose(person: SandboxUser, card: dict[str, Any], label: str) -> None:
    """Choose an entry of the menu on a card."""
    action, value = entry(card, label)
    await person.click(card, action, chosen=value)


async def newest(chat: Chat, person: SandboxUser) -> dict[str, Any]:
    """Return the newest card of compliance as it is now, once all is done that can be."""
    await chat.bench.settle()
    (card, *_) = await chat.cards()
    assert person.user_id
    return {**card, "channel": CHANNEL}


async def opened(chat: Chat, name: str, label: str) -> SandboxUser:
    """Let a person choose an entry of the newest card; return them before its modal."""
    person = await chat.person(name)
    await choose(person, await newest(chat, person), label)
    await person.find_modal(timeout=MINUTE)
    return person


async def recorded(chat: Chat, event: str, count: int = 1) -> None:
    """Wait until so many leaves of an event are on record, and do all that follows."""

    async def is_so() -> bool:
        rows = await chat.bench.rows("SELECT count(*) AS n FROM audit_leaves WHERE leaf ->> 'event' = %s", event)
        return bool(rows[0]["n"] == count)

    await until(is_so)
    await chat.bench.settle()


EACH: dict[str, Any] = {"groups": ["compliance", "operators"], "all_groups": True}


@asynccontextmanager
async def policy_with(folder: Path, **high: Any) -> AsyncIterator[OpaEngine]:
    """Serve a policy whose requirement of high-tier writes has these members, too."""
    policies = copy_policies(folder / "rego")
    file = policies / "countersign_config/acme/data.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    config["requirements"]["high"].update(high)
    file.write_text(json.dumps(config), encoding="utf-8")
    async with OpaEngine((await kept_opa(policies)).url, timeout=MINUTE) as policy:
        yield policy


@asynccontextmanager
async def asking_each(dsn: str, targets: Targets, folder: Path, routing: Routing = ROUTING) -> AsyncIterator[Chat]:
    """Open a chat in which a filing wants a signature of compliance and one of operators."""
    async with policy_with(folder, **EACH) as policy, chatting(dsn, policy, targets, routing=routing) as running:
        yield running
