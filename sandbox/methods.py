"""The Web API's door: token, arguments, rate, method, and errors in Slack's form."""

import base64
import json
from typing import Any

from aiohttp import web

from sandbox import chat, conversations, oauth, unfurl, usergroups, views
from sandbox import web_api_people as people
from sandbox.calls import Args, Json, Method
from sandbox.core import Sandbox
from sandbox.errors import RateLimitedError, SlackError
from sandbox.limits import TIER_1, TIER_4
from sandbox.socket_mode import Hub

_OPEN = frozenset({"api.test", "oauth.v2.access"})
"""Methods that need no token: who calls shows something else, or nothing."""


class WebApi:
    """All methods under one roof."""

    def __init__(self, sandbox: Sandbox, hub: Hub) -> None:
        self._sandbox = sandbox
        self._hub = hub
        self._methods: dict[str, Method] = {
            **chat.METHODS,
            **unfurl.METHODS,
            **conversations.METHODS,
            **people.METHODS,
            **usergroups.METHODS,
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
