"""The bot on a stage: a stand-in Slack over real HTTP and WebSocket, and a desk that keeps its rules in memory."""

import asyncio
import socket
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import uvicorn
from slack_sdk.web.async_client import AsyncWebClient

from bot.app import RATE, Bot, BotSettings, Places, build_bot
from bot.slack.client import slack_client
from bot.slack.connector import slack_handlers
from runtime.handlers import Call, Handler, JsonObject
from runtime.model.approval import Result, ResultCode
from runtime.model.limits import Rate
from runtime.model.person import Person
from runtime.model.states import ApprovalStatus
from runtime.model.votes import ClaimAct, Refusal, RefusalCode, VoteVerdict
from runtime.services.approval_view import ApprovalView, FieldView, VoteView
from runtime.services.approvals import Standing
from runtime.services.clicks import Click, ClickOutcome
from runtime.services.compensation import UndoOutcome, UndoView, UndoWish
from runtime.services.delivery_preferences import NoticeDesk
from runtime.services.editing import EditingDesk
from runtime.services.links import LinkDesk
from runtime.services.refused_clicks import StrangerDesk
from runtime.services.request_actions import AnswersDesk
from runtime.services.slack_people import GroupDesk
from runtime.services.step_repair import HeldDesk
from sandbox.harness import Faults, HandClock, SandboxUser, served
from sandbox.server import create_app
from sandbox.slack_errors import Limits
from sandbox.workspace import parse_workspace
from tests.handled import result_of
from tests.integration.bot_accounts import Links, MemoryAccounts, is_unconfirmed
from tests.integration.bot_home import MemoryHomes
from tests.integration.bot_no_front import NoFront
from tests.integration.bot_no_life import NoLife
from tests.integration.bot_nothing_asked import CardsUntouched, NothingAsked
from tests.integration.bot_nothing_edited import NothingEdited
from tests.integration.bot_nothing_held import NothingHeld
from tests.integration.bot_nothing_told import NothingCounted
from tests.integration.bot_strangers import DatabaseDownError, LooksAlone, NoLinks, NoStrangers, NoUserGroups
from tests.patience import MINUTE
from tests.unit.bot_samples import KYC

CHANNEL = "C0APPROVALS"
SECRET = "sandbox-signing-secret"
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
WORKSPACE: dict[str, Any] = {
    "team": {"id": "T0HOST", "name": "Meridian Bank", "domain": "meridian"},
    "users": [
        {"id": "U0ANNA", "name": "anna", "real_name": "Anna Berg"},
        {"id": "U0ANNA2", "name": "anna2", "real_name": "Anna Berg (phone)"},
        {"id": "U0BORIS", "name": "boris", "real_name": "Boris Lind"},
        {"id": "U0CARLA", "name": "carla", "real_name": "Carla Mota"},
        {"id": "U0TWIN", "name": "twin", "real_name": "Two People"},
        {"id": "U0NEW", "name": "new", "real_name": "Nobody Knows"},
        {"id": "U0GUEST", "name": "gil", "real_name": "Gil Ortega", "is_restricted": True},
        {"id": "U0GONE", "name": "dora", "real_name": "Dora Falk", "deleted": True},
        {"id": "U0EXT", "name": "eve", "real_name": "Eve Stone", "team_id": "T0OTHER"},
        {"id": "U0ROBOT", "name": "robot", "real_name": "Robot", "is_bot": True},
        {"id": "U0BOT", "name": "countersign", "real_name": "Countersign", "is_bot": True},
    ],
    "app": {
        "id": "A0COUNTERSIGN",
        "bot_user_id": "U0BOT",
        "bot_token": "xoxb-sandbox-bot-token",
        "app_token": "xapp-sandbox-app-token",
        "signing_secret": SECRET,
        "unfurl_domains": ["countersign.example"],
    },
}
WORKSPACE["channels"] = [{"id": CHANNEL, "name": "approvals", "members": [user["id"] for user in WORKSPACE["users"]]}]
PEOPLE = {
    "U0ANNA": [Person("p-anna", "Anna Berg", ("compliance",))],
    "U0ANNA2": [Person("p-anna", "Anna Berg", ("compliance",))],
    "U0BORIS": [Person("p-boris", "Boris Lind", ("compliance",))],
    "U0CARLA": [Person("p-carla", "Carla Mota", ("compliance",))],
    "U0SISTER": [Person("p-sina", "Sina Lund", ("compliance",))],
    "U0RIVAL": [Person("p-rolf", "Rolf Rival", ("compliance",))],
    "U0ODD": [Person("p-olga", "Olga Dahl", ("compliance",))],
    "U0TWIN": [Person("p-1", "One", ("compliance",)), Person("p-2", "Two", ("compliance",))],
    "U0EXT": [Person("p-eve", "Eve Stone", ("compliance",))],
    "U0GUEST": [Person("p-gil", "Gil Ortega", ("compliance",))],
    "U0GONE": [Person("p-dora", "Dora Falk", ("compliance",))],
    "U0ROBOT": [Person("p-robot", "Robot", ("compliance",))],
}


