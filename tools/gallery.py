"""Look at every kind of card: `python -m tools.gallery FOLDER` writes pictures of each.

They are wide and narrow, light and dark. The cards are made of samples, and posted into a sandbox workspace, a channel
for each.
"""

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

from playwright.async_api import Browser, async_playwright

from bot.cards.blocks import Block, section
from bot.cards.card import card
from bot.cards.held import held_buttons
from bot.cards.home.state import SEVERAL
from bot.cards.messages import words
from bot.cards.text import plain
from bot.slack.client import SlackClient, slack_client
from countersign.embedded.setup.work import to_stderr
from runtime.clock import utc_now
from runtime.desk.declared.model import Declared, DeclaredField
from runtime.desk.links.addresses import request_link
from runtime.desk.model import ApprovalView, EditsView, ExecuteView, FieldView, VoteView
from runtime.model.approvals.approval import AskKind, Result, ResultCode
from runtime.model.approvals.votes import VoteVerdict
from runtime.model.messages import RunName, StepHeld
from runtime.model.states import ApprovalStatus
from sandbox.client import SandboxUser
from sandbox.harness import served
from sandbox.server import create_app
from sandbox.workspace import parse_workspace
from tools import chromium
from tools.gallery_desk import Showing, homes, lists
from tools.gallery_links import ADDRESS, DOMAIN, share

