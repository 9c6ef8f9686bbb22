"""OAuth: the page that asks whether an app may be installed, oauth.v2.access, and the tokens that it grants."""

import secrets
from collections.abc import Sequence
from html import escape
from urllib.parse import urlencode

from aiohttp import web

from sandbox.core import Args, Json, Method, Sandbox
from sandbox.slack_errors import TIER_4, SlackError
from sandbox.state import Code, Token

TOKEN_SECONDS, CODE_SECONDS = 43_200, 600


def use(sandbox: Sandbox, token: str) -> None:
    """Refuse a token that is unknown, expired or revoked; one that is used revokes what it was got by."""
    app, data = sandbox.workspace.app, sandbox.store.data
    granted = data.tokens.get(token)
    if token != app.bot_token and granted is None:
        raise SlackError("invalid_auth")
    if granted and granted.revoked:
        raise SlackError(granted.revoked)
    if data.uninstalled or (granted is None and not app.is_installed):
        raise SlackError("account_inactive")
    if granted and granted.expires is not None and granted.expires <= sandbox.clock().timestamp():
        raise SlackError("token_expired")
    for older in data.tokens.values():
        if granted and older.gave == token:
            older.refresh = older.gave = ""
            sandbox.store.changed()


def is_ours(sandbox: Sandbox, token: str, values: Json) -> bool:
    """Say whether a token, code or refresh token is of this workspace."""
    data = sandbox.store.data
    refresh = str(values.get("refresh_token") or "")
    return token in data.tokens or values.get("code") in data.codes or bool(refresh and _holder(sandbox, refresh))


def access(sandbox: Sandbox, args: Args) -> Json:
    """oauth.v2.access: tokens for a code, or for a refresh token."""
    app = sandbox.workspace.app
    if args.text("client_id") != app.client_id or not app.client_secret:
        raise SlackError("invalid_client_id")
    if args.text("client_secret") != app.client_secret:
        raise SlackError("bad_client_secret")
    kind = args.text("grant_type", "authorization_code")
    if kind == "refresh_token":
        return _refreshed(sandbox, args.text("refresh_token"))
    if kind != "authorization_code":
        raise SlackError("invalid_grant_type")
    return _installed(sandbox, args)


def _installed(sandbox: Sandbox, args: Args) -> Json:
    data, workspace = sandbox.store.data, sandbox.workspace
    code = data.codes.pop(args.text("code"), None)
    if code is None or code.issued + CODE_SECONDS <= sandbox.clock().timestamp():
        raise SlackError("invalid_code")
    if args.text("redirect_uri", "") != code.redirect_uri:
        raise SlackError("bad_redirect_uri")
    data.uninstalled = False
    team, organization = workspace.team, workspace.team.enterprise_id
    is_whole = workspace.app.is_org_install and organization is not None
    return {
        **_grant(sandbox),
        "bot_user_id": workspace.app.bot_user_id,
        "app_id": workspace.app.id,
        "team": None if is_whole else {"id": team.id, "name": team.name},
        "enterprise": {"id": organization, "name": f"{team.name} organization"} if organization else None,
        "is_enterprise_install": is_whole,
        "authed_user": {"id": code.user},
    }


def _refreshed(sandbox: Sandbox, refresh: str) -> Json:
    holder = _holder(sandbox, refresh)
    if holder is None or holder.revoked or sandbox.store.data.uninstalled:
        raise SlackError("invalid_refresh_token")
    granted = _grant(sandbox)
    holder.gave = str(granted["access_token"])
    return granted


def _holder(sandbox: Sandbox, refresh: str) -> Token | None:
    return next((one for one in sandbox.store.data.tokens.values() if one.refresh == refresh), None)


def _grant(sandbox: Sandbox) -> Json:
    """Issue a bot token, and say so."""
    app, name = sandbox.workspace.app, secrets.token_hex(12)
    said: Json = {"token_type": "bot", "scope": ",".join(app.scopes)}
    if app.token_rotation:
        access_token, refresh = f"xoxe.xoxb-1-{name}", f"xoxe-1-{secrets.token_hex(12)}"
        token = Token(refresh=refresh, expires=sandbox.clock().timestamp() + TOKEN_SECONDS)
        said |= {"refresh_token": refresh, "expires_in": TOKEN_SECONDS}
    else:
        access_token, token = f"xoxb-{name}", Token()
    sandbox.store.data.tokens[access_token] = token
    sandbox.store.changed()
    return {**said, "access_token": access_token}


