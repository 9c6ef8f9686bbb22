"""The server: the workspace as an aiohttp application, and the Web API's entrance.

The entrance checks token, arguments, rate and method, and answers errors in Slack's form.
"""

import base64
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from aiohttp import web

from runtime.clock import Clock
from sandbox import chat, conversations, oauth, response_urls, users, views
from sandbox import users as people
from sandbox.core import Args, Json, Method, Sandbox, Sleep
from sandbox.delivery import HttpCourier, Hub
from sandbox.oauth import Authorize
from sandbox.people import People
from sandbox.people_api import STATIC, PeopleApi, as_changed
from sandbox.slack_errors import TIER_1, TIER_4, Limits, RateLimitedError, RateLimiter, SlackError
from sandbox.state import Store
from sandbox.workspace import Workspace

_OPEN = frozenset({"api.test", "oauth.v2.access"})
"""Methods that need no token: who calls shows something else, or nothing."""


class WebApi:
    """All methods under one roof."""

    def __init__(self, sandbox: Sandbox, hub: Hub) -> None:
        self._sandbox = sandbox
        self._hub = hub
        self._methods: dict[str, Method] = {
            **chat.METHODS,
            **chat.UNFURL_METHODS,
            **conversations.METHODS,
            **people.METHODS,
            **users.USERGROUP_METHODS,
            **views.METHODS,
            **oauth.METHODS,
            "apps.connections.open": Method(self._open_connection, TIER_1, scope=None),
            "api.test": Method(lambda _, args: {"args": dict(args.values)}, TIER_4),
        }

    async def knows(self, request: web.Request) -> bool:
        """Say whether a call has a token, code or refresh token of this workspace's."""
        try:
            values = await _arguments(request)
        except SlackError:
            return False
        app = self._sandbox.workspace.app
        return _token(request, values) in {app.bot_token, app.app_token} or oauth.is_ours(
            self._sandbox, _token(request, values), values
        )

    async def handle(self, request: web.Request) -> web.Response:
        """Answer one call."""
        headers = {"x-oauth-scopes": ",".join(self._sandbox.workspace.app.scopes)}
        try:
            result = {"ok": True, **self._call(request, await _arguments(request))}
        except SlackError as error:
            result = _refusal(error)
        except RateLimitedError as error:
            headers["Retry-After"] = str(error.retry_after)
            return web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers=headers)
        return web.json_response(result, headers=headers)

    def _call(self, request: web.Request, values: Json) -> Json:
        name = request.match_info["method"]
        method = self._methods.get(name)
        if method is None:
            raise SlackError("unknown_method", req_method=name)
        if name not in _OPEN:
            self._authorize(method, _token(request, values))
        self._sandbox.limiter.call(name, method.per_minute)
        base_url = f"{request.scheme}://{request.host}/"
        return method.run(self._sandbox, Args(values, base_url))

    def _authorize(self, method: Method, token: str) -> None:
        """Refuse a missing, unknown or wrong kind of token, and one without the method's scope."""
        app = self._sandbox.workspace.app
        if not token:
            raise SlackError("not_authed")
        is_app = token == app.app_token
        if not is_app:
            oauth.use(self._sandbox, token)
        if is_app != (method.scope is None):
            raise SlackError("not_allowed_token_type")
        if method.scope and method.scope not in app.scopes:
            raise SlackError("missing_scope", needed=method.scope, provided=",".join(app.scopes))

    def _open_connection(self, sandbox: Sandbox, args: Args) -> Json:
        """apps.connections.open: a WebSocket address that works once."""
        ticket = self._hub.issue_ticket()
        socket_url = args.base_url.replace("http", "ws", 1)
        return {"url": f"{socket_url}link/?ticket={ticket}&app_id={sandbox.workspace.app.id}"}


async def _arguments(request: web.Request) -> Json:
    """Read the arguments of a call: query, and a form or JSON body."""
    values: Json = dict(request.query)
    if request.content_type == "application/json":
        values |= _json_object(await request.text())
    elif request.content_type in {"application/x-www-form-urlencoded", "multipart/form-data"}:
        values |= {name: value for name, value in (await request.post()).items() if isinstance(value, str)}
    elif await request.read():
        raise SlackError("invalid_form_data")
    return {**values, **_basic(request)}


