"""Take the pictures of the documentation again: `python -m tools.screenshots`, from the root of the checkout.

The KYC case is played in embedded mode, in a folder that is thrown away, and headless Chromium looks at the sandbox.
"""

import asyncio
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from countersign.config.settings import ROOT, Settings
from countersign.embedded.case import Case
from countersign.embedded.children import Supervisor
from countersign.embedded.packs import example_of
from countersign.embedded.system import Ports, embedded
from sandbox.client import SandboxUser, messages

IMAGES = ROOT / "docs" / "images"
CHANNEL = "C0COMPLIANCE"
SIZE_LIMIT = 300_000
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--virtual-time-budget=5000",  # the page has fetched and drawn everything by then
)


@dataclass(frozen=True)
class Scene:
    """A running system with one case whose filing waits for two people."""

    sandbox: str
    case: Case
    anna: SandboxUser
    boris: SandboxUser
    browser: str

    async def card(self, *marks: str) -> dict[str, Any]:
        """Wait for the card that shows the run and all the marks."""

        def fits(message: dict[str, Any]) -> bool:
            shown = str(message.get("blocks"))  # not its replies, which may be ahead of it
            return all(mark in shown for mark in (self.case.run_id, *marks))

        return await self.anna.find_card(fits)

    async def shoot(self, name: str, height: int, **place: str) -> None:
        """Write the picture of the page as one person sees it."""
        # `still` tells the page not to wait for news, which would never end.
        url = f"{self.sandbox}/?{urlencode({'still': '', 'channel': CHANNEL, **place})}"
        picture = IMAGES / f"{name}.png"
        with tempfile.TemporaryDirectory() as profile:
            own = (f"--user-data-dir={profile}", f"--window-size=1280,{height}", f"--screenshot={picture}", url)
            quiet = asyncio.subprocess.DEVNULL
            process = await asyncio.create_subprocess_exec(self.browser, *FLAGS, *own, stdout=quiet, stderr=quiet)
            if await process.wait() or not picture.exists():
                sys.exit(f"{self.browser} took no picture of {url}")
        if picture.stat().st_size > SIZE_LIMIT:
            sys.exit(f"{picture} has over {SIZE_LIMIT:,} bytes")
        print(f"{picture.relative_to(ROOT)}: {picture.stat().st_size:,} bytes")


@asynccontextmanager
async def _scene(home: Path, browser: str) -> AsyncIterator[Scene]:
    """Bring a case to the two signatures that its filing needs."""
    supervisor = Supervisor()
    async with AsyncExitStack() as stack:
        settings = Settings().model_copy(update={"home": home})
        system = await stack.enter_async_context(embedded(settings, Ports.tried("127.0.0.1", 0, 0), supervisor))
        program = await stack.enter_async_context(supervisor.running(system.serve("countersign")))
        await supervisor.until_answers(program)
        case = await system.outside.bring_in("kyc", example_of(system.demos, "kyc", "onboarding"))
        await case.replied()
        anna = await stack.enter_async_context(SandboxUser(system.sandbox, "U0ANNA"))
        boris = await stack.enter_async_context(SandboxUser(system.sandbox, "U0BORIS"))
        yield Scene(system.sandbox, case, anna, boris, browser)


async def _decide(user: SandboxUser, card: dict[str, Any], reason: str) -> None:
    await user.click(card, "countersign_approve")
    if (await user.see())["modal"]:
        await user.submit({"reason": reason})


async def _take(scene: Scene) -> None:
    await _decide(scene.boris, await scene.card("Review needed", "'actions'"), "The ownership chain is complete.")
    card = await scene.card("Approval needed", "file_report", "'actions'")
    await scene.shoot("card-pending", 1120, user="U0ANNA")
    await scene.anna.click(card, "countersign_approve")
    await scene.anna.find_modal()
    await scene.shoot("card-modal", 1120, user="U0ANNA")
    await scene.anna.submit({"reason": "Checked against the register extract."})
    card = await scene.card("file_report", "1 of 2", "'actions'")
    await _decide(scene.boris, card, "Second signature.")
    run = await scene.case.until("its evidence", lambda run: bool(run["sha256"]))
    await scene.anna.wait_for(lambda state: any(run["sha256"] in message["text"] for message in messages(state)))
    await scene.shoot("card-finished", 1370, user="U0ANNA", thread=card["ts"])


async def _main() -> None:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit(f"no browser found; any of {', '.join(BROWSERS)} will do")
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        async with _scene(Path(folder), browser) as scene:
            await _take(scene)


if __name__ == "__main__":
    asyncio.run(_main())
