"""The Bolt application, over HTTP behind our own signature check, and over Socket Mode."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from slack_bolt import BoltResponse
from slack_bolt.adapter.asgi.async_handler import AsyncSlackRequestHandler
from slack_bolt.adapter.asgi.http_request import AsgiHttpRequest
from slack_bolt.async_app import AsyncApp, AsyncBoltRequest

from bot.client import SlackClient, Tally, slack_client, slack_logger
from bot.listeners import commands
from bot.listeners.admission import Admission, TimelyAcks
from bot.listeners.bulk_votes import BulkVotes
from bot.listeners.card_watch import ChangedCards
from bot.listeners.clicks import ListenerContext
from bot.listeners.commands import ListPaging, Mentions
from bot.listeners.delegation import DelegationListener
from bot.listeners.forms import ASK_APPROVAL, NEW_REQUEST, Forms
from bot.listeners.home_tab import HomePublisher, HomeTab
from bot.listeners.identity import UnconfirmedClicks
from bot.listeners.installation import AppLifecycle, InstallationWatch, WorkspaceWatch
from bot.listeners.interactions import Interactions
from bot.listeners.oauth import InstallPages
from bot.listeners.private_answers import PrivateAnswers
from bot.listeners.unfurls import EVENT, LinkUnfurls
from bot.listeners.user_groups import CHANGED, UserGroupWatch
from bot.origin import origin_of_request
from bot.payloads import parse_request
from bot.signature import App, SignatureMiddleware
from bot.socket_mode import SocketMode
from bot.views import references
from bot.workspace_client import WorkspaceClient
from bot.workspaces import Workspaces
from runtime.clock import Clock
from runtime.model.limits import Rate
from runtime.services.approvals import ApprovalService
from runtime.services.cards import StoredCards
from runtime.services.installations import InstallationLifecycle
from runtime.services.requests import RequestService

_ANY = re.compile("")
_MESSAGE: dict[str, str | Sequence[str | re.Pattern[str] | None] | None] = {
    "type": "message",
    "subtype": ["message_changed", "message_deleted"],
}
RATE = Rate(per_second=2.0, burst=60)
"""What one person may do where nothing else is said."""
_CONNECT_SECONDS = 5
"""Seconds that the question for a Socket Mode address may take."""


@dataclass(frozen=True)
class BotSettings:
    """How to reach Slack. More than one signing secret is for rotation: requests signed by any of them are accepted.

    Without a `token` each workspace has one of its own (`Places.workspaces`). `rate` is how much one person may do.
    """

    token: str | None = field(repr=False)
    signing_secrets: tuple[str, ...] = field(default=(), repr=False)
    app_token: str | None = field(default=None, repr=False)
    base_url: str | None = None
    path: str = "/slack/events"
    rate: Rate = RATE


@dataclass(frozen=True)
class Places:
    """Where the app is. `workspaces` and `pages` are there where it is installed by OAuth, and not by a bot's token."""

    life: InstallationLifecycle
    workspaces: Workspaces | None = None
    pages: InstallPages | None = None


class _Endpoint(AsyncSlackRequestHandler):
    """Bolt's handler over ASGI; what is not well formed does not reach the door."""

    def __init__(self, app: AsyncApp, path: str, refused: Tally, door: Admission) -> None:
        super().__init__(app, path=path)
        self._refused = refused
        self._door = door

    async def dispatch(self, request: AsgiHttpRequest) -> BoltResponse:
        """Answer 400 to what was signed but is no payload of ours."""
        try:
            content_type, raw = str(request.get_headers().get("content-type", "")), await request.get_raw_body()
            payload, origin = parse_request(content_type, raw), origin_of_request(content_type, raw)
        except ValueError:
            self._refused.add()
            return BoltResponse(status=400, body="")
        return await self._door.answer(payload, origin)


async def _on_error(error: Exception, response: BoltResponse | None) -> BoltResponse | None:
    """Log what failed without a trace, which may quote a payload; what is not acknowledged yet must not be."""
    slack_logger().error("a request from Slack was not handled: %s", type(error).__name__)
    return BoltResponse(status=503, body="") if response is not None else None


async def _hand_on(app: AsyncApp, body: str) -> BoltResponse:
    return await app.async_dispatch(AsyncBoltRequest(body=body, headers={"content-type": "application/json"}))


async def _ignore_event() -> None:
    """Take notice of an event that asks for nothing."""


