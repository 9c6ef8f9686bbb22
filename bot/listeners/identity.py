"""From a Slack user to exactly one person, or a refusal. Whatever is not known counts against the click."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp
from slack_sdk.errors import SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from bot.listeners.payloads import User
from runtime.desk.model import Desk
from runtime.model.actor import Person, SlackAccount
from runtime.model.approval import Refusal

# Leaves room to record the refusal before Slack's three seconds are over.
_LOOKUP_SECONDS = 1.0

_TEXTS = {
    "identity.other_team": "You belong to another workspace. Only members of this one can decide here.",
    "identity.deactivated": "This Slack account is deactivated, so it cannot decide.",
    "identity.bot": "Bots cannot decide. A person has to.",
    "identity.guest": "Guests cannot decide. Please ask a full member of this workspace.",
    "identity.unknown": "Countersign's directory has no person for your Slack account, so you cannot decide here.",
    "identity.ambiguous": "Countersign's directory has two people for your Slack account. Please tell its operator.",
    "identity.lookup_failed": "Slack did not confirm who you are just now, so this was not counted. Please try again.",
}


@dataclass(frozen=True)
class Identity:
    """Who acted: the account always, and either the one person or why not."""

    account: SlackAccount
    person: Person | None
    refusal: Refusal | None


def _refuse(code: str) -> Refusal:
    return Refusal(code, _TEXTS[code])


def team_refusal(user: User, installed_team: str) -> Refusal | None:
    """Refuse whoever acts from another team, or from none."""
    return None if user.team_id == installed_team else _refuse("identity.other_team")


def profile_refusal(profile: Mapping[str, Any] | None, user: User) -> Refusal | None:
    """Refuse by what users.info says; None means that it could not be asked."""
    if profile is None or profile.get("id") != user.id:
        return _refuse("identity.lookup_failed")
    if profile.get("team_id") != user.team_id or profile.get("is_stranger"):
        return _refuse("identity.other_team")
    if profile.get("deleted") is not False:
        return _refuse("identity.deactivated")
    if profile.get("is_bot") is not False or profile.get("is_workflow_bot") or user.id == "USLACKBOT":
        return _refuse("identity.bot")
    if profile.get("is_restricted") is not False or profile.get("is_ultra_restricted") is not False:
        return _refuse("identity.guest")
    return None


def the_one(people: Sequence[Person]) -> Person | Refusal:
    """Return the one person behind an account."""
    if len(people) == 1:
        return people[0]
    return _refuse("identity.ambiguous" if people else "identity.unknown")


async def _profile(client: AsyncWebClient, user: str) -> Mapping[str, Any] | None:
    try:
        async with asyncio.timeout(_LOOKUP_SECONDS):
            response = await client.users_info(user=user)
    except (SlackClientError, aiohttp.ClientError, TimeoutError):
        return None
    profile = response.get("user")
    return profile if isinstance(profile, dict) else None


async def identify(user: User, installed_team: str, client: AsyncWebClient, desk: Desk) -> Identity:
    """Find the person behind a payload's user: the user's own team, then Slack's record, then the directory."""
    account = SlackAccount(user.team_id or "", user.id)
    refusal = team_refusal(user, installed_team)
    if refusal is None:
        refusal = profile_refusal(await _profile(client, user.id), user)
    if refusal is None:
        found = the_one(await desk.people(account))
        return Identity(account, None, found) if isinstance(found, Refusal) else Identity(account, found, None)
    return Identity(account, None, refusal)
