"""The installation by OAuth v2: Bolt's flow, begun by a link of an operator's and kept at our desk."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs

from pydantic import ValidationError
from slack_bolt import BoltResponse
from slack_bolt.adapter.asgi.http_request import AsgiHttpRequest
from slack_bolt.adapter.asgi.http_response import AsgiHttpResponse
from slack_bolt.oauth.async_callback_options import AsyncCallbackOptions, AsyncFailureArgs, AsyncSuccessArgs
from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow
from slack_bolt.oauth.async_oauth_settings import AsyncOAuthSettings
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_sdk.errors import SlackApiError
from slack_sdk.oauth.installation_store.models.installation import Installation

from bot.listeners.installation_pages import NO_LINK, NOT_NOW, installed, reason, refused
from bot.listeners.stores import Installations, States
from bot.signature import Receive, Scope, Send
from bot.slack.client import FAILURES, error_code, slack_client
from bot.slack.granted import AppCredentials, Granted, exchange
from bot.slack.known import Workspaces
from bot.slack.log import slack_logger
from runtime.clock import Clock
from runtime.model.installed import NewInstallation
from runtime.services.workspaces_model import STATE_LIFE, InstallationDesk

INSTALL, REDIRECT = "/slack/install", "/slack/oauth_redirect"


@dataclass(frozen=True)
class OAuthSettings:
    """What the flow needs: `public_url` is where browsers reach us, `authorize_url` where Slack asks people."""

    app: AppCredentials
    public_url: str
    authorize_url: str
    scopes: Sequence[str]
    base_url: str | None


class _Flow(AsyncOAuthFlow):
    """Bolt's flow for one visit. Slack's answer is read strictly, and nothing of it is logged."""

    def __init__(self, settings: OAuthSettings, desk: InstallationDesk, link: str, clock: Clock) -> None:
        self._oauth = settings
        self._clock = clock
        self._states = States(desk, link)
        self._installations = Installations(desk, self._states)
        how = AsyncOAuthSettings(
            client_id=settings.app.client_id,
            client_secret=settings.app.client_secret,
            scopes=settings.scopes,
            redirect_uri=f"{settings.public_url.rstrip('/')}{REDIRECT}",
            install_path=INSTALL,
            redirect_uri_path=REDIRECT,
            authorization_url=settings.authorize_url,
            install_page_rendering_enabled=False,
            callback_options=AsyncCallbackOptions(_succeeded, _failed),
            installation_store=self._installations,
            state_store=self._states,
            state_expiration_seconds=int(STATE_LIFE.total_seconds()),
            logger=slack_logger(),
        )
        super().__init__(client=slack_client(None, settings.base_url), logger=slack_logger(), settings=how)

    async def handle_installation(self, request: AsyncBoltRequest) -> BoltResponse:
        """Send the visitor to Slack, if they have a link that can be used."""
        response = await super().handle_installation(request)
        location = response.headers.get("location", [""])[0]
        return response if parse_qs(location.partition("?")[2]).get("state") else refused(403, NO_LINK)

    async def run_installation(self, code: str) -> Installation | None:
        """Exchange the code for tokens; return None where Slack does not grant them as we asked."""
        now = self._clock()
        try:
            answer = await exchange(self.client, self._oauth.app, code=code, redirect_uri=self.settings.redirect_uri)
            granted = Granted.model_validate(answer)
            bot = await self.client.auth_test(token=granted.access_token)
        except (SlackApiError, ValidationError) as error:
            slack_logger().warning("an installation was not granted: %s", error_code(error))
            return None
        if granted.place is None:
            return None
        self._installations.granted = NewInstallation(
            place=granted.place,
            name=granted.name,
            app_id=granted.app_id,
            bot_user=granted.bot_user_id,
            bot_id=str(bot.get("bot_id", "")),
            scopes=tuple(sorted(filter(None, granted.scope.split(",")))),
            user=granted.authed_user.id,
            tokens=granted.tokens(now),
        )
        return Installation(
            app_id=granted.app_id,
            enterprise_id=granted.place.enterprise or None,
            team_id=granted.place.team or None,
            team_name=granted.name,
            user_id=granted.authed_user.id,
            is_enterprise_install=granted.is_enterprise_install,
        )


async def _succeeded(args: AsyncSuccessArgs) -> BoltResponse:
    name = args.installation.team_name or args.installation.team_id or args.installation.enterprise_id or "Slack"
    return installed(name)


async def _failed(args: AsyncFailureArgs) -> BoltResponse:
    return refused(args.suggested_status_code, str(args.error) if args.error else reason(args.reason))


class InstallPages:
    """The two pages, as ASGI. They are for browsers: nothing is signed, so a link and a state stand for leave."""

    def __init__(self, settings: OAuthSettings, desk: InstallationDesk, workspaces: Workspaces, clock: Clock) -> None:
        self._settings = settings
        self._desk = desk
        self._workspaces = workspaces
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer GETs."""
        if scope["type"] != "http":
            return
        seen = AsgiHttpRequest(scope, receive)  # type: ignore[arg-type]  # Bolt narrows Scope
        answer = await self._answer(scope["path"], seen) if scope["method"] == "GET" else refused(405, reason(""))
        response = AsgiHttpResponse(status=answer.status, headers=answer.headers, body=answer.body)
        await send(response.get_response_start())
        await send(response.get_response_body())

    async def _answer(self, path: str, seen: AsgiHttpRequest) -> BoltResponse:
        request = AsyncBoltRequest(body="", query=seen.query_string, headers=seen.get_headers())
        flow = _Flow(self._settings, self._desk, request.query.get("link", [""])[0], self._clock)
        try:
            if path == INSTALL:
                return await flow.handle_installation(request)
            answer = await flow.handle_callback(request)
        except FAILURES as error:
            logging.getLogger(__name__).warning("an installation could not be finished: %s", error_code(error))
            return refused(502, NOT_NOW)
        await self._workspaces.load()
        return answer
