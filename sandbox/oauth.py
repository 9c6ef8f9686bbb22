"""oauth.v2.access, and what becomes of the tokens that it grants."""

import secrets

from sandbox.calls import Args, Json, Method
from sandbox.core import Sandbox
from sandbox.errors import SlackError
from sandbox.limits import TIER_4
from sandbox.state import Token

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
