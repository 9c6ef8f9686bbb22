"""What people do in the console, walked in the browser: sign in, answer, cancel, hold, save, download, sign out."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from playwright.async_api import Browser, BrowserContext

from countersign.embedded.case import Case
from runtime.model.console import ConsoleRole
from tests.gallery.camera import Eye
from tests.gallery.house import PEOPLE, SECOND, House, say
from tests.patience import MINUTE, until

_OPEN = """
    SELECT approval_id FROM approvals WHERE run_id = %(run)s AND status = 'requested' ORDER BY requested_at DESC LIMIT 1
"""


@dataclass
class Walk:
    """People with their browsers, and where their pictures go."""

    house: House
    browser: Browser
    folder: Path
    eyes: dict[str, Eye] = field(default_factory=dict)

    async def eye(self, who: str) -> Eye:
        """Return a page of a browser that nobody uses yet."""
        context: BrowserContext = await self.browser.new_context()
        context.set_default_timeout(1000 * MINUTE)
        self.eyes[who] = await Eye.of(context, who, self.folder, self.house.url)
        return self.eyes[who]

    async def sign_in(self, person: str, who: str) -> Eye:
        """Sign in at the provider as a person."""
        eye = await self.eye(who)
        await eye.open("/")
        await eye.page.get_by_role("link", name="Sign in").click()
        await eye.page.locator("input[name=sub]").fill(person)
        await eye.page.get_by_role("button", name="Authorize").click()
        await eye.page.wait_for_url(f"{self.house.url}/")
        eye.forget()
        return eye

    async def come_in(self) -> None:
        """See the pages on the way in: without a session, after signing in, not let in, and by the sandbox's link."""
        eye = await self.eye("stranger")
        await eye.go("/", "sign-in", 401)
        await eye.go("/callback?code=x&state=y", "sign-in-foreign", 400)
        await eye.go("/enter/wrong", "enter-wrong", 404)
        await eye.go(f"/enter/{self.house.link}", "enter")
        await eye.page.get_by_label("Anna Berg").check()
        await eye.press("Open the console")
        await eye.look("entered-by-link")
        await eye.go(f"/enter/{self.house.link}", "enter-used", 410)
        await eye.open("/")
        await eye.press("Sign out")
        await eye.look("signed-out")
        await eye.go("/runs", "sign-in-again", 401)
        await self._enter_by_account()

    async def _enter_by_account(self) -> None:
        """Stay on the page that says that somebody is signed in, which goes on by itself at once."""
        eye = await self.eye("account")
        await eye.open("/sign-in")
        await eye.page.locator("input[name=sub]").fill("mallory")
        await eye.page.get_by_role("button", name="Authorize").click()
        await eye.page.wait_for_url("**/callback?*")
        await eye.look("not-let-in", 403)
        await eye.page.route(f"{self.house.url}/", lambda route: route.fulfill(status=204))
        await eye.open("/sign-in")
        await eye.page.locator("input[name=sub]").fill(PEOPLE[ConsoleRole.VIEWER])
        await eye.page.get_by_role("button", name="Authorize").click()
        await eye.page.get_by_role("heading", name="You are signed in").wait_for()
        await eye.page.wait_for_load_state("networkidle")
        await eye.look("signed-in")

    async def play(self, case: Case) -> str:
        """Have officers review a case and sign its filing, and one withdraw and vote again; return the filing."""
        anna, boris = self.eyes[ConsoleRole.OFFICER], await self.sign_in(SECOND, "second")
        review = await self.asked(case)
        await boris.open(f"/requests/{review}")
        if await boris.page.get_by_role("button", name="Claim this review").count():
            await boris.press("Claim this review")
            await boris.look("claimed")
        await self._answer(boris, review, "The ownership chain is complete.")
        filing = await self.asked(case, review)
        await anna.go(f"/requests/{filing}", "filing")
        await self._answer(anna, filing, "Checked against the register extract.")
        await anna.look("approved")
        await anna.go(f"/requests/{filing}", "filing-voted")
        await anna.page.get_by_label("Reason").fill("I read the wrong extract.")
        await anna.press("Withdraw my vote")
        await anna.look("withdrawn")
        await self._answer(anna, filing, "Checked against the right extract.")
        await self._answer(boris, filing, "Second signature.")
        await case.until("its evidence", lambda run: bool(run["sha256"]))
        return filing

    async def reject(self, case: Case) -> None:
        """Have an officer reject a review."""
        anna, review = self.eyes[ConsoleRole.OFFICER], await self.asked(case)
        await anna.open(f"/requests/{review}")
        await anna.page.get_by_label("Reject").check()
        await anna.page.get_by_label("Reason").fill("The share register is from 2019.")
        await anna.press("Send my answer")
        await anna.look("rejected")

    async def asked(self, case: Case, before: str = "") -> str:
        """Wait until people are asked; return the request."""

        def is_there() -> bool:
            found.extend(one["approval_id"] for one in self.house.rows(_OPEN, run=case.run_id))
            return any(one != before for one in found)

        found: list[str] = []
        await until(is_there, 2 * MINUTE)
        return next(one for one in found if one != before)

    @staticmethod
    async def _answer(eye: Eye, request: str, reason: str) -> None:
        await eye.open(f"/requests/{request}")
        await eye.page.get_by_label("Approve").check()
        await eye.page.get_by_label("Reason").first.fill(reason)
        await eye.press("Send my answer")

    async def operate(self, cancel: Case, many: Sequence[Case]) -> None:
        """Have an operator cancel one run, and several at once; type the wrong number first."""
        omar = self.eyes[ConsoleRole.OPERATOR]
        await omar.open(f"/acts/cancel?subject={cancel.run_id}")
        await omar.page.get_by_label("Reason").fill("The client has withdrawn.")
        await omar.press("Cancel this run")
        await omar.look("canceled")
        path = "/acts/cancel/many?" + "&".join(f"subject={one.run_id}" for one in (cancel, *many))
        for name, count, status in (("many-miscounted", "9", 422), ("many-canceled", str(len(many)), 200)):
            await omar.open(path)
            await omar.page.get_by_label("How many are these?").fill(count)
            await omar.page.get_by_label("Reason").fill("Brought in twice.")
            await omar.press("Cancel runs")
            await omar.look(name, status)

    async def audit(self, case: Case) -> str:
        """Have an auditor hold and lift, save two lists, delete one, and download a bundle; return the other list."""
        aldo = self.eyes[ConsoleRole.AUDITOR]
        for kind, subject in (("One run", case.run_id), ("All runs", self._reference(case))):
            await aldo.open("/holds")
            await aldo.page.get_by_label(kind).check()
            await aldo.page.get_by_label("Trigger's reference, or the run's id").fill(subject)
            await aldo.page.get_by_label("Reason").last.fill("The regulator asks for it: case 2026-114.")
            await aldo.press("Hold it")
        await aldo.look("held")
        await self._hold_nothing(aldo)
        await aldo.page.get_by_label("Reason").first.fill("The regulator has closed the case.")
        await aldo.press("Lift")
        await aldo.look("lifted")
        for name in ("thrown-away", "q4-onboarding"):
            await aldo.open("/runs?person=rita")
            await aldo.page.get_by_text("Save this list").click()
            await aldo.page.get_by_label("Name").fill(name)
            await aldo.press("Save")
        kept = aldo.page.url.rpartition("/")[2]
        await aldo.open("/lists")
        await aldo.page.get_by_role("link", name="thrown-away").click()
        await aldo.page.get_by_text("Delete this list").click()
        await aldo.press("Delete thrown-away")
        await aldo.look("list-deleted")
        await self._download(aldo, case)
        return kept

    @staticmethod
    async def _hold_nothing(eye: Eye) -> None:
        await eye.page.get_by_label("Trigger's reference, or the run's id").fill("nothing like that")
        await eye.page.get_by_label("Reason").last.fill("By mistake.")
        await eye.press("Hold it")
        await eye.look("not-held", 409)
        await eye.open("/holds")

    def _reference(self, case: Case) -> str:
        return str(
            self.house.rows("SELECT trigger_ref FROM runs WHERE run_id = %(run)s", run=case.run_id)[0]["trigger_ref"]
        )

    @staticmethod
    async def _download(eye: Eye, case: Case) -> None:
        await eye.open(f"/runs/{case.run_id}")
        async with eye.page.expect_download() as download:
            await eye.page.get_by_role("button", name="Download the bundle").click()
        data = (await (await download.value).path()).read_bytes()
        shown = await eye.page.get_by_text(sha256(data).hexdigest()).count()
        if not shown:
            eye.faults.append("the bundle is not the one whose SHA-256 the page shows")
        say(f"{'ok' if shown else 'BAD':3} {eye.who:8} {'bundle':24} {len(data) / 1000:7.1f} kB  a file")
        eye.forget()
