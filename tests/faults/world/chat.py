"""The sandbox workspace as a process of its own, with the real protocol, and room for many people at once."""

import argparse
import asyncio
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web

from runtime.clock import utc_now
from sandbox.server import create_app
from sandbox.slack_errors import Limits
from sandbox.workspace import load_workspace

TEAM = "T0WORLD"
PEOPLE = ("anna", "boris", "sena")
OPERATOR = "omar"
DESKS = tuple(f"desk-{number}" for number in range(16))
BOT_TOKEN, SIGNING_SECRET = "xoxb-world-bot-token", "world-signing-secret-1234567890"
LIMITS = Limits(burst=100_000, channel_per_second=50.0, channel_burst=1000)


def user_of(person: str) -> str:
    """Return a person's account."""
    return f"U0{person.upper()}"


def channel_of(group: str) -> str:
    """Return the channel of a group."""
    return f"C0{group.upper().replace('-', '')}"


def workspace(request_url: str) -> dict[str, Any]:
    """Return the workspace whose clicks go to an address."""
    everybody = [*PEOPLE, OPERATOR]
    users = [{"id": user_of(name), "name": name, "real_name": name.title()} for name in everybody]
    members = [*(user_of(name) for name in everybody), "U0BOT"]
    groups = ("approvals", "compliance", *DESKS)
    return {
        "team": {"id": TEAM, "name": "World", "domain": "world"},
        "users": [*users, {"id": "U0BOT", "name": "countersign", "real_name": "Countersign", "is_bot": True}],
        "channels": [{"id": channel_of(group), "name": group, "members": members} for group in groups],
        "app": {
            "id": "A0COUNTERSIGN",
            "bot_user_id": "U0BOT",
            "bot_token": BOT_TOKEN,
            "app_token": "xapp-world-app-token",
            "signing_secret": SIGNING_SECRET,
            "request_url": request_url,
        },
    }


def write_workspace(folder: Path, request_url: str) -> Path:
    """Write the workspace's file."""
    file = folder / "workspace.yaml"
    file.write_text(yaml.safe_dump(workspace(request_url), sort_keys=False), encoding="utf-8")
    return file


async def _serve(options: argparse.Namespace) -> None:
    app = create_app(load_workspace(options.workspace), clock=utc_now, sleep=asyncio.sleep, limits=LIMITS)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", options.port).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--workspace", type=Path, required=True)
    asyncio.run(_serve(parser.parse_args()))
