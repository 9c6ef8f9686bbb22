"""What the doctor says of Slack: tokens, channels and members, user groups, and our own address in links.

Slack is checked for one workspace by its bot's token, or for each workspace where the app is installed. User groups are
those that cards mention and those that fill groups. For our address: who needs it, and what Slack must know of it.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from bot.doctor import Fact, check_app, check_slack, check_user_groups, check_workspaces
from countersign.connection import connected
from countersign.doctor.database import policy_text, requirements_of
from countersign.routing import RoutingFile, read_routing
from countersign.settings import Settings
from countersign.slack import clients_of, make_client, make_vault
from runtime.clock import Clock
from runtime.services import health as inspection
from runtime.services import installations


async def slack(settings: Settings) -> list[Fact]:
    """Check tokens, scopes, and the channels that cards go to."""
    app_token = settings.slack_app_token.get_secret_value() if settings.slack_app_token else None
    routed = read_routing(settings.routing) if settings.routing else RoutingFile()
    usual = [channel for channel in (settings.slack_channel, *settings.slack_channels.values()) if channel]
    channels = [*usual, *routed.channels]
    if settings.slack_client_id is None:
        client = make_client(settings)
        app = [await check_app(client, settings.slack_app_id)] if settings.slack_app_id else []
        return [*await check_slack(client, app_token, channels), *app]
    async with connected(settings) as conn:
        live = await installations.live(conn, settings.tenant, make_vault(settings))
        ended = await installations.ended(conn, settings.tenant)
    return await check_workspaces(live, ended, settings.slack_api_url, app_token, channels)


async def members(settings: Settings) -> list[Fact]:
    """Name the people of the directory whose accounts Slack says are all deactivated: nobody can ask them."""
    async with connected(settings) as conn:
        left = await installations.people_left(conn, settings.tenant)
    detail = f"deactivated in Slack: {', '.join(left)}" if left else "everyone in the directory is active in Slack"
    remedy = "Remove them from the directory file, or update their accounts, and load it as a new version."
    return [Fact("members", ok=not left, detail=detail, remedy=remedy)]


_LATE = timedelta(hours=1)
"""After so long without an answer of Slack nobody keeps the groups at what their user groups are."""


async def user_groups(settings: Settings, clock: Clock) -> list[Fact]:
    """Look for each user group in Slack, and when the directory last heard of those that it has people from."""
    async with connected(settings) as conn:
        heard = await inspection.usergroup_state(conn, settings.tenant)
        clients = await clients_of(settings, conn)
    routed = read_routing(settings.routing) if settings.routing else RoutingFile()
    named = {*heard.sources.groups.values(), *routed.usergroups}
    found = await check_user_groups(clients, named, by_email=bool(heard.sources.emails))
    facts = [_fresh(heard.refreshed_at, clock())] if heard.sources.groups else []
    return [*facts, *found] or [Fact("user groups", ok=True, detail="none are named")]


def _fresh(at: datetime | None, now: datetime) -> Fact:
    is_fresh = at is not None and now - at < _LATE
    detail = f"read from Slack at {at:%Y-%m-%d %H:%M} UTC" if at else "never read from Slack"
    return Fact("user groups", is_fresh, detail, "Run `countersign serve --role=bot`: it asks every ten minutes.")


_REMEDY = (
    "Set COUNTERSIGN_PUBLIC_URL for the roles edge, bot and worker to where people's browsers reach the edge: Approve"
    " leads to a page there."
)


async def links(settings: Settings, clock: Clock) -> list[Fact]:
    """Say what our links begin with, or who cannot sign without such an address."""
    if settings.public_url is not None:
        host = urlsplit(settings.public_url).hostname
        app = "" if settings.slack_app_id else "; without COUNTERSIGN_SLACK_APP_ID their page leads to Slack alone"
        detail = f"begin with {settings.public_url}; Slack shows what is behind them if the app has {host} among its"
        return [Fact("links", ok=True, detail=f"{detail} unfurl domains (`countersign slack manifest`){app}")]
    text = await policy_text(settings, clock)
    signed = _signed(requirements_of(text, settings.tenant))
    if signed:
        detail = f"COUNTERSIGN_PUBLIC_URL is not set, so nobody can sign what policy wants signed: {', '.join(signed)}"
        return [Fact("links", ok=False, detail=detail, remedy=_REMEDY)]
    return [Fact("links", ok=True, detail="none: COUNTERSIGN_PUBLIC_URL is not set")]


def _signed(requirements: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the names of the requirements that are signed with something."""
    return sorted(name for name, one in requirements.items() if one.get("sign_with"))
