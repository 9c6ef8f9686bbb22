"""The page on which Slack asks whether an app may be installed, and where the answer goes."""

import secrets
from collections.abc import Sequence
from html import escape
from urllib.parse import urlencode

from aiohttp import web

from sandbox.core import Sandbox
from sandbox.state import Code

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
