"""The gallery: `python -m tools.gallery FOLDER` writes pictures of everything that people see, of samples.

Pictures are wide and narrow, light and dark. Names after the folder choose pictures by how their names begin. A sandbox
workspace has two people, our app, and a channel for each message; any click opens the modal to be shown.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

from aiohttp import web
from playwright.async_api import Browser, Page, async_playwright, expect

from bot.client import SlackClient, slack_client
from bot.views.card import card
from bot.views.home_state import SEVERAL
from countersign.embedded.work import to_stderr
from runtime.clock import utc_now
from sandbox.harness import SandboxUser, served
from sandbox.server import create_app
from sandbox.workspace import parse_workspace
from tools import chromium
from tools.gallery_homes import homes, lists
from tools.gallery_messages import messages
from tools.gallery_modals import FAULTS, FAULTY, FILLED, modals, pages
from tools.samples import DOMAIN, NOW, SAMPLES, share


class ModalApp:
    """An app that answers a click with a modal, and its submission with what is wrong; it serves pages, too."""

    def __init__(self, pages: Mapping[str, bytes], faults: Mapping[str, str]) -> None:
        self.client: SlackClient | None = None
        self.modal: dict[str, Any] = {}
        self._faults = faults
        self._pages = pages
        self.app = web.Application()
        self.app.router.add_post("/", self._answer)
        self.app.router.add_get("/{name}", self._page)

    async def _answer(self, request: web.Request) -> web.Response:
        sent = json.loads(str((await request.post()).get("payload", "{}")))
        if sent.get("type") == "view_submission":
            return web.json_response({"response_action": "errors", "errors": dict(self._faults)})
        if sent.get("type") == "block_actions" and self.client:
            await self.client.views_open(trigger_id=sent["trigger_id"], view=self.modal)
        return web.Response(text="")

    async def _page(self, request: web.Request) -> web.Response:
        return web.Response(body=self._pages[request.match_info["name"]], content_type="text/html", charset="utf-8")


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
    workspace = parse_workspace(_workspace_text(names, request_url), "the gallery")
    async with served(create_app(workspace, clock=utc_now, sleep=asyncio.sleep)) as url:
        yield url


def _workspace_text(names: list[str], request_url: str) -> dict[str, Any]:
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


SIZES: tuple[tuple[str, int, int, Literal["light", "dark"]], ...] = (
    ("wide", 1440, 900, "light"),
    ("wide-dark", 1440, 900, "dark"),
    ("narrow", 390, 844, "light"),
    ("narrow-dark", 390, 844, "dark"),
)
_COPY = "copy"
"""Of a card, in the conversation with one person."""


@dataclass(frozen=True)
class Camera:
    """Takes a picture in each size of what is wanted: what begins like one of these names, or all without any."""

    browser: Browser
    folder: Path
    wanted: tuple[str, ...]

    def wants(self, name: str) -> bool:
        """Say whether there is to be a picture of it."""
        return not self.wanted or name.startswith(self.wanted)

    async def shoot(self, url: str, name: str, first: Callable[[Page], Awaitable[None]] | None = None) -> None:
        """Take them of an address, after something was done there, if that is given."""
        for size, width, height, scheme in SIZES:
            page = await self.browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            await page.goto(url, wait_until="networkidle")
            if first:
                await first(page)
            await page.screenshot(path=self.folder / f"{name}-{size}.png")
            await page.close()


@asynccontextmanager
async def looking(folder: Path, *wanted: str) -> AsyncIterator[Camera]:
    """Yield a camera with a Chromium without a screen, which is fetched where there is none."""
    viewer = chromium.ensure(to_stderr)
    env: dict[str, str | float | bool] = {**os.environ, **viewer.env}
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=viewer.path, env=env)
        yield Camera(browser, folder, wanted)
        await browser.close()


@dataclass(frozen=True)
class Stage:
    """A workspace that is served, our app in it, and who looks at it."""

    camera: Camera
    url: str
    client: SlackClient
    showing: ModalApp
    anna: SandboxUser

    async def shoot(self, name: str, first: Callable[[Page], Awaitable[None]] | None = None, **place: str) -> None:
        """Take the pictures of a place in the workspace."""
        url = f"{self.url}/?{urlencode({'still': '', 'user': self.anna.user_id, **place})}"
        await self.camera.shoot(url, name, first)

    async def shoot_messages(self) -> None:
        """Post each message into its channel, and look at it."""
        for name, text, blocks in messages():
            if self.camera.wants(name):
                await self.client.chat_postMessage(channel=channel_of(name), text=text, blocks=blocks)
                await self.shoot(name, channel=channel_of(name))
        if self.camera.wants(_COPY):
            shown = card(SAMPLES["pending"], now=NOW)
            talk = str((await self.client.conversations_open(users=self.anna.user_id))["channel"]["id"])
            await self.client.chat_postMessage(channel=talk, text=shown.text, blocks=shown.blocks)
            await self.shoot(_COPY, channel=talk)
        if self.camera.wants(OF_LINKS):
            shared = (SAMPLES["pending"], SAMPLES["approved"])
            await share(self.anna, self.client, channel_of(OF_LINKS), shared, NOW)
            await self.shoot(OF_LINKS, channel=channel_of(OF_LINKS))

    async def shoot_homes(self) -> None:
        """Look at a desk, section by section."""
        for name, view in homes(SAMPLES["pending"], SAMPLES["approved"]):
            if self.camera.wants(name):
                await self.client.views_publish(user_id=self.anna.user_id, view=view)
                await self.shoot(name, view="home")

    async def shoot_modals(self) -> None:
        """Look at each modal over the desk, and at what a form says that is not filled in rightly."""
        desk = next(homes(SAMPLES["pending"], SAMPLES["approved"]))[1]
        await self.client.views_publish(user_id=self.anna.user_id, view=desk)
        for name, modal in (*lists(SAMPLES["pending"]), *modals()):
            if not self.camera.wants(name):
                continue
            self.showing.modal = modal
            await self.anna.click_view("home", SEVERAL)
            await self.shoot(name, _fill_in if name == FAULTY else None, view="home")
            await self.anna.close_modal()


async def _fill_in(page: Page) -> None:
    """Submit the open form, with what is refused among its values."""
    for label, value in FILLED.items():
        await page.get_by_label(label).fill(value)
    await page.get_by_role("button", name="Request", exact=True).click()
    await expect(page.get_by_text(next(iter(FAULTS.values())))).to_be_visible()


async def take(folder: Path, wanted: tuple[str, ...] = ()) -> None:
    """Write pictures into a folder: of everything, or of what begins like one of these names."""
    shown = dict(pages())
    showing = ModalApp(shown, FAULTS)
    async with looking(folder, *wanted) as camera, served(showing.app) as app:
        async with workspace_of(f"{app}/", camera.wants) as url, SandboxUser(url, "U0ANNA") as anna:
            showing.client = slack_client(APP["bot_token"], f"{url}/api/")
            stage = Stage(camera, url, showing.client, showing, anna)
            await stage.shoot_messages()
            await stage.shoot_homes()
            await stage.shoot_modals()
        for name in filter(camera.wants, shown):
            await camera.shoot(f"{app}/{name}", name)


def main(arguments: list[str]) -> None:
    """Take the pictures."""
    if not arguments:
        sys.exit("usage: python -m tools.gallery FOLDER [NAME]...")
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    asyncio.run(take(folder, tuple(arguments[1:])))


if __name__ == "__main__":
    main(sys.argv[1:])