def _basic(request: web.Request) -> Json:
    """Return the client's id and secret, where they come as HTTP's basic authentication."""
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return {}
    try:
        client_id, _, secret = base64.b64decode(text, validate=True).decode().partition(":")
    except ValueError:
        raise SlackError("invalid_auth") from None
    return {"client_id": client_id, "client_secret": secret}


def _json_object(text: str) -> Json:
    try:
        value: Any = json.loads(text)
    except ValueError:
        raise SlackError("invalid_json") from None
    if not isinstance(value, dict):
        raise SlackError("json_not_object")
    return value


def _token(request: web.Request, values: Json) -> str:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else str(values.get("token") or "")


def _refusal(error: SlackError) -> Json:
    """Return the body of a refusal, with messages where Slack gives them."""
    result: Json = {"ok": False, "error": error.code, **error.extra}
    if error.messages:
        result["errors"] = list(error.messages)
        result["response_metadata"] = {"messages": [f"[ERROR] {message}" for message in error.messages]}
    return result


_AUTHORIZE = "/oauth/v2/authorize"
LARGEST_BODY = 4 * 1024 * 1024
SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


SANDBOX = web.AppKey("sandbox", Sandbox)
API = web.AppKey("api", WebApi)


def create_app(
    workspace: Workspace,
    *,
    clock: Clock,
    sleep: Sleep,
    limits: Limits | None = None,
    state: Path | None = None,
) -> web.Application:
    """Build the workspace. `clock` and `sleep` may be moved by hand; `state` names a file that survives a restart."""
    store = Store(state)
    sandbox = Sandbox(as_changed(workspace, store.data), store, clock, sleep, RateLimiter(limits or Limits(), clock))
    hub = Hub(sandbox)
    url = workspace.app.request_url
    people = People(sandbox, HttpCourier(sandbox, url) if url else hub)

    @web.middleware
    async def keep(request: web.Request, handler: Handler) -> web.StreamResponse:
        """Save before answering: what was answered survives a crash."""
        response = await handler(request)
        store.save()
        return response

    app = web.Application(middlewares=[keep], client_max_size=LARGEST_BODY)
    app.on_response_prepare.append(_add_headers)
    app.on_shutdown.extend([store.close, hub.close])
    app[SANDBOX], app[API] = sandbox, WebApi(sandbox, hub)
    _add_routes(app, sandbox, hub, PeopleApi(sandbox, people))
    return app


def create_gateway(workspaces: Sequence[web.Application]) -> web.Application:
    """Return one Web API, and one page to install the app from, for workspaces that are served beside it."""

    async def call(request: web.Request) -> web.Response:
        apis = [one[API] for one in workspaces]
        known = [api for api in apis if await api.knows(request)]
        return await (known or apis)[0].handle(request)

    page = Authorize([one[SANDBOX] for one in workspaces])
    app = web.Application(client_max_size=LARGEST_BODY)
    app.add_routes([web.get("/api/{method}", call), web.post("/api/{method}", call)])
    app.add_routes([web.get(_AUTHORIZE, page.ask), web.post(_AUTHORIZE, page.answered), web.static("/static", STATIC)])
    return app


def _add_routes(app: web.Application, sandbox: Sandbox, hub: Hub, human: PeopleApi) -> None:
    async def respond(request: web.Request) -> web.Response:
        return await response_urls.handle(request, sandbox)

    api, page = app[API].handle, Authorize([sandbox])
    app.add_routes(
        [
            web.get(_AUTHORIZE, page.ask),
            web.post(_AUTHORIZE, page.answered),
            web.get("/api/{method}", api),
            web.post("/api/{method}", api),
            web.get("/link/", hub.handle),
            web.post("/actions/{team}/{key}", respond),
            web.get("/sandbox/state", human.state),
            web.post("/sandbox/act", human.act),
            web.get("/sandbox/events", human.events),
            web.post("/sandbox/verify-url", human.verify_url),
            web.get("/", human.page),
            web.get("/archives/{channel}/{message}", human.page),
            web.static("/static", STATIC),
        ]
    )


async def _add_headers(_: web.Request, response: web.StreamResponse) -> None:
    for name, value in SECURITY_HEADERS.items():
        response.headers.setdefault(name, value)
