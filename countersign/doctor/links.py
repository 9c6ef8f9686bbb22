"""What the doctor says of our own address: who needs it, and what Slack has to know of it."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from bot.slack.doctor import Fact
from countersign.doctor.directory import requirements_of
from countersign.doctor.probe import policy_text
from countersign.settings import Settings
from runtime.clock import Clock

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
