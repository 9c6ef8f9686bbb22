"""What looks at a page: pictures at each size, light and dark, axe-core, the browser's console, width and weight."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import BrowserContext, ConsoleMessage, Page, Response

from tests.gallery.house import say
from tools.gallery import SIZES

BUDGET = 100_000
"""Bytes of a page with all that it loads."""
BUDGETS = {"run": 200_000, "verify": 400_000}
"""By how the names of pages begin: a run in full, with up to 100 records, and the page that carries a verifier."""
_FINE, _STAYS = 200, 204
"""Status of a page, and of an answer at which a browser stays on its page."""
_NOT_FOUND = "Failed to load resource"
"""What Chromium's console says of any page whose status is an error, also one that is meant."""


@dataclass
class Eye:
    """One page of a browser as somebody has it, and what was noticed since it was last looked at."""

    page: Page
    who: str
    folder: Path
    root: str
    opened: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    _noticed: list[str] = field(default_factory=list)
    _answers: list[Response] = field(default_factory=list)

    @classmethod
    async def of(cls, context: BrowserContext, who: str, folder: Path, root: str) -> "Eye":
        """Open a page that notices errors and all that is loaded."""
        eye = cls(await context.new_page(), who, folder, root)
        eye.page.on("console", eye._hear)
        eye.page.on("pageerror", lambda error: eye._noticed.append(str(error)))
        eye.page.on("response", eye._answered)
        return eye

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and self.page.url.startswith(self.root):  # not of the provider's page
            self._noticed.append(message.text)

    def _answered(self, answer: Response) -> None:
        if answer.url.startswith(self.root):
            self._answers.append(answer)
            if answer.request.method == "GET":
                self.opened.add(urlsplit(answer.url).path)

    async def open(self, path: str) -> None:
        """Open a page of the console."""
        await self.page.goto(f"{self.root}{path}", wait_until="networkidle")

    async def go(self, path: str, name: str, status: int = 200) -> None:
        """Open a page, and look at it."""
        await self.open(path)
        await self.look(name, status)

    async def look(self, name: str, status: int = 200) -> None:
        """Look at the page that is open: what is wrong with it goes to the faults, and its line is printed."""
        answers, self._answers = self._answers, []
        loaded = _last_load(answers)
        weight = sum(int(one.headers["content-length"]) for one in loaded)
        found = [*self._wrong_status(loaded, status), *self._wrong_weight(name, weight)]
        await self._unfold()
        for size, width, height, scheme in SIZES:
            await self.page.set_viewport_size({"width": width, "height": height})
            await self.page.emulate_media(color_scheme=scheme)
            found += [f"{size}: {one}" for one in [*await self._too_wide(width), *await self._violations()]]
            await self.page.screenshot(path=self.folder / f"{self.who}-{name}-{size}.png", full_page=True)
        noticed, self._noticed = self._noticed, []
        found += [one for one in noticed if status == _FINE or _NOT_FOUND not in one]
        self.faults += [f"{self.who} {name}: {one}" for one in found]
        say(f"{'BAD' if found else 'ok':3} {self.who:8} {name:24} {weight / 1000:7.1f} kB  {'; '.join(found)}")

    async def fetch(self, path: str) -> None:
        """Fetch a file that a page leads to, which is no page."""
        url = f"{self.root}{path}"
        answer = await self.page.context.request.get(url)
        weight = len(await answer.body())
        self.opened.add(urlsplit(url).path)
        bad = [] if answer.status == 200 and weight else [f"status {answer.status}, {weight} bytes"]
        self.faults += [f"{self.who} {path}: {one}" for one in bad]
        say(f"{'BAD' if bad else 'ok':3} {self.who:8} {path:24} {weight / 1000:7.1f} kB  a file")

    async def press(self, button: str) -> None:
        """Press the first button of this name, which sends a form, and wait for the page that answers."""
        async with self.page.expect_navigation(wait_until="networkidle"):
            await self.page.get_by_role("button", name=button).first.click()

    def forget(self) -> None:
        """Forget what was noticed: it was of a page elsewhere."""
        self._answers, self._noticed = [], []

    @staticmethod
    def _wrong_status(loaded: list[Response], status: int) -> Iterator[str]:
        found = loaded[0].status if loaded else None
        if found != status:
            yield f"status {found} and not {status}"

    @staticmethod
    def _wrong_weight(name: str, weight: int) -> Iterator[str]:
        budget = BUDGETS.get(name.partition("-")[0], BUDGET)
        if not 0 < weight <= budget:
            yield f"{weight:,} bytes, and at most {budget:,} are allowed"

    async def _unfold(self) -> None:
        """Open what is folded: it has to fit and to be readable, too."""
        for summary in await self.page.locator("summary").all():
            if await summary.is_visible():
                await summary.click()

    async def _too_wide(self, width: int) -> list[str]:
        found = await self.page.evaluate("document.documentElement.scrollWidth")
        return [f"the page is {found} wide"] if found > width else []

    async def _violations(self) -> list[str]:
        found: Any = await Axe().run(self.page)
        return [f"axe {one['id']}: {one['nodes'][0]['html'][:200]}" for one in found.response["violations"]]


def _last_load(answers: list[Response]) -> list[Response]:
    """Return the page that is open, and what it loaded: not what led there, nor a navigation that left it open."""
    answers = [one for one in answers if not 300 <= one.status < 400 and one.status != _STAYS]
    first = max((at for at, one in enumerate(answers) if one.request.is_navigation_request()), default=len(answers))
    return answers[first:]