NOW = utc_now()
APP = {
    "id": "A0APP",
    "bot_user_id": "U0BOT",
    "bot_token": "xoxb-1",
    "app_token": "xapp-1",
    "signing_secret": "of-a-gallery",
    "unfurl_domains": [DOMAIN],
}
SIZES: tuple[tuple[str, int, int, Literal["light", "dark"]], ...] = (
    ("wide", 1440, 900, "light"),
    ("wide-dark", 1440, 900, "dark"),
    ("narrow", 390, 844, "light"),
    ("narrow-dark", 390, 844, "dark"),
)
ASKED = ApprovalView(
    approval_id="apr-1",
    kind=AskKind.EFFECT,
    status=ApprovalStatus.REQUESTED,
    revision=1,
    stamp="5" * 16,
    tenant="meridian",
    run_id="run_7f1c2b9e4f0d4f5b9b570a3f",
    run_title="Incident triage (incident-triage v2)",
    step="assignment",
    connector="servicenow",
    operation="assign",
    target="incident:9d385017c611228701d22104cc95c371",
    fields=(
        FieldView("assignment_group", "Service Desk", "Network"),
        FieldView("category", "inquiry", "network"),
        FieldView("watchers", ["Ann Berg", "Carla Mota"], ["Ann Berg", "Tobias Lindqvist", "Carla Mota"]),
        FieldView("number", None, "INC0010001"),
        FieldView("priority", None, 2),
        FieldView("contacts", None, [{"name": "Ann", "phone": "100", "site": "Oslo"}, {"name": "Bo", "phone": "200"}]),
    ),
    tier="medium",
    reversible_by="set category and assignment group back to the former values in the result",
    digest="ab12" * 16,
    requester="Rita Sommer",
    submitted_by="servicenow",
    purpose="Set the category and the assignment group of an incident",
    reasons=(("incident.priority", "Incidents of priority 1 and 2 are assigned by the desk's leads"),),
    quorum=2,
    groups=("desk-leads",),
    all_groups=False,
    reason_required=False,
    asked=("U0ANNA", "U0BORIS"),
    votes=(),
    requested_at=NOW,
    expires_at=NOW + timedelta(hours=8),
    escalated=False,
    result=None,
    shortfall="",
    links=(("Trigger", "servicenow.incident INC0010001"),),
    mocked=False,
    reference="INC0010001",
    link=request_link(ADDRESS, "apr_1f9c"),
)
DECLARED = Declared(title="Assign INC0010001 to Network", fields=(DeclaredField("Priority", 2, "text"),))
ANNA = VoteView("Anna Berg", VoteVerdict.APPROVE, "It is the tunnel again.", NOW)
BORIS = VoteView("Boris Lind", VoteVerdict.REJECT, "The Service Desk has it under way.", NOW)
OVER = replace(ASKED, declared=DECLARED, revision=4, decided_at=NOW)
NIGHT = {"days": ["mon", "tue", "wed"], "from": "22:00", "until": "04:00"}
TIMES = ExecuteView((NIGHT,), "Europe/Oslo", None, "P3D", NOW + timedelta(hours=11))
SAMPLES = {
    "pending": replace(ASKED, declared=DECLARED),
    "default": ASKED,
    "to-sign": replace(ASKED, declared=DECLARED, sign_with="passkey"),
    "timed": replace(ASKED, declared=DECLARED, execute=TIMES),
    "waiting": replace(
        OVER,
        status=ApprovalStatus.APPROVED,
        votes=(ANNA,),
        execute=TIMES,
        result=Result(ResultCode.WINDOW, (TIMES.earliest.isoformat(),)),
    ),
    "half-signed": replace(ASKED, declared=DECLARED, votes=(ANNA,), escalated=True),
    "called": replace(ASKED, declared=DECLARED, asked=("U0ANNA", "S0ONCALL")),
    "fell-back": replace(
        ASKED,
        declared=DECLARED,
        fell_back="it needs 2 distinct people, and 1 may decide",
        fallback=("heads",),
        joined=("heads",),
    ),
    "approved": replace(OVER, status=ApprovalStatus.APPROVED, votes=(ANNA,), result=Result(ResultCode.PERFORMED)),
    "rejected": replace(
        OVER, status=ApprovalStatus.REJECTED, votes=(BORIS,), result=Result(ResultCode.REJECTED, ("Boris Lind",))
    ),
    "edited": replace(
        ASKED,
        declared=DECLARED,
        can_edit=True,
        edited=EditsView(
            ("Carla Mota",),
            (FieldView("priority", 1, 2), FieldView("note", None, "Only the tunnel in Oslo")),
            (("Carla Mota", "It is not as urgent as that."),),
        ),
    ),
    "replaced": replace(
        OVER,
        status=ApprovalStatus.CANCELED,
        result=Result(ResultCode.REPLACED, ("Carla Mota",)),
        replaced_by="apr-2",
    ),
    "glass": replace(ASKED, declared=DECLARED, tier="high", break_glass=("commanders",)),
    "break-glass": replace(
        OVER,
        tier="high",
        status=ApprovalStatus.APPROVED,
        votes=(replace(ANNA, reason="The tunnel is down, and nobody of the desk answers.", ticket="INC0010001"),),
        result=Result(ResultCode.PERFORMED),
    ),
    "glass-review": replace(
        ASKED,
        declared=DECLARED,
        tier="high",
        kind=AskKind.AFTERWARDS,
        quorum=1,
        groups=("internal-audit",),
        reason_required=True,
        purpose="Look at what was done without the signatures of others, and say whether that was right.",
        reasons=(
            (
                "glass.broken",
                "Anna Berg broke the glass (INC0010001): The tunnel is down, and nobody of the desk answers.",
            ),
        ),
    ),
    "expired": replace(OVER, status=ApprovalStatus.EXPIRED, result=Result(ResultCode.NOT_IN_TIME)),
    "undoable": replace(
        OVER, status=ApprovalStatus.APPROVED, votes=(ANNA,), result=Result(ResultCode.PERFORMED), can_undo=True
    ),
    "undo": replace(ASKED, purpose="Set category and assignment group back, unless somebody has changed them since"),
    "in-doubt": replace(ASKED, declared=DECLARED, kind=AskKind.IN_DOUBT, quorum=1, reason_required=True),
    "review": replace(
        ASKED, kind=AskKind.TASK, operation="Review Halvorsen Seefracht GmbH", target="", connector="", quorum=1
    ),
}
HELD = StepHeld(
    run=RunName(title="Incident triage", reference="INC0010001"),
    run_id=ASKED.run_id,
    step="labels",
    why="servicenow answered 403: no right to add labels",
    code="connector.refused",
)


