"""Take the pictures of the documentation again: `python -m tools.screenshots`, from the root of the checkout.

Every picture stands in a table, by its name in docs/images and where it comes from: the gallery, or a case that is
played: the KYC case, in embedded mode, in a folder that is thrown away. A Chromium without a screen looks at the
sandbox, at what the page that verifies bundles says of the case, and at the report on it.
"""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from PIL import Image
from playwright.async_api import Browser, Page, expect

from bot.views.card import SHORT_ID
from countersign.embedded.case import Case
from countersign.embedded.children import Supervisor
from countersign.embedded.packs import example_of
from countersign.embedded.system import Ports, embedded
from countersign.embedded.work import SetUpError
from countersign.settings import ROOT, Settings
from evidence import verifier_page
from evidence.report import report_on
from evidence.verify.trust import trust_of
from receipts.note import Algorithm, NoteSigner
from receipts.signing import load_or_create
from sandbox.harness import SandboxUser, messages
from tools.gallery import looking, take

SIZE_LIMIT = 150_000
"""Bytes of one picture."""

WIDE, PHONE = (1440, 900), (390, 844)
CASE = {
    "card-all": WIDE,
    "card-finished": WIDE,
    "card-modal": WIDE,
    "card-pending": WIDE,
    "card-phone": PHONE,
    "report-page": (1440, 1560),
    "report-phone": PHONE,
    "verify-page": (1440, 1900),
    "verify-phone": PHONE,
}
"""Taken of a case that is played: width and height in pixels."""

GALLERY = {
    "card-break-glass": "break-glass-wide",
    "card-edit": "edit-form-wide",
    "card-edit-phone": "edit-form-narrow",
    "card-break-glass-form": "break-glass-form-wide",
    "card-break-glass-form-phone": "break-glass-form-narrow",
    "card-break-glass-review": "break-glass-review-wide",
    "card-break-glass-review-phone": "break-glass-review-narrow",
    "form": "request-form-wide",
    "form-faults-phone": "request-form-faults-narrow",
    "home-before-vote-narrow": "home-before-vote-narrow",
    "home-before-vote-wide": "home-before-vote-wide",
    "home-waiting-narrow": "home-waiting-narrow",
    "home-waiting-narrow-dark": "home-waiting-narrow-dark",
    "home-waiting-wide": "home-waiting-wide",
    "home-waiting-wide-dark": "home-waiting-wide-dark",
    "passkey-page": "passkey-wide",
    "passkey-phone": "passkey-narrow",
}
"""Taken of the gallery: its picture, which is a name there and a size."""


def scenes() -> tuple[str, ...]:
    """Return the names of the gallery of which there are pictures."""
    return tuple({picture.removesuffix("-dark").rpartition("-")[0] for picture in GALLERY.values()})


CHANNEL = "C0COMPLIANCE"


@dataclass(frozen=True)
class Scene:
    """A running system with one case whose filing waits for two people."""

    sandbox: str
    case: Case
    anna: SandboxUser
    boris: SandboxUser
    browser: Browser
    home: Path
    folder: Path

    async def card(self, *marks: str) -> dict[str, Any]:
        """Wait for the card that shows the run and all the marks."""

        def fits(message: dict[str, Any]) -> bool:
            shown = str(message.get("blocks"))  # not its replies, which may be ahead of it
            return all(mark in shown for mark in (self.case.run_id[-SHORT_ID:], *marks))

        return await self.anna.find_card(fits)

    async def page(self, name: str) -> Page:
        """Return a new page as large as that picture is."""
        width, height = CASE[name]
        return await self.browser.new_page(viewport={"width": width, "height": height})

    async def keep(self, page: Page, name: str) -> None:
        """Write what the page shows."""
        await page.screenshot(path=self.folder / f"{name}.png")
        await page.close()

    async def shoot(self, name: str, **place: str) -> None:
        """Write the picture of the sandbox as one person sees it."""
        # `still` tells the page not to wait for news, which would never end.
        url = f"{self.sandbox}/?{urlencode({'still': '', 'channel': CHANNEL, **place})}"
        page = await self.page(name)
        await page.goto(url, wait_until="networkidle")
        await self.keep(page, name)

    async def shoot_verified(self, name: str, *, log_key: str = "") -> None:
        """Write the picture of the page that verifies bundles, from its top, with this case's bundle in it.

        Where a key of the log is given, the fields for it are open.
        """
        page, file = await self.page(name), self.home / "verify.html"
        file.write_text(verifier_page.page(), encoding="utf-8")
        await page.goto(file.as_uri())
        await page.get_by_label("Evidence bundle").set_input_files(self.home / f"evidence/{self.case.run_id}.zip")
        await page.get_by_label("Public key").set_input_files(self.home / "keys/evidence.pub.pem")
        if log_key:
            await page.get_by_text("Check more").click()
            await page.get_by_label("Keys of the audit log").fill(log_key)
            await page.get_by_label("Keys of the audit log").blur()
            await expect(page.locator("#summary")).to_contain_text("signed by its key")
        await expect(page.locator("#verdict")).to_contain_text("Everything checked here holds")
        await self.keep(page, name)

    async def shoot_report(self, name: str) -> None:
        """Write the picture of the report on this case's bundle, from its top."""
        to = self.home / "report.html"
        bundle, key = self.home / f"evidence/{self.case.run_id}.zip", self.home / "keys/evidence.pub.pem"
        to.write_bytes(report_on(bundle, trust_of(key)).page)
        page = await self.page(name)
        await page.goto(to.as_uri())
        await self.keep(page, name)


