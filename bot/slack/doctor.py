"""What can be said about the Slack side without posting anything."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.slack.client import FAILURES, error_code

# What the methods that we call need, and nothing else; the manifest asks for the same.
SCOPES = frozenset(
    {
        *("chat:write", "channels:history", "channels:read", "groups:history", "groups:read"),
        *("im:history", "im:write", "users:read", "commands", "app_mentions:read", "usergroups:read"),
        *("links:read", "links:write"),
    }
)
EMAIL_SCOPE = "users:read.email"
"""Wanted only where the directory allows that people are told by their addresses."""


@dataclass(frozen=True)
class Fact:
    """One thing that was checked; `remedy` says what to do where it is not as it should be."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""


_NOT_RIGHT = "Set the bot token (xoxb-…) from OAuth & Permissions, and check that Slack can be reached."
_REMEDIES_OF_TOKENS = {
    "account_inactive": "The app was removed from the workspace: install it there again, and use its new token.",
    "token_revoked": "Somebody has revoked the token: install the app again, and use its new token.",
    "token_expired": (
        "The token was not renewed in time. One in a setting must not expire: turn token rotation off, or have the app"
        " installed by OAuth."
    ),
}


async def check_token(client: AsyncWebClient) -> list[Fact]:
    """Check a token, and its scopes where it is good."""
    try:
        answer = await client.auth_test()
    except FAILURES as error:
        code = error_code(error)
        return [Fact("slack token", ok=False, detail=code, remedy=_REMEDIES_OF_TOKENS.get(code, _NOT_RIGHT))]
    who = f"{answer.get('user')} in {answer.get('team')} ({answer.get('team_id')})"
    return [Fact("slack token", ok=True, detail=who), _scopes(answer)]


def _scopes(answer: AsyncSlackResponse) -> Fact:
    missing = SCOPES - _granted(answer)
    if missing:
        remedy = "Add them under OAuth & Permissions, and install the app again."
        return Fact("slack scopes", ok=False, detail=f"missing: {', '.join(sorted(missing))}", remedy=remedy)
    return Fact("slack scopes", ok=True, detail=", ".join(sorted(SCOPES)))


async def check_app(client: AsyncWebClient, app_id: str) -> Fact:
    """Check that a token is of the app to which the page behind our links leads."""
    remedy = "Set COUNTERSIGN_SLACK_APP_ID to the App ID under Basic Information, or leave it out."
    try:
        bot = await client.bots_info(bot=str((await client.auth_test())["bot_id"]))
        found = str(bot["bot"]["app_id"])
    except (*FAILURES, KeyError) as error:
        return Fact("slack app", ok=False, detail=error_code(error), remedy=remedy)
    detail = found if found == app_id else f"the token is of {found}, and our links lead to {app_id}"
    return Fact("slack app", ok=found == app_id, detail=detail, remedy=remedy)


async def check_socket_mode(client: AsyncWebClient, app_token: str) -> Fact:
    """Check that a Socket Mode connection can be opened."""
    try:
        await client.apps_connections_open(app_token=app_token)
    except FAILURES as error:
        remedy = "Set an app-level token (xapp-…) with connections:write, and turn Socket Mode on."
        return Fact("slack socket mode", ok=False, detail=error_code(error), remedy=remedy)
    return Fact("slack socket mode", ok=True, detail="a connection can be opened")


_REMEDIES = {
    "channel_not_found": "Use the channel's id, not its name; into a private channel, invite the bot first.",
    "missing_scope": "Add the scopes under OAuth & Permissions, and install the app again.",
}


async def check_channel(client: AsyncWebClient, channel: str) -> Fact:
    """Look into a channel that cards go to: it must be there, in use, and the bot must be in it."""
    name = f"slack channel {channel}"
    try:
        found = (await client.conversations_info(channel=channel))["channel"]
    except FAILURES as error:
        code = error_code(error)
        return Fact(name, ok=False, detail=code, remedy=_REMEDIES.get(code, "Check that Slack can be reached."))
    place = f"#{found.get('name', '')}"
    if found.get("is_archived"):
        return Fact(name, ok=False, detail=f"{place} is archived", remedy="Unarchive it, or name another one.")
    if not found.get("is_member"):
        remedy = f"Invite the bot into {place}: /invite @Countersign."
        return Fact(name, ok=False, detail=f"the bot is not in {place}", remedy=remedy)
    return Fact(name, ok=True, detail=f"{place}, and the bot is in it")


async def check_user_groups(
    clients: Iterable[AsyncWebClient], usergroups: Iterable[str], *, by_email: bool
) -> list[Fact]:
    """Look in each workspace for the user groups that people are called by, or that a group has its people from."""
    wanted = sorted(set(usergroups))
    if not wanted:
        return []
    answers: list[AsyncSlackResponse] = []
    for client in clients:
        try:
            answers.append(await client.usergroups_list(include_disabled=True))
        except FAILURES as error:
            remedy = _REMEDIES.get(error_code(error), "Check that Slack can be reached.")
            return [Fact("slack user groups", ok=False, detail=error_code(error), remedy=remedy)]
    found: dict[str, Any] = {}
    for answer in answers:
        listed: list[dict[str, Any]] = answer.get("usergroups", [])
        found |= {one["id"]: one for one in listed}
    facts = [_user_group(name, found.get(name)) for name in wanted]
    return [*facts, *map(_email_scope, answers)] if by_email else facts


def _user_group(wanted: str, found: Mapping[str, Any] | None) -> Fact:
    name = f"slack user group {wanted}"
    remedy = "Mend it, or name another one in the directory or the rules of routing."
    if found is None:
        return Fact(name, ok=False, detail="there is none of this id", remedy=remedy)
    handle = f"@{found.get('handle', '')}"
    if found.get("date_delete"):
        return Fact(name, ok=False, detail=f"{handle} is disabled", remedy=remedy)
    return Fact(name, ok=True, detail=f"{handle}, {found.get('user_count')} people")


def _email_scope(answer: AsyncSlackResponse) -> Fact:
    if EMAIL_SCOPE in _granted(answer):
        return Fact("slack addresses", ok=True, detail=EMAIL_SCOPE)
    remedy = "Add it under OAuth & Permissions, and install the app again; or take match_by_email out of the directory."
    return Fact("slack addresses", ok=False, detail=f"missing: {EMAIL_SCOPE}", remedy=remedy)


def _granted(answer: AsyncSlackResponse) -> set[str]:
    header = next((value for name, value in answer.headers.items() if name.lower() == "x-oauth-scopes"), "")
    return {scope.strip() for scope in header.split(",")}


async def check_slack(client: AsyncWebClient, app_token: str | None, channels: Iterable[str]) -> list[Fact]:
    """Check the bot token, its scopes, each channel that cards go to and, where there is one, the app-level token."""
    facts = await check_token(client)
    if facts[0].ok:
        facts += [await check_channel(client, channel) for channel in sorted(set(channels))]
    return [*facts, await check_socket_mode(client, app_token)] if app_token else facts