def ask(approval_id: str = "apr-1", **changes: Any) -> ApprovalView:
    """Return a request of Carla's that wants two people of compliance."""
    view = replace(
        KYC,
        approval_id=approval_id,
        fields=(FieldView("share", 25, 51),),
        requested_at=START,
        expires_at=START + timedelta(hours=8),
        links=(),
    )
    return replace(view, **changes)


async def until(holds: Callable[[], bool]) -> None:
    """Look until something holds."""
    async with asyncio.timeout(MINUTE):
        await asyncio.sleep(0)
        while not holds():
            await asyncio.sleep(0.02)


@dataclass
class MemoryDesk(CardsUntouched):
    """A desk and a ledger with the runtime's rules: one row per dedupe key, applied once, distinct people."""

    requester: str = "p-carla"
    approvals: dict[str, ApprovalView] = field(default_factory=dict)
    inbox: dict[str, Click] = field(default_factory=dict)
    outcomes: dict[str, ClickOutcome] = field(default_factory=dict)
    voters: dict[str, set[str]] = field(default_factory=dict)
    cards: dict[str, list[tuple[str, str, Mapping[str, Any]]]] = field(default_factory=dict)
    applications: int = 0
    missing: list[tuple[str, str, str]] = field(default_factory=list)
    answers: AnswersDesk = field(default_factory=NothingAsked)
    editing: EditingDesk = field(default_factory=NothingEdited)
    held: HeldDesk = field(default_factory=NothingHeld)
    notices: NoticeDesk = field(default_factory=NothingCounted)
    figures: LooksAlone = field(default_factory=LooksAlone)
    strangers: StrangerDesk = field(default_factory=NoStrangers)
    links: LinkDesk = field(default_factory=NoLinks)
    groups: GroupDesk = field(default_factory=NoUserGroups)
    signing: Links = field(default_factory=Links)
    down: set[str] = field(default_factory=set)
    recording: Callable[[], Awaitable[object]] | None = None  # what has to be waited for before
    reached: Counter[str] = field(default_factory=Counter)
    applied: asyncio.Condition = field(default_factory=asyncio.Condition)

    def _reach(self, what: str, detail: object = "") -> None:
        if what in self.down:
            raise DatabaseDownError(f"cannot {what} {detail}")

    @property
    def accounts(self) -> MemoryAccounts:
        return MemoryAccounts(self.inbox, self.outcomes, self._reach)

    async def people(self, user: str) -> dict[str, list[Person]]:
        self._reach("people", user)
        return dict.fromkeys(("T0HOST", "T0SISTER"), PEOPLE[user]) if user in PEOPLE else {}

    async def approval(self, approval_id: str) -> ApprovalView | None:
        self._reach("approval", approval_id)
        return self.approvals.get(approval_id)

    async def votes_for(self, approval_id: str, person_id: str) -> str:
        assert approval_id, person_id
        return ""

    async def may_decide(self, approval_id: str, person_id: str) -> Refusal | None:
        if person_id == self.requester:
            return Refusal(RefusalCode.REQUESTER)
        if person_id in self.voters.get(approval_id, set()):
            return Refusal(RefusalCode.REPEATED)
        return None

    async def standing(self, approval_id: str, person_id: str) -> Standing | None:
        view = await self.approval(approval_id)
        return Standing(view, await self.may_decide(approval_id, person_id)) if view else None

    async def may_break_glass(self, approval_id: str, person_id: str) -> Refusal | int:
        assert approval_id, person_id
        return 1

    async def record(self, click: Click) -> str:
        self.reached["record"] += 1
        if self.recording:
            await self.recording()
        self._reach("record", click)
        self.inbox.setdefault(click.dedupe_key, click)
        return click.dedupe_key

    async def apply(self, notification_id: str) -> ClickOutcome:
        async with self.applied:
            self.applications += 1
            self._reach("apply", notification_id)
            if is_unconfirmed(self.inbox[notification_id]):
                return ClickOutcome(counted=False, refusal=self.inbox[notification_id].refusal, status=None)
            if notification_id not in self.outcomes:
                self.outcomes[notification_id] = await self._decide(self.inbox[notification_id])
                self.applied.notify_all()
            return self.outcomes[notification_id]

    async def undo_view(self, approval_id: str) -> UndoView | None:
        raise AssertionError(f"nothing here can be undone: {approval_id}")

    async def ask_undo(self, wish: UndoWish) -> str:
        raise AssertionError(f"nothing here can be undone: {wish}")

    async def apply_undo(self, notification_id: str) -> UndoOutcome:
        raise AssertionError(f"nothing here can be undone: {notification_id}")

    async def settled(self, count: int = 1) -> None:
        """Wait until that many different clicks have been applied."""
        async with asyncio.timeout(MINUTE), self.applied:
            await self.applied.wait_for(lambda: len(self.outcomes) >= count)

    async def _decide(self, click: Click) -> ClickOutcome:
        view = self.approvals.get(click.approval_id)
        refusal = click.refusal
        if refusal is None and view and (view.status, view.stamp) != (ApprovalStatus.REQUESTED, click.stamp):
            refusal = Refusal(RefusalCode.STALE)
        if isinstance(click.verdict, ClaimAct) and refusal is None and view and click.person_id:
            return self._claim(view, click.verdict, click.person_id)
        if refusal is None and view and click.person_id:
            refusal = await self.may_decide(click.approval_id, click.person_id)
        if refusal or view is None or click.person_id is None:
            return ClickOutcome(counted=False, refusal=refusal, status=view.status if view else None)
        assert isinstance(click.verdict, VoteVerdict)
        return ClickOutcome(counted=True, refusal=None, status=self._count(view, click, click.verdict, click.person_id))

    def _claim(self, view: ApprovalView, act: ClaimAct, person: str) -> ClickOutcome:
        if act is ClaimAct.CLAIM and view.assignee not in (None, person):
            refusal = Refusal(RefusalCode.CLAIMED, (view.assignee_name,))
            return ClickOutcome(counted=False, refusal=refusal, status=view.status)
        assignee = person if act is ClaimAct.CLAIM else None
        name = next(one.name for known in PEOPLE.values() for one in known if one.id == person) if assignee else ""
        self.approvals[view.approval_id] = replace(
            view, revision=view.revision + 1, assignee=assignee, assignee_name=name
        )
        return ClickOutcome(counted=True, refusal=None, status=view.status)

    def _count(self, view: ApprovalView, click: Click, verdict: VoteVerdict, person: str) -> ApprovalStatus:
        self.voters.setdefault(view.approval_id, set()).add(person)
        name = PEOPLE[click.account.user][0].name
        votes = (*view.votes, VoteView(name, verdict, click.reason, START))
        yes = sum(vote.verdict is VoteVerdict.APPROVE for vote in votes)
        status = ApprovalStatus.APPROVED if yes >= view.quorum else view.status
        status = ApprovalStatus.REJECTED if verdict is VoteVerdict.REJECT else status
        result = None if status is ApprovalStatus.REQUESTED else Result(ResultCode.PERFORMED)
        self.approvals[view.approval_id] = replace(
            view, votes=votes, status=status, revision=view.revision + 1, result=result
        )
        return status

    async def location(self, approval_id: str, copy_at: str | None = None) -> tuple[str, str] | None:
        known = self.cards.get(approval_id if copy_at is None else f"{approval_id} {copy_at}")
        return known[-1][:2] if known else None

    async def title(self, approval_id: str) -> str:
        return self.approvals[approval_id].declared.title

    async def lost(self, approval_id: str, channel: str, ts: str) -> None:
        self.missing.append((approval_id, channel, ts))

    async def remember(
        self, approval_id: str, channel: str, ts: str, card: Mapping[str, Any], copy_at: str | None = None
    ) -> None:
        self._reach("remember", approval_id)
        known = approval_id if copy_at is None else f"{approval_id} {copy_at}"
        self.cards.setdefault(known, []).append((channel, ts, card))