@asynccontextmanager
async def _scene(home: Path, folder: Path, browser: Browser) -> AsyncIterator[Scene]:
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
        yield Scene(system.sandbox, case, anna, boris, browser, home, folder)


async def _decide(user: SandboxUser, card: dict[str, Any], reason: str) -> None:
    await user.click(card, "countersign_approve")
    if (await user.see())["modal"]:
        await user.submit({"reason": reason})


async def _take(scene: Scene) -> None:
    await _decide(scene.boris, await scene.card("Review needed", "'actions'"), "The ownership chain is complete.")
    card = await scene.card("Approval needed", "file_report", "'actions'")
    await scene.shoot("card-pending", user="U0ANNA")
    await scene.shoot("card-phone", user="U0ANNA")
    await scene.anna.click(card, "countersign_show_all")
    await scene.anna.find_modal()
    await scene.shoot("card-all", user="U0ANNA")
    await scene.anna.close_modal()
    await scene.anna.click(card, "countersign_approve")
    await scene.anna.find_modal()
    await scene.shoot("card-modal", user="U0ANNA")
    await scene.anna.submit({"reason": "Checked against the register extract."})
    card = await scene.card("file_report", "1 of 2", "'actions'")
    await _decide(scene.boris, card, "Second signature.")
    run = await scene.case.until("its evidence", lambda run: bool(run["sha256"]))
    await scene.anna.wait_for(lambda state: any(run["sha256"] in message["text"] for message in messages(state)))
    await scene.shoot("card-finished", user="U0ANNA", thread=card["ts"])
    log = NoteSigner(f"countersign/{Settings().tenant}", load_or_create(scene.home / "keys/log.pem"))
    await scene.shoot_verified("verify-page", log_key=str(log.verifier(Algorithm.ED25519)))
    await scene.shoot_verified("verify-phone")
    await scene.shoot_report("report-page")
    await scene.shoot_report("report-phone")


async def take_case(folder: Path, browser: Browser) -> None:
    """Write the pictures of the case into a folder."""
    with tempfile.TemporaryDirectory() as home:
        async with _scene(Path(home), folder, browser) as scene:
            await _take(scene)


IMAGES = ROOT / "docs" / "images"


async def take_all(folder: Path) -> None:
    """Write every picture into a folder, as large as it comes."""
    async with looking(folder) as camera:
        await take_case(folder, camera.browser)
    await take(folder, scenes())


def keep(taken: Path, name: str) -> None:
    """Write a picture into the documentation, with as many colours as a palette has."""
    to = IMAGES / f"{name}.png"
    with Image.open(taken) as picture:
        small = picture.convert("RGB").quantize(dither=Image.Dither.NONE)
    small.save(to, optimize=True)
    if to.stat().st_size > SIZE_LIMIT:
        sys.exit(f"{to} has over {SIZE_LIMIT:,} bytes")
    print(f"{to.relative_to(ROOT)}: {to.stat().st_size:,} bytes")


def main() -> None:
    """Take them, and put them into the documentation."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            asyncio.run(take_all(Path(folder)))
        except SetUpError as error:
            sys.exit(str(error))
        for name, taken in ({name: name for name in CASE} | GALLERY).items():
            keep(Path(folder) / f"{taken}.png", name)


if __name__ == "__main__":
    main()
