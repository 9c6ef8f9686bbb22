"""The Bolt application, over HTTP behind our own signature check, and over Socket Mode."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from pydantic import ValidationError
from slack_bolt import BoltResponse
from slack_bolt.adapter.asgi.async_handler import AsyncSlackRequestHandler
from slack_bolt.adapter.asgi.http_request import AsgiHttpRequest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp, AsyncBoltContext, AsyncBoltRequest
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.authorization.async_authorize import AsyncAuthorize
from slack_bolt.middleware.async_middleware import AsyncMiddleware
from slack_sdk.web.async_client import AsyncWebClient

from bot.listeners.health import SlackHealth
from bot.listeners.home_tab import HomeTab
from bot.listeners.interactions import Interactions
from bot.listeners.payloads import parse_payload
from bot.listeners.signature import App, SignatureMiddleware
from bot.slack.client import FAILURES, slack_client, slack_logger
from bot.slack.doctor import why
from runtime.clock import Clock
from runtime.desk.model import CardLedger, Desk

_ANY = re.compile("")

WEB_API, SOCKET_MODE = "web api", "socket mode"
LOOK_SECONDS = 15.0
"""Seconds between two looks whether Slack knows our token."""


class SlackUnavailableError(Exception):
    """Slack did not say which installation this is, so nobody can be identified."""


@dataclass(frozen=True)
class BotSettings:
    """How to reach Slack. More than one signing secret is for rotation: requests signed by any of them are accepted."""

    token: str = field(repr=False)
    signing_secrets: tuple[str, ...] = field(default=(), repr=False)
    app_token: str | None = field(default=None, repr=False)
    base_url: str | None = None
    path: str = "/slack/events"


class _Installation(AsyncAuthorize):
    """Says which team installed the app, by auth.test, asked once. What fails here must not be acknowledged."""

    def __init__(self, client: AsyncWebClient) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Bolt's
        self._client = client
        self._result: AuthorizeResult | None = None

    async def __call__(
        self,
        *,
        context: AsyncBoltContext,  # noqa: ARG002 - Bolt's signature
        enterprise_id: str | None,  # noqa: ARG002
        team_id: str | None,  # noqa: ARG002
        user_id: str | None,  # noqa: ARG002
        actor_enterprise_id: str | None = None,  # noqa: ARG002
        actor_team_id: str | None = None,  # noqa: ARG002
        actor_user_id: str | None = None,  # noqa: ARG002
    ) -> AuthorizeResult:
        """Return the one installation; what the payload says about teams is not asked."""
        if self._result is None:
            try:
                answer = await self._client.auth_test()
            except FAILURES as error:
                raise SlackUnavailableError(type(error).__name__) from None
            self._result = AuthorizeResult(
                enterprise_id=answer.get("enterprise_id"),
                team_id=answer.get("team_id"),
                bot_user_id=answer.get("user_id"),
                bot_id=answer.get("bot_id"),
                bot_token=self._client.token,
            )
        return self._result


class _KnownPayloads(AsyncMiddleware):
    """Lets through what we handle and is well formed; Bolt fails in many ways on what is not."""

    async def async_process(
        self,
        *,
        req: AsyncBoltRequest,
        resp: BoltResponse,  # noqa: ARG002 - Bolt's signature
        next: Callable[[], Awaitable[BoltResponse]],  # noqa: A002 - Bolt's signature
    ) -> BoltResponse:
        """Answer 400, or go on."""
        try:
            parse_payload(req.body)
        except ValidationError:
            slack_logger().warning("a payload that is not handled or not well formed was refused")
            return BoltResponse(status=400, body="")
        return await next()


class _Endpoint(AsyncSlackRequestHandler):
    """Bolt over ASGI, but for bodies that it cannot even parse."""

    async def dispatch(self, request: AsgiHttpRequest) -> BoltResponse:
        """Answer 400 to what was signed but is not a payload."""
        try:
            parsed = AsyncBoltRequest(body=await request.get_raw_body(), headers=request.get_headers())
        except (ValueError, TypeError, AttributeError, KeyError, IndexError, RecursionError):
            return BoltResponse(status=400, body="")
        return await self.app.async_dispatch(parsed)


async def _on_error(error: Exception, response: BoltResponse | None) -> BoltResponse | None:
    """Log what failed without a trace, which may quote a payload; what is not acknowledged yet must not be."""
    slack_logger().error("a request from Slack was not handled: %s", type(error).__name__)
    return BoltResponse(status=503, body="") if response is not None else None


async def _ignore_event() -> None:
    """Take notice of an event that asks for nothing."""


class Bot:
    """The Slack side. `asgi` serves the request URL; `run_socket_mode` needs no URL; either or both may be used.

    `watch` beside them keeps `health` true.
    """

    def __init__(self, app: AsyncApp, client: AsyncWebClient, settings: BotSettings, clock: Clock) -> None:
        self._app = app
        self._client = client
        self._settings = settings
        self._clock = clock
        self._health = SlackHealth()
        self._health.ill(WEB_API, "not asked yet")

    @property
    def asgi(self) -> App:
        """Return the application for HTTP; it answers POSTs to the settings' path."""
        endpoint: App = _Endpoint(self._app, path=self._settings.path)  # type: ignore[assignment]  # Bolt narrows Scope
        return SignatureMiddleware(endpoint, self._settings.signing_secrets, self._clock)

    def health(self) -> list[str]:
        """Return what is wrong on the Slack side at this moment, empty when all is in order."""
        return self._health.faults()

    def is_connected(self) -> bool:
        """Return whether Socket Mode is not in use, or its connection stands."""
        return not self._health.is_ill(SOCKET_MODE)

    async def watch(self) -> None:
        """Ask Slack again and again whether it is there and knows our token, until canceled."""
        while True:
            try:
                await self._client.auth_test()
                self._health.well(WEB_API)
            except FAILURES as error:
                self._health.ill(WEB_API, why(error))
            await asyncio.sleep(LOOK_SECONDS)

    async def run_socket_mode(self, connected: asyncio.Event | None = None) -> None:
        """Keep a Socket Mode connection until canceled; `connected` is set once it stands."""
        if not self._settings.app_token:
            raise ValueError("Socket Mode needs the app-level token (xapp-…)")
        self._health.ill(SOCKET_MODE, "not connected")
        handler = AsyncSocketModeHandler(self._app, self._settings.app_token)
        try:
            await handler.connect_async()  # type: ignore[no-untyped-call]  # Bolt's
            if connected:
                connected.set()
            while True:
                if await handler.client.is_connected():
                    self._health.well(SOCKET_MODE)
                else:
                    self._health.ill(SOCKET_MODE, "the connection was lost")
                await asyncio.sleep(1)
        finally:
            await handler.close_async()  # type: ignore[no-untyped-call]  # Bolt's


def build_bot(settings: BotSettings, desk: Desk, ledger: CardLedger, clock: Clock) -> Bot:
    """Wire the listeners. Bolt's own verification is off because ours stands in front of it (see signature.py)."""
    client = slack_client(settings.token, settings.base_url)
    app = AsyncApp(
        name="countersign",
        logger=slack_logger(),
        client=slack_client(None, settings.base_url),
        authorize=_Installation(client),
        before_authorize=_KnownPayloads(),
        request_verification_enabled=False,
        attaching_function_token_enabled=False,
        attaching_conversation_kwargs_enabled=False,
    )
    interactions = Interactions(client, desk)
    app.action(_ANY)(interactions.on_action)
    app.view(_ANY)(interactions.on_submission)
    app.event("app_home_opened")(HomeTab(client, desk, ledger, clock).on_opened)
    app.event(_ANY)(_ignore_event)
    app.error(_on_error)
    return Bot(app, client, settings, clock)