def _messages() -> Iterator[tuple[str, str, list[Block]]]:
    """Yield each message: its name, its text and its blocks."""
    for name, view in SAMPLES.items():
        shown = card(view, now=NOW)
        yield name, shown.text, shown.blocks
    yield "held", words(HELD), [section(plain(words(HELD))), held_buttons(HELD.run_id, HELD.step)]


def _workspace(names: list[str], request_url: str) -> dict[str, Any]:
    people = (("U0ANNA", "Anna Berg"), ("U0BORIS", "Boris Lind"))
    users: list[dict[str, Any]] = [
        {"id": one, "name": one.lower(), "real_name": name, "title": "Lead"} for one, name in people
    ]
    bot: dict[str, Any] = {"id": "U0BOT", "name": "countersign", "real_name": "Countersign", "is_bot": True}
    ids = [user["id"] for user in [*users, bot]]
    return {
        "team": {"id": "T0HOST", "name": "Meridian Bank", "domain": "meridian"},
        "users": [*users, bot],
        "channels": [{"id": f"C0ROOM{at:02}", "name": name, "members": ids} for at, name in enumerate(names)],
        "usergroups": [{"id": "S0ONCALL", "handle": "on-call", "name": "On call", "users": ["U0ANNA"]}],
        "app": {**APP, "request_url": request_url},
    }


async def _shoot(browser: Browser, url: str, folder: Path, name: str, **place: str) -> None:
    for size, width, height, scheme in SIZES:
        page = await browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        seen = urlencode({"still": "", "user": "U0ANNA", **place})
        await page.goto(f"{url}/?{seen}", wait_until="networkidle")
        await page.screenshot(path=folder / f"{name}-{size}.png")
        await page.close()


async def _shoot_desk(browser: Browser, url: str, folder: Path, showing: Showing, client: SlackClient) -> None:
    """Look at a desk, section by section, and then at the lists of several requests, which lie over it."""
    showing.client = client
    for name, view in homes(SAMPLES["pending"], SAMPLES["approved"]):
        await client.views_publish(user_id="U0ANNA", view=view)
        await _shoot(browser, url, folder, name, view="home")
    await client.views_publish(user_id="U0ANNA", view=next(homes(SAMPLES["pending"], SAMPLES["approved"]))[1])
    async with SandboxUser(url, "U0ANNA") as anna:
        for name, modal in lists(SAMPLES["pending"]):
            showing.modal = modal
            await anna.click_view("home", SEVERAL)
            await _shoot(browser, url, folder, name, view="home")
            await anna.close_modal()


async def _main(folder: Path) -> None:
    viewer, messages = chromium.ensure(to_stderr), list(_messages())
    showing = Showing()
    async with AsyncExitStack() as stack:
        request_url = f"{await stack.enter_async_context(served(showing.app))}/"
        described = _workspace([*(name for name, _, _ in messages), "link"], request_url)
        workspace = parse_workspace(described, "the gallery")
        app = create_app(workspace, clock=utc_now, sleep=asyncio.sleep)
        url = await stack.enter_async_context(served(app))
        playwright = await stack.enter_async_context(async_playwright())
        env: dict[str, str | float | bool] = {**os.environ, **viewer.env}
        browser = await playwright.chromium.launch(executable_path=viewer.path, env=env)
        client = slack_client("xoxb-1", f"{url}/api/")
        for at, (name, text, blocks) in enumerate(messages):
            channel = f"C0ROOM{at:02}"
            await client.chat_postMessage(channel=channel, text=text, blocks=blocks)
            await _shoot(browser, url, folder, name, channel=channel)
        room = f"C0ROOM{len(messages):02}"
        async with SandboxUser(url, "U0ANNA") as anna:
            await share(anna, client, room, (SAMPLES["pending"], SAMPLES["approved"]), NOW)
        await _shoot(browser, url, folder, "link", channel=room)
        await _shoot_desk(browser, url, folder, showing, client)
        await browser.close()


if __name__ == "__main__":
    if len(sys.argv) != 2:  # noqa: PLR2004 - the program and the folder
        sys.exit("usage: python -m tools.gallery FOLDER")
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    asyncio.run(_main(Path(sys.argv[1])))