@dataclass
class Stage:
    """Everything a test needs: the desk, people at their screens, and the connector."""

    url: str
    bot_url: str
    clock: HandClock
    desk: MemoryDesk
    handlers: dict[str, Handler]
    raw: AsyncWebClient
    bot: Bot
    faults: Faults
    front: NoFront
    _stack: AsyncExitStack

    async def person(self, user: str) -> SandboxUser:
        return await self._stack.enter_async_context(SandboxUser(self.url, user))

    async def run(self, operation: str, key: str = "", **params: Any) -> JsonObject:
        return await result_of(self.handlers[operation], call(operation, key, **params))

    async def post(self, view: ApprovalView) -> None:
        self.desk.approvals[view.approval_id] = view
        key = f"card:{view.approval_id}"
        await self.run("slack::post_card", key, approval_id=view.approval_id, channel=CHANNEL)

    async def refresh(self, approval_id: str = "apr-1") -> None:
        revision = self.desk.approvals[approval_id].revision
        await self.run("slack::update_card", approval_id=approval_id, revision=revision)


def call(operation: str, key: str = "", **params: Any) -> Call:
    """Return an invocation of one of the chat's operations."""
    return Call(tenant="meridian", run_id="run-1", step="card", operation=operation, params=params, key=key)


def card_of(state: dict[str, Any], ts: str) -> dict[str, Any]:
    """Return a message that a person sees, with its channel."""
    for channel in state["channels"]:
        for message in channel["messages"]:
            if message["ts"] == ts:
                return {**message, "channel": channel["id"]}
    raise AssertionError(f"no message {ts}")