class Bot:
    """The Slack side. `asgi` serves the request URL; `run_socket_mode` needs no URL; either or both may be used.

    `watch` runs beside them: without it nobody can be identified. So does `groups`, which keeps groups of the directory
    at what Slack's user groups are.
    """

    def __init__(
        self,
        app: AsyncApp,
        settings: BotSettings,
        clock: Clock,
        installation: InstallationWatch,
        client: SlackClient,
        places: Places,
        groups: UserGroupWatch,
        confirming: UnconfirmedClicks,
        door: Admission,
    ) -> None:
        self.client = client  # with which everything is said, cards too
        self.pages = places.pages
        self._door = door
        self._app = app
        self._settings = settings
        self._clock = clock
        self._installation = installation
        self._confirming = confirming
        self.groups = groups
        self._refused = Tally("payloads that are not handled or not well formed were refused")
        web = slack_client(None, settings.base_url, timeout=_CONNECT_SECONDS)
        self._socket = (
            SocketMode(app, settings.app_token, web, self._refused, self._door) if settings.app_token else None
        )

    @property
    def asgi(self) -> App:
        """Return the application for HTTP; it answers POSTs to the settings' path."""
        endpoint: App = _Endpoint(self._app, self._settings.path, self._refused, self._door)  # type: ignore[assignment]  # Bolt narrows Scope
        return SignatureMiddleware(endpoint, self._settings.signing_secrets, self._clock)

    def health(self) -> list[str]:
        """Return what is wrong on the Slack side at this moment, empty when all is in order."""
        troubles = (self._installation.trouble, self._socket.trouble if self._socket else None)
        return [trouble for trouble in troubles if trouble]

    def counts(self) -> dict[str, int]:
        """Return how often this process was limited, or has turned somebody away, by what it was; nothing for never."""
        tallies = {
            "users.info limited": self._installation.profiles.limited,
            "people over their limit": self._door.too_fast,
            "too many at once": self._door.busy,
            "minutes of events kept by Slack": self._door.kept_from_us,
        }
        return {name: tally.count for name, tally in tallies.items() if tally.count}

    def is_connected(self) -> bool:
        """Return whether Socket Mode is not in use, or its connection stands."""
        return self._socket is None or self._socket.trouble is None

    async def watch(self) -> None:
        """Ask Slack again and again where the app is installed, and who made unconfirmed clicks, until canceled."""
        async with asyncio.TaskGroup() as both:
            both.create_task(self._installation.run())
            both.create_task(self._confirming.run())

    async def run_socket_mode(self) -> None:
        """Keep a Socket Mode connection until canceled."""
        if self._socket is None:
            raise ValueError("Socket Mode needs the app-level token (xapp-…)")
        await self._socket.run()


def _speaking(settings: BotSettings, places: Places) -> tuple[SlackClient, InstallationWatch]:
    """Return what we speak with, and what knows where we are."""
    if places.workspaces is None:
        client = slack_client(settings.token, settings.base_url)
        return client, InstallationWatch(client)
    many = WorkspaceClient(places.workspaces, settings.base_url)
    return many, WorkspaceWatch(many, places.workspaces)


def build_bot(
    settings: BotSettings,
    desk: ApprovalService,
    front: RequestService,
    ledger: StoredCards,
    clock: Clock,
    places: Places,
) -> Bot:
    """Wire the listeners. Bolt's own verification is off because ours stands in front of it (see signature.py)."""
    client, installation = _speaking(settings, places)
    app = AsyncApp(
        name=slack_logger().name,  # Bolt gives the logger of this name the level of the next: it must not be ours
        logger=slack_logger(),
        client=slack_client(None, settings.base_url),
        authorize=installation,
        request_verification_enabled=False,
        attaching_function_token_enabled=False,
        attaching_conversation_kwargs_enabled=False,
        raise_error_for_unhandled_request=True,
    )
    answers = PrivateAnswers(client, desk.notices)
    timely = TimelyAcks(client, answers)
    context = ListenerContext(client, desk, front, installation, answers, clock)
    forms, delegating = Forms(context), DelegationListener(context)
    home = HomeTab(HomePublisher(context, ledger), BulkVotes(context))
    interactions = Interactions(context, forms, home, delegating)
    asked = commands.Commands(context, forms, delegating)
    app.action(references.TURN)(ListPaging(asked).on_turn)
    app.action(_ANY)(timely(interactions.on_action))
    app.view(_ANY)(timely(interactions.on_submission))
    app.command(commands.NAME)(timely(asked.on_command))
    app.shortcut(NEW_REQUEST)(timely(forms.on_shortcut))
    app.shortcut(ASK_APPROVAL)(timely(forms.on_message_shortcut))
    app.event(EVENT)(LinkUnfurls(context).on_shared)
    app.event("app_mention")(Mentions(client, asked, answers).on_mention)
    app.event("app_home_opened")(home.on_opened)
    groups = UserGroupWatch(client, desk.groups, installation)
    for event in CHANGED:
        app.event(event)(groups.on_changed)
    app.event("user_change")(installation.profiles.on_changed)
    app.event(_MESSAGE)(ChangedCards(ledger).on_message)
    app.event(_ANY)(_ignore_event)
    app.error(_on_error)
    confirming = UnconfirmedClicks(desk, installation, answers)
    door = Admission(
        AppLifecycle(places.life, places.workspaces, clock), partial(_hand_on, app), answers, settings.rate
    )
    return Bot(app, settings, clock, installation, client, places, groups, confirming, door)
