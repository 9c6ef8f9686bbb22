"""The report as people use it: written by the command, opened from disk in a real browser, and printed."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from evidence.page.report import report_on, write_report
from evidence.verify.trust import trust_of
from tests.browser import chromium
from tests.integration.program_stage import command
from tests.integration.test_evidence_page_shown import HOSTILE, spoken
from tests.unit.evidence_bound import bound
from tests.unit.evidence_reads import looked
from tests.unit.evidence_resealed import resealed
from tests.unit.evidence_sample import Office, Story

WIDTHS = [390, 1440]


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office.in_folder(tmp_path)


@pytest.fixture
async def page(browser: Browser) -> AsyncIterator[Page]:
    """A page that must ask for nothing but its own file, and report no error."""
    page, requests, errors = await browser.new_page(), list[str](), list[str]()
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text))
    yield page
    assert requests == [page.url]
    assert errors == []
    await page.close()


def written(office: Office, told: Story) -> Path:
    to = office.folder / "report.html"
    write_report(report_on(office.seal(told.dossier()), trust_of(office.public)), to)
    return to


def strange() -> Story:
    """Return the sample with words that a page could take for markup, and with long ones."""
    told = spoken()
    told.receipts["r-3"]["response"] = {"x" * 300: ["y" * 3_000, {HOSTILE: HOSTILE}]}
    told.approvals["a-1"]["before"] = {"owner": {"share": "w" * 500}}
    return told


@pytest.mark.parametrize("width", WIDTHS)
async def test_nothing_is_wider_than_the_screen(page: Page, office: Office, width: int) -> None:
    await page.set_viewport_size({"width": width, "height": 844})
    await page.goto(written(office, strange()).as_uri())
    await expect(page.get_by_role("region", name="Verdict")).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth") == width
    outside = "[...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > innerWidth)"
    assert await page.evaluate(f"{outside}.length") == 0


async def test_words_of_a_bundle_stay_words(page: Page, office: Office) -> None:
    await page.goto(written(office, strange()).as_uri())
    shown = HOSTILE.replace("\u202e", "⟨U+202E⟩")
    for what in ("purpose", "reason", "name"):
        await expect(page.get_by_role("region", name="Requests")).to_contain_text(f"{what} {shown}")
    assert await page.locator(":is(img, script, a, iframe, form, input)").count() == 0
    assert await page.title() == f"Verified: everything holds: purpose {shown}"


async def test_the_styles_are_taken_and_nothing_is_loaded(page: Page, office: Office) -> None:
    await page.goto(written(office, looked()).as_uri())
    ground = "getComputedStyle(document.querySelector('.verdict')).backgroundColor"
    assert await page.evaluate(ground) == "rgb(238, 247, 241)", "the digest in the policy is not that of the style"


async def test_it_prints_on_a4_with_its_verdict_on_each_sheet(page: Page, office: Office) -> None:
    await page.goto(written(office, looked()).as_uri())
    await page.emulate_media(media="print")
    await expect(page.get_by_role("region", name="Verdict")).to_be_visible()
    printed = await page.pdf(prefer_css_page_size=True)
    assert printed.startswith(b"%PDF")
    assert b"[0 0 594.95996 841.91998]" in printed, "the sheets are not A4"


async def test_the_cover_and_the_exceptions_print_on_sheets_of_their_own(page: Page, office: Office) -> None:
    await page.set_viewport_size({"width": 658, "height": 964})  # what A4 has within its margins
    await page.goto(written(office, looked()).as_uri())
    await page.emulate_media(media="print")
    for region in ("Cover", "Exceptions"):
        shown = page.get_by_role("region", name=region)
        assert await shown.evaluate("(one) => getComputedStyle(one).breakAfter") == "page"
        assert await shown.evaluate("(one) => one.getBoundingClientRect().height") < 964
    await expect(page.get_by_role("region", name="Requests").get_by_role("columnheader", name="Reason")).to_be_visible()


async def test_the_command_writes_a_report_and_overwrites_nothing(office: Office) -> None:
    bundle, to = office.seal(bound().dossier()), office.folder / "report.html"
    asked = ("evidence", "report", str(bundle), "-o", str(to), "--key", str(office.public))
    for _ in range(2):  # the same page again is no loss
        done = await command(*asked, env={})
        assert (done.code, done.out) == (0, f"Verified: everything holds\nreport: {to}\n")
    to.write_bytes(b"mine")
    again = await command(*asked, env={})
    assert (again.code, again.err) == (3, f"countersign: {to} cannot be written: File exists\n")
    assert to.read_bytes() == b"mine"


async def test_without_a_key_the_command_says_that_nothing_was_verified(office: Office) -> None:
    bundle, to = office.seal(bound().dossier()), office.folder / "report.html"
    done = await command("evidence", "report", str(bundle), "-o", str(to), env={})
    assert (done.code, done.out) == (0, f"Not verified: no key was given\nreport: {to}\n")
    apart = await command("evidence", "report", str(bundle), "--witness", "x", env={})
    assert apart.code == 2
    assert "the other options need --key" in apart.err


async def test_the_command_exits_as_verification_does(office: Office, tmp_path_factory: pytest.TempPathFactory) -> None:
    other, to = Office.in_folder(tmp_path_factory.mktemp("other")), office.folder / "report.html"
    bundle = office.seal(bound().dossier())
    unsigned = await command("evidence", "report", str(bundle), "-o", str(to), "--key", str(other.public), env={})
    assert (unsigned.code, unsigned.out) == (4, f"Not signed by this key\nreport: {to}\n")
    to.unlink()
    broken = resealed(office, bundle, **{"costs.json": b"[1]"})
    found = await command("evidence", "report", str(broken), "-o", str(to), "--key", str(office.public), env={})
    assert (found.code, found.out) == (1, f"This bundle does not hold\nreport: {to}\n")
    missing = await command("evidence", "report", "none.zip", "-o", str(office.folder / "none.html"), env={})
    assert (missing.code, missing.err) == (3, "countersign: none.zip is not a file\n")
    keyless = await command("evidence", "report", str(bundle), "--key", "none.pem", env={})
    assert (keyless.code, keyless.err.startswith("countersign: ")) == (3, True)
    assert not (office.folder / "none.html").exists()
