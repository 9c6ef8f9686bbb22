"""Slack checks of `countersign doctor`: tokens, scopes, channels, user groups, workspaces. Nothing is posted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.client import FAILURES, error_code, slack_client
from runtime.model.installation import EndedInstallation, Installation

# What the methods that we call need, and nothing else; the manifest asks for the same.
SCOPES = frozenset(
    {
        *("chat:write", "channels:history", "channels:read", "groups:history", "groups:read"),
        *("im:history", "im:write", "users:read", "commands", "app_mentions:read", "usergroups:read"),
        *("links:read", "links:write"),
    }
)
EMAIL_SCOPE = "users:read.email"
"""Needed only if the directory matches people by e-mail address."""


@dataclass(frozen=True)
class Fact:
    """One checked thing; `remedy` says what to do if the check failed."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""


_REMEDY = "Set the bot token (xoxb-…) from OAuth & Permissions, and check that Slack can be reached."
_REMEDIES_OF_TOKENS = {
    "account_inactive": "The app was removed from the workspace: reinstall it and use its new token.",
    "token_revoked": "The token was revoked: reinstall the app and use its new token.",
    "token_expired": (
        "The token was not renewed in time. One in a setting must not expire: turn token rotation off, or have the app"
        " installed by OAuth."
    ),
}


async def check_token(client: AsyncWebClient) -> list[Fact]:
    """Check the bot token and, if Slack accepts it, its scopes."""
    try:
        answer = await client.auth_test()
    except FAILURES as error:
        code = error_code(error)
        return [Fact("slack token", ok=False, detail=code, remedy=_REMEDIES_OF_TOKENS.get(code, _REMEDY))]
    who = f"{answer.get('user')} in {answer.get('team')} ({answer.get('team_id')})"
    return [Fact("slack token", ok=True, detail=who), _scopes(answer)]


def _scopes(answer: AsyncSlackResponse) -> Fact:
    missing = SCOPES - _granted(answer)
    if missing:
        remedy = "Add them under OAuth & Permissions and reinstall the app."
        return Fact("slack scopes", ok=False, detail=f"missing: {', '.join(sorted(missing))}", remedy=remedy)
    return Fact("slack scopes", ok=True, detail=", ".join(sorted(SCOPES)))


async def check_app(client: AsyncWebClient, app_id: str) -> Fact:
    """Check that the bot token belongs to the app that our links open."""
    remedy = "Set COUNTERSIGN_SLACK_APP_ID to the App ID under Basic Information, or unset it."
    try:
        bot = await client.bots_info(bot=str((await client.auth_test())["bot_id"]))
        found = str(bot["bot"]["app_id"])
    except (*FAILURES, KeyError) as error:
        return Fact("slack app", ok=False, detail=error_code(error), remedy=remedy)
    detail = found if found == app_id else f"the token belongs to {found}, but our links open {app_id}"
    return Fact("slack app", ok=found == app_id, detail=detail, remedy=remedy)


async def check_socket_mode(client: AsyncWebClient, app_token: str) -> Fact:
    """Check that a Socket Mode connection can be opened."""
    try:
        await client.apps_connections_open(app_token=app_token)
    except FAILURES as error:
        remedy = "Set an app-level token (xapp-…) with connections:write and turn on Socket Mode."
        return Fact("slack socket mode", ok=False, detail=error_code(error), remedy=remedy)
    return Fact("slack socket mode", ok=True, detail="a connection can be opened")


_REMEDIES = {
    "channel_not_found": "Use the channel's id, not its name. Invite the bot first if the channel is private.",
    "missing_scope": "Add the scopes under OAuth & Permissions and reinstall the app.",
}


async def check_channel(client: AsyncWebClient, channel: str) -> Fact:
    """Check that a channel for cards exists, is not archived, and has the bot as a member."""
    name = f"slack channel {channel}"
    try:
        found = (await client.conversations_info(channel=channel))["channel"]
    except FAILURES as error:
        code = error_code(error)
        return Fact(name, ok=False, detail=code, remedy=_REMEDIES.get(code, "Check that Slack can be reached."))
    place = f"#{found.get('name', '')}"
    if found.get("is_archived"):
        return Fact(name, ok=False, detail=f"{place} is archived", remedy="Unarchive it, or configure another channel.")
    if not found.get("is_member"):
        remedy = f"Invite the bot to {place}: /invite @Countersign."
        return Fact(name, ok=False, detail=f"the bot is not in {place}", remedy=remedy)
    return Fact(name, ok=True, detail=f"{place}, and the bot is in it")


async def check_user_groups(
    clients: Iterable[AsyncWebClient], usergroups: Iterable[str], *, by_email: bool
) -> list[Fact]:
    """Check the Slack user groups that are mentioned for help or that supply a group's members."""
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
    remedy = "Enable it, or name another one in the directory or the routing rules."
    if found is None:
        return Fact(name, ok=False, detail="no user group has this id", remedy=remedy)
    handle = f"@{found.get('handle', '')}"
    if found.get("date_delete"):
        return Fact(name, ok=False, detail=f"{handle} is disabled", remedy=remedy)
    return Fact(name, ok=True, detail=f"{handle}, {found.get('user_count')} people")


def _email_scope(answer: AsyncSlackResponse) -> Fact:
    if EMAIL_SCOPE in _granted(answer):
        return Fact("slack addresses", ok=True, detail=EMAIL_SCOPE)
    remedy = "Add it under OAuth & Permissions and reinstall the app, or remove match_by_email from the directory."
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


_AGAIN = "Reinstall the app there with a link from `countersign slack install-link`; blocked cards then arrive."


async def check_workspaces(
    live: Sequence[Installation],
    ended: Iterable[EndedInstallation],
    base_url: str,
    app_token: str | None,
    channels: Iterable[str],
) -> list[Fact]:
    """Check each installation, each place where there is none any more, and each channel that cards go to."""
    facts = [_gone(one) for one in ended]
    if not live:
        remedy = "Make a link with `countersign slack install-link`, and open it as somebody who may install apps."
        facts.append(Fact("slack workspaces", ok=False, detail="the app is installed nowhere", remedy=remedy))
    clients = []
    for one in live:
        client = slack_client(one.tokens.access, base_url)
        found = await check_token(client)
        facts += [_about(one, fact) for fact in found]
        clients += [client] if found[0].ok else []
    facts += [await _seen_by_one(clients, channel) for channel in sorted(set(channels)) if clients]
    return [*facts, await check_socket_mode(slack_client(None, base_url), app_token)] if app_token else facts


def _gone(one: EndedInstallation) -> Fact:
    detail = f"not installed any more since {one.removed_at:%Y-%m-%d %H:%M} UTC: {one.why}"
    return Fact(f"slack workspace {one.place}", ok=False, detail=detail, remedy=_AGAIN)


def _about(one: Installation, fact: Fact) -> Fact:
    remedy = fact.remedy if fact.name == "slack scopes" else _AGAIN
    return replace(fact, name=f"{fact.name} of {one.place}", remedy=remedy)


async def _seen_by_one(clients: Sequence[AsyncWebClient], channel: str) -> Fact:
    """Look for a channel in one workspace after the other; what is said of it last is said where none has it."""
    fact = await check_channel(clients[0], channel)
    for client in clients[1:]:
        if fact.ok or fact.detail != "channel_not_found":
            break
        fact = await check_channel(client, channel)
    return fact
