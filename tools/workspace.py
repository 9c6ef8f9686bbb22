"""The workspace of the gallery: two people, our app, and a channel for each message."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from runtime.clock import utc_now
from sandbox.harness import served
from sandbox.server import create_app
from sandbox.workspace import parse_workspace
from tools.gallery_links import DOMAIN
from tools.gallery_said import messages

APP: dict[str, Any] = {
    "id": "A0APP",
    "bot_user_id": "U0BOT",
    "bot_token": "xoxb-1",
    "app_token": "xapp-1",
    "signing_secret": "of-a-gallery",
    "unfurl_domains": [DOMAIN],
}
_PEOPLE = (("U0ANNA", "Anna Berg"), ("U0BORIS", "Boris Lind"))
OF_LINKS = "link"
"""The channel in which links are shared."""


def channel_of(name: str) -> str:
    """Return the id of the channel of a message."""
    return f"C0{name.upper().replace('-', '')}"


@asynccontextmanager
async def workspace_of(request_url: str, wants: Callable[[str], bool]) -> AsyncIterator[str]:
    """Serve the workspace, with a channel for each message that is wanted; gives its address."""
    names = [*(name for name, _, _ in messages() if wants(name)), OF_LINKS]
    workspace = parse_workspace(_described(names, request_url), "the gallery")
    async with served(create_app(workspace, clock=utc_now, sleep=asyncio.sleep)) as url:
        yield url


def _described(names: list[str], request_url: str) -> dict[str, Any]:
    users: list[dict[str, Any]] = [
        {"id": one, "name": one.lower(), "real_name": name, "title": "Lead"} for one, name in _PEOPLE
    ]
    bot: dict[str, Any] = {"id": "U0BOT", "name": "countersign", "real_name": "Countersign", "is_bot": True}
    ids = [user["id"] for user in [*users, bot]]
    return {
        "team": {"id": "T0HOST", "name": "Meridian Bank", "domain": "meridian"},
        "users": [*users, bot],
        "channels": [{"id": channel_of(name), "name": name, "members": ids} for name in names],
        "usergroups": [{"id": "S0ONCALL", "handle": "on-call", "name": "On call", "users": ["U0ANNA"]}],
        "app": {**APP, "request_url": request_url},
    }
