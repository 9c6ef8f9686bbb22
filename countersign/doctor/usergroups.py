"""What the doctor says of Slack's user groups: those that cards call, and those that groups have their people from."""

from datetime import datetime, timedelta

from bot.slack.doctor import Fact, check_user_groups
from countersign.connection import connected
from countersign.routing import RoutingFile, read_routing
from countersign.settings import Settings
from countersign.slack import clients_of
from runtime.clock import Clock
from runtime.services import health as inspection

_LATE = timedelta(hours=1)
"""After so long without an answer of Slack nobody keeps the groups at what their user groups are."""


async def user_groups(settings: Settings, clock: Clock) -> list[Fact]:
    """Look for each user group in Slack, and when the directory last heard of those that it has people from."""
    async with connected(settings) as conn:
        heard = await inspection.user_groups(conn, settings.tenant)
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