METHODS = {"oauth.v2.access": Method(access, TIER_4)}


_CSP = "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'"


class Authorize:
    """The page of one workspace, or of several, of which the visitor chooses one."""

    def __init__(self, sandboxes: Sequence[Sandbox]) -> None:
        self._sandboxes = sandboxes

    async def ask(self, request: web.Request) -> web.Response:
        """Answer GET /oauth/v2/authorize: what the app wants, and who may say yes."""
        asked = request.query
        if problem := self._problem(asked.get("client_id", ""), asked.get("redirect_uri", ""), asked.get("scope", "")):
            return _page(400, f"<h1>Something went wrong</h1><p>{escape(problem)}</p>")
        people = "".join(
            f'<option value="{one.workspace.team.id} {user.id}">{escape(user.real_name)}, '
            f"{escape(one.workspace.team.name)}</option>"
            for one in self._sandboxes
            for user in one.workspace.users
            if not (user.is_bot or user.deleted or one.workspace.is_foreign(user))
        )
        hidden = "".join(
            f'<input type="hidden" name="{name}" value="{escape(asked.get(name, ""))}">'
            for name in ("client_id", "redirect_uri", "state", "scope")
        )
        scopes = "".join(f"<li>{escape(scope)}</li>" for scope in asked.get("scope", "").split(","))
        return _page(
            200,
            f"<h1>The app asks for access</h1><p>It wants to:</p><ul>{scopes}</ul>"
            f'<form method="post">{hidden}<label>You are <select name="who">{people}</select></label> '
            '<button name="answer" value="allow">Allow</button> <button name="answer" value="deny">Cancel</button>'
            "</form>",
        )

    async def answered(self, request: web.Request) -> web.Response:
        """Answer POST /oauth/v2/authorize: send the browser back to the app, with a code or without."""
        said = {name: str(value) for name, value in (await request.post()).items()}
        uri = said.get("redirect_uri", "")
        if problem := self._problem(said.get("client_id", ""), uri, said.get("scope", "")):
            return _page(400, f"<h1>Something went wrong</h1><p>{escape(problem)}</p>")
        team, _, user = said.get("who", "").partition(" ")
        sandbox = next((one for one in self._sandboxes if one.workspace.team.id == team), None)
        if sandbox is None or sandbox.workspace.user(user) is None:
            return _page(400, "<h1>Something went wrong</h1><p>There is nobody of that name.</p>")
        back = {"state": said.get("state", "")}
        if said.get("answer") == "allow":
            code = f"{sandbox.workspace.app.client_id}.{secrets.token_hex(16)}"
            issued = sandbox.clock().timestamp()
            sandbox.store.data.codes[code] = Code(user=user, redirect_uri=uri, issued=issued)
            sandbox.store.changed()
            back["code"] = code
        else:
            back["error"] = "access_denied"
        raise web.HTTPFound(f"{uri}?{urlencode(back)}")

    def _problem(self, client_id: str, redirect_uri: str, scope: str) -> str:
        app = self._sandboxes[0].workspace.app
        if client_id != app.client_id or not app.client_secret:
            return "invalid_client_id: there is no such app"
        if redirect_uri not in app.redirect_uris:
            return f"bad_redirect_uri: {redirect_uri or 'none'} is not among the app's redirect URLs"
        unknown = sorted(set(scope.split(",")) - set(app.scopes))
        return f"invalid_scope: {', '.join(unknown) or 'none'}" if unknown else ""


def _page(status: int, content: str) -> web.Response:
    text = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        '<title>Sandbox</title><link rel="stylesheet" href="/static/colours.css">'
        f'<link rel="stylesheet" href="/static/authorize.css"><main>{content}</main></html>'
    )
    return web.Response(status=status, text=text, content_type="text/html", headers={"Content-Security-Policy": _CSP})
