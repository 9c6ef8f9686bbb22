"""OAuth v2 installation: Bolt's flow, its stores, and the pages that the installer sees.

An operator's link begins the flow. A state is used once, and an installation needs the permission of a link. The pages
are one sentence each, and load nothing.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import parse_qs

from pydantic import ValidationError
from slack_bolt import BoltResponse
from slack_bolt.adapter.asgi.http_request import AsgiHttpRequest
from slack_bolt.adapter.asgi.http_response import AsgiHttpResponse
from slack_bolt.error import BoltError
from slack_bolt.oauth.async_callback_options import AsyncCallbackOptions, AsyncFailureArgs, AsyncSuccessArgs
from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow
from slack_bolt.oauth.async_oauth_settings import AsyncOAuthSettings
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_sdk.errors import SlackApiError
from slack_sdk.oauth.installation_store.async_installation_store import AsyncInstallationStore
from slack_sdk.oauth.installation_store.models.installation import Installation
from slack_sdk.oauth.state_store.async_state_store import AsyncOAuthStateStore

from bot.client import FAILURES, error_code, slack_client, slack_logger
from bot.signature import Receive, Scope, Send
from bot.workspaces import AppCredentials, Granted, Workspaces, exchange
from runtime.clock import Clock
from runtime.model.installation import NewInstallation
from runtime.services.installations import STATE_LIFE, Installations, NotInstalledError


class States(AsyncOAuthStateStore):
    """The state of one visit: `link` is the secret that the visitor came with, `link_id` whose leave they have."""

    def __init__(self, desk: Installations, link: str) -> None:
        self._desk = desk
        self._link = link
        self.link_id: str | None = None

    async def async_issue(self, *_: Any, **__: Any) -> str:
        """Return a state, or "" where the link can't be used any more."""
        return await self._desk.issue_state(self._link) or ""

    async def async_consume(self, state: str) -> bool:
        """Use a state up; return whether it was good."""
        self.link_id = await self._desk.take_state(state)
        return self.link_id is not None


class VisitStore(AsyncInstallationStore):
    """The store of one visit. What Slack granted is handed over apart, for Bolt's form holds less of it."""

    def __init__(self, desk: Installations, states: States) -> None:
        self._desk = desk
        self._states = states
        self.granted: NewInstallation | None = None

    async def async_save(self, installation: Installation) -> None:
        """Keep what was granted; raise BoltError saying why not."""
        del installation
        if self.granted is None or self._states.link_id is None:
            raise BoltError("Nothing was granted.")
        try:
            await self._desk.install(self.granted, self._states.link_id)
        except NotInstalledError as error:
            raise BoltError(str(error)) from error


_HEADERS: Mapping[str, list[str]] = {
    "Content-Type": ["text/html; charset=utf-8"],
    "Content-Security-Policy": ["default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"],
    "Referrer-Policy": ["no-referrer"],
    "Cache-Control": ["no-store"],
    "X-Content-Type-Options": ["nosniff"],
}
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1.5rem;color:#1d1c1d}"
    "h1{font-size:1.4rem}@media(prefers-color-scheme:dark){body{background:#1a1d21;color:#d1d2d3}}"
)
_WHY = {
    "access_denied": "You did not allow it, so nothing was installed.",
    "invalid_browser": "This was started in another browser, or too long ago. Open the link again.",
    "invalid_state": "This was started too long ago, or is already finished. Open the link again.",
    "missing_code": "Slack did not say whether you allow it. Open the link again.",
    "invalid_code": "Slack did not grant it. Open the link again; if it fails again, the operator's log says why.",
}
NO_LINK = "This link was already used or has expired. Ask your operator for a new one."
NOT_NOW = "Slack did not answer. Nothing was installed. Open the link again in a moment."


def page(status: int, title: str, text: str) -> BoltResponse:
    """Return a page with a title and a sentence."""
    shown = f"<main><h1>{escape(title)}</h1><p>{escape(text)}</p></main>"
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    body = f'<!doctype html><html lang="en">{head}<style>{_STYLE}</style>{shown}</html>'
    return BoltResponse(status=status, body=body, headers=dict(_HEADERS))


def installed(workspace: str) -> BoltResponse:
    """Return the page that says where it is installed, and what is to be done next."""
    text = f"Installed in {workspace}. Invite it to each channel that gets cards: /invite @Countersign"
    return page(200, "Countersign is installed", text)


def refused(status: int, why: str) -> BoltResponse:
    """Return the page that says why nothing was installed."""
    return page(status, "Countersign was not installed", why)


def reason(code: str) -> str:
    """Return in words what Slack or Bolt calls a failure."""
    return _WHY.get(code, "Slack refused it. Open the link again; if it fails again, ask your operator.")


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

    def __init__(self, settings: OAuthSettings, desk: Installations, link: str, clock: Clock) -> None:
        self._oauth = settings
        self._clock = clock
        self._states = States(desk, link)
        self._installations = VisitStore(desk, self._states)
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

    def __init__(self, settings: OAuthSettings, desk: Installations, workspaces: Workspaces, clock: Clock) -> None:
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
