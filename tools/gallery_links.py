"""Links of ours that somebody has shared, for the gallery: of a request that waits, of one that is over, of a run."""

from datetime import datetime
from typing import Any

from bot.slack.client import SlackClient
from bot.views.unfurled import request_unfurl, run_unfurl
from bot.views.ways import to_message
from runtime.services.approval_view import ApprovalView
from runtime.services.front_model import RunView
from runtime.services.link_addresses import request_link, run_link
from sandbox.client import SandboxUser

DOMAIN = "countersign.example"
ADDRESS = f"https://{DOMAIN}"


async def share(
    anna: SandboxUser, client: SlackClient, channel: str, views: tuple[ApprovalView, ApprovalView], now: datetime
) -> None:
    """Have somebody share links, and the app say what they lead to."""
    waits, over = request_link(ADDRESS, "apr_1f9c"), request_link(ADDRESS, "apr_2e8b")
    run = RunView("run_7f1c", "INC0010001", "incident-triage v2", "waiting_approval", "", "rita", now, None, ())
    of_run = run_link(ADDRESS, run.run_id)
    await anna.say(channel, f"Can somebody look at {waits}? The one before, {over}, is done. All of it: {of_run}")
    card = to_message("https://meridian.slack.com/", (channel, "1.0"))
    shown: dict[str, dict[str, Any]] = {
        waits: {"blocks": request_unfurl(views[0], card, now)},
        over: {"blocks": request_unfurl(views[1], card, now)},
        of_run: {"blocks": run_unfurl(run, card, now)},
    }
    message = await anna.find_card(lambda one: one["user"] == anna.user_id)
    await client.chat_unfurl(channel=channel, ts=message["ts"], unfurls=shown)