async def the_card(user: SandboxUser, stage: Stage, approval_id: str = "apr-1") -> dict[str, Any]:
    """Return the card as the person sees it now."""
    location = await stage.desk.location(approval_id)
    assert location
    return card_of(await user.see(), location[1])


def whispers(state: dict[str, Any]) -> list[str]:
    """Return the private answers that a person has got."""
    return [m["text"] for channel in state["channels"] for m in channel["messages"] if m.get("is_ephemeral")]


async def whispered(user: SandboxUser, words: str) -> str:
    """Wait for a private answer that contains these words."""

    def look(state: dict[str, Any]) -> str | None:
        return next((text for text in whispers(state) if words in text), None)

    found: str = await user.wait_for(look)
    return found


@asynccontextmanager
async def heard(app: Any, listener: socket.socket) -> AsyncIterator[None]:
    config = uvicorn.Config(app, log_config=None, lifespan="off", ws="none", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def _socket_mode(bot: Bot, *, is_heard: bool) -> AsyncIterator[None]:
    task = asyncio.create_task(bot.run_socket_mode())
    try:
        if is_heard:
            await until(bot.is_connected)
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def watched(bot: Bot) -> AsyncIterator[None]:
    task = asyncio.create_task(bot.watch())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def staged(
    *,
    transport: str = "http",
    limits: Limits | None = None,
    faults: Faults | None = None,
    is_heard: bool = True,
    rate: Rate = RATE,
    **changes: Any,
) -> AsyncIterator[Stage]:
    """Run the sandbox, its workspace changed as wished, and the bot over one transport until the block ends.

    Unless `is_heard` is False, the bot is connected when the block begins.
    """
    clock, desk, faults = HandClock(START), MemoryDesk(), faults or Faults()
    front = NoFront(MemoryHomes(desk.approvals, desk.cards, desk.may_decide))
    async with AsyncExitStack() as stack:
        listener = socket.create_server(("127.0.0.1", 0))
        stack.callback(listener.close)
        bot_url = f"http://127.0.0.1:{listener.getsockname()[1]}/slack/events"
        app = {**WORKSPACE["app"], **({"request_url": bot_url} if transport == "http" else {})}
        workspace = parse_workspace({**WORKSPACE, "app": app, **changes}, "the stage")
        sandbox = create_app(workspace, clock=clock, sleep=clock.sleep, limits=limits)
        faults.attach(sandbox)
        url = await stack.enter_async_context(served(sandbox))
        settings = BotSettings(app["bot_token"], (SECRET,), app["app_token"], f"{url}/api/", rate=rate)
        bot = build_bot(settings, desk, front, desk, clock, Places(NoLife()))
        running = heard(bot.asgi, listener) if transport == "http" else _socket_mode(bot, is_heard=is_heard)
        await stack.enter_async_context(running)
        await stack.enter_async_context(watched(bot))
        client = slack_client(app["bot_token"], f"{url}/api/")
        handlers = slack_handlers(client, desk, desk, clock, mocked=False)
        yield Stage(url, bot_url, clock, desk, handlers, client, bot, faults, front, stack)
