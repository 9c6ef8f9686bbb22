"""What can be said about an app that is installed in many workspaces, without posting anything."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.client import slack_client
from bot.slack.doctor import Fact, check_channel, check_socket_mode, check_token
from runtime.model.installed import Ended, Installed

_AGAIN = "Install the app there again, by a link of `countersign slack install-link`; what is held goes on then."


async def check_workspaces(
    live: Sequence[Installed], ended: Iterable[Ended], base_url: str, app_token: str | None, channels: Iterable[str]
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


def _gone(one: Ended) -> Fact:
    detail = f"not installed any more since {one.removed_at:%Y-%m-%d %H:%M} UTC: {one.why}"
    return Fact(f"slack workspace {one.place}", ok=False, detail=detail, remedy=_AGAIN)


def _about(one: Installed, fact: Fact) -> Fact:
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
