"""Evidence of child runs, and the report in a browser and on paper.

A run that another waited for is named as it ended, and both verifiers compare the two bundles.

The report as people use it: written by the command, opened from disk in a real browser, and printed.
"""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect
from typer.testing import CliRunner

from countersign.cli.app import app
from countersign.embedded.opa import OpaChild
from evidence.errors import UndecidedError
from evidence.report import report_on
from evidence.verify.linked_bundles import ends_below
from evidence.verify.trust import trust_of
from evidence.verify.verify import VerificationError, verify
from policy.client import OpaEngine
from runtime.handlers import RefusedError
from runtime.services.sealing import Story
from tests.bench import open_bench
from tests.browser import chromium, report_of, verify_page
from tests.databases import fresh_database
from tests.integration.acts_stage import HEAD
from tests.integration.conftest import PACK, Targets
from tests.integration.forger import Forged
from tests.integration.lies_runs import ALONE, TOGETHER, LieBelow
from tests.integration.played import stories_of
from tests.integration.program_stage import command
from tests.integration.test_child_runs import child_of
from tests.integration.test_evidence_page_shown import HOSTILE, spoken
from tests.patience import MINUTE
from tests.unit.evidence_bends import resealed
from tests.unit.evidence_sample import Office, story
from tests.unit.evidence_sample import Story as ShownStory
from tests.unit.evidence_variants import looked

RUNBOOK = """
steps:
  - id: pause
    wait: { for: PT1H }
  - id: sub
    needs: [pause]
    run: { runbook: bench-note, trigger: { incident: "${run.id}", text: below, api_token: t }, timeout: P1D }
"""
Pair = tuple[Story, Story]
"""A run that waited, and the one below."""


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Office:
    return Office.in_folder(tmp_path_factory.mktemp("office"))


@pytest.fixture(scope="module")
async def page() -> AsyncIterator[Page]:
    async with verify_page() as page:
        yield page


@pytest.fixture(scope="module")
async def pairs(
    postgres: str, opa: OpaChild, office: Office, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Pair]:
    """Return runs that waited for one that succeeded, and for one that failed."""
    folder, targets, stories = tmp_path_factory.mktemp("pack"), Targets.fresh(), dict[str, Pair]()
    (folder / "runbooks").mkdir()
    (folder / "runbooks" / "tree.yaml").write_text(HEAD + RUNBOOK, encoding="utf-8")
    async with (
        fresh_database(postgres) as dsn,
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK, folder], targets.handlers()) as bench,
    ):
        for name, answers in (("done", []), ("failed", [RefusedError("closed")])):
            targets.note.answers = list(answers)
            run_id = (await bench.start("bench.tree", {}, ref=name)).run_id
            await bench.settle()
            await bench.later(hours=1)
            child = await child_of(bench, run_id)
            told = await stories_of(office.key, bench, {"above": run_id, "below": child})
            stories[name] = told["above"], told["below"]
    return stories


def sealed(office: Office, folder: Path, pair: Pair, lie: LieBelow | None = None) -> tuple[Path, Path]:
    """Write both bundles, bent as a lie says, and return their files: that of the run which waited comes first."""
    above, below = (Forged.of(story) for story in pair)
    files = folder / "above.zip", folder / "below.zip"
    if lie:
        lie.above(above)
        lie.below(below)
    files[1].write_bytes(below.seal(office.key))
    if lie and lie.rebound:
        above.leaf("wait.completed", type="child_run")["data"]["child_end"] = verify(files[1], office.public).ended.end
    files[0].write_bytes(above.seal(office.key))
    return files


async def seen(page: Page, office: Office, above: Path, *below: Path) -> dict[str, Any]:
    """Return what the page finds."""
    return await report_of(page, above.read_bytes(), office.public.read_text(), {"children": list(below)})


@pytest.mark.parametrize("name", ["done", "failed"])
async def test_a_run_below_is_the_one_that_was_waited_for(
    page: Page, office: Office, pairs: Mapping[str, Pair], tmp_path: Path, name: str
) -> None:
    above, below = sealed(office, tmp_path, pairs[name])
    report = verify(above, office.public, ends_below([below], trust_of(office.public)))
    assert (report.steps[-1].step, report.steps[-1].fact) == (13, "1 run below, as named")
    found = await seen(page, office, above, below)
    assert (found["failure"], found["passed"][-1]["fact"]) == (None, "1 run below, as named")


def test_what_the_run_below_ended_with_is_the_leaf_of_its_end(pairs: Mapping[str, Pair]) -> None:
    for above, below in (pairs["done"], pairs["failed"]):
        (told,) = [
            leaf["data"] for leaf in above.leaves if leaf["data"].get("type") == "child_run" and "child" in leaf["data"]
        ]
        (end,) = [leaf for leaf in below.leaves if leaf["event"] in ("run.succeeded", "run.failed_terminal")]
        assert (told["child"], told["child_end"]) == (end["run_id"], end["hash"])


@pytest.mark.parametrize("name", ALONE)
async def test_a_run_that_waited_names_the_one_below_as_it_ended(
    page: Page, office: Office, pairs: Mapping[str, Pair], tmp_path: Path, name: str
) -> None:
    lie = ALONE[name]
    above, _ = sealed(office, tmp_path, pairs[lie.runs], lie)
    with pytest.raises(VerificationError) as caught:
        verify(above, office.public)
    assert caught.value.rule == lie.rule, caught.value
    failure = (await seen(page, office, above))["failure"]
    assert (failure["number"], failure["member"]) == (caught.value.step, caught.value.member), failure


@pytest.mark.parametrize("name", TOGETHER)
async def test_another_run_below_is_found_by_its_own_bundle(
    page: Page, office: Office, pairs: Mapping[str, Pair], tmp_path: Path, name: str
) -> None:
    lie = TOGETHER[name]
    above, below = sealed(office, tmp_path, pairs[lie.runs], lie)
    assert verify(above, office.public)
    with pytest.raises(VerificationError) as caught:
        verify(above, office.public, ends_below([below], trust_of(office.public)))
    assert caught.value.rule == lie.rule, caught.value
    failure = (await seen(page, office, above, below))["failure"]
    shown = (failure["number"], failure["member"], failure["what"])
    assert shown == (caught.value.step, caught.value.member, caught.value.what)


async def test_a_run_below_has_to_hold_by_itself(
    page: Page, office: Office, pairs: Mapping[str, Pair], tmp_path: Path
) -> None:
    above, below = sealed(office, tmp_path, pairs["done"])
    below.write_bytes(below.read_bytes()[:-1])
    with pytest.raises(VerificationError, match=r"waits\.below: the run below, .*below\.zip: step 1, archive\.form"):
        verify(above, office.public, ends_below([below], trust_of(office.public)))
    failure = (await seen(page, office, above, below))["failure"]
    assert failure["what"].startswith("the run below, below.zip: step 1: ")


async def test_people_choose_the_bundles_of_runs_below_on_the_page(
    office: Office, pairs: Mapping[str, Pair], tmp_path: Path
) -> None:
    above, below = sealed(office, tmp_path, pairs["done"])
    async with verify_page() as page:
        await page.get_by_label("Evidence bundle").set_input_files(above)
        await page.get_by_label("Public key").set_input_files(office.public)
        await expect(page.locator("#checks li")).to_have_count(12)
        await page.get_by_text("Check more").click()
        await page.get_by_label("Bundles of runs below").set_input_files(below)
        await expect(page.locator("#checks li").last).to_contain_text("1 run below, as named")
        await page.get_by_label("Bundles of runs below").set_input_files(above)
        await expect(page.locator("#verdict")).to_contain_text("Step 13: audit.jsonl: no step waited for the run")


def test_a_run_below_that_cannot_be_read_says_nothing_about_the_other(
    office: Office, pairs: Mapping[str, Pair], tmp_path: Path
) -> None:
    above, _ = sealed(office, tmp_path, pairs["done"])
    with pytest.raises(UndecidedError, match=r"absent\.zip is not a file"):
        verify(above, office.public, ends_below([tmp_path / "absent.zip"], trust_of(office.public)))


def test_the_command_takes_runs_below_of_one_bundle(office: Office, pairs: Mapping[str, Pair], tmp_path: Path) -> None:
    above, below = sealed(office, tmp_path, pairs["done"])
    asked = ["evidence", "verify", str(above), "--key", str(office.public), "--child", str(below)]
    done = CliRunner().invoke(app, asked)
    assert (done.exit_code, "13. 1 run below, as named" in done.output) == (0, True)
    assert CliRunner().invoke(app, [*asked, str(above)]).exit_code == 2


WIDTHS = [390, 1440]


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest.fixture
def shown_office(tmp_path: Path) -> Office:
    return Office.in_folder(tmp_path)


@pytest.fixture
async def shown_page(browser: Browser) -> AsyncIterator[Page]:
    """A page that must ask for nothing but its own file, and report no error."""
    page, requests, errors = await browser.new_page(), list[str](), list[str]()
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text))
    yield page
    assert requests == [page.url]
    assert errors == []
    await page.close()


def written(office: Office, told: ShownStory) -> Path:
    to = office.folder / "report.html"
    to.write_bytes(report_on(office.seal(told.dossier()), trust_of(office.public)).page)
    return to


def strange() -> ShownStory:
    """Return the sample with words that a page could take for markup, and with long ones."""
    told = spoken()
    told.receipts["r-3"]["response"] = {"x" * 300: ["y" * 3_000, {HOSTILE: HOSTILE}]}
    told.approvals["a-1"]["before"] = {"owner": {"share": "w" * 500}}
    return told


@pytest.mark.parametrize("width", WIDTHS)
async def test_nothing_is_wider_than_the_screen(shown_page: Page, shown_office: Office, width: int) -> None:
    await shown_page.set_viewport_size({"width": width, "height": 844})
    await shown_page.goto(written(shown_office, strange()).as_uri())
    await expect(shown_page.get_by_role("region", name="Verdict")).to_be_visible()
    assert await shown_page.evaluate("document.documentElement.scrollWidth") == width
    outside = "[...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > innerWidth)"
    assert await shown_page.evaluate(f"{outside}.length") == 0


async def test_words_of_a_bundle_stay_words(shown_page: Page, shown_office: Office) -> None:
    await shown_page.goto(written(shown_office, strange()).as_uri())
    shown = HOSTILE.replace("\u202e", "⟨U+202E⟩")
    for what in ("purpose", "reason", "name"):
        await expect(shown_page.get_by_role("region", name="Requests")).to_contain_text(f"{what} {shown}")
    assert await shown_page.locator(":is(img, script, a, iframe, form, input)").count() == 0
    assert await shown_page.title() == f"This bundle does not hold: purpose {shown}"


async def test_the_styles_are_taken_and_nothing_is_loaded(shown_page: Page, shown_office: Office) -> None:
    await shown_page.goto(written(shown_office, looked()).as_uri())
    ground = "getComputedStyle(document.querySelector('.verdict')).backgroundColor"
    assert await shown_page.evaluate(ground) == "rgb(238, 247, 241)", (
        "the digest in the policy is not that of the style"
    )


async def test_it_prints_on_a4_with_its_verdict_on_each_sheet(shown_page: Page, shown_office: Office) -> None:
    await shown_page.goto(written(shown_office, looked()).as_uri())
    await shown_page.emulate_media(media="print")
    await expect(shown_page.get_by_role("region", name="Verdict")).to_be_visible()
    printed = await shown_page.pdf(prefer_css_page_size=True)
    assert printed.startswith(b"%PDF")
    assert b"[0 0 594.95996 841.91998]" in printed, "the sheets are not A4"


async def test_the_cover_and_the_exceptions_print_on_sheets_of_their_own(
    shown_page: Page, shown_office: Office
) -> None:
    await shown_page.set_viewport_size({"width": 658, "height": 964})  # what A4 has within its margins
    await shown_page.goto(written(shown_office, looked()).as_uri())
    await shown_page.emulate_media(media="print")
    for region in ("Cover", "Exceptions"):
        shown = shown_page.get_by_role("region", name=region)
        assert await shown.evaluate("(one) => getComputedStyle(one).breakAfter") == "page"
        assert await shown.evaluate("(one) => one.getBoundingClientRect().height") < 964
    await expect(
        shown_page.get_by_role("region", name="Requests").get_by_role("columnheader", name="Reason")
    ).to_be_visible()


async def test_the_command_writes_a_report_and_overwrites_nothing(shown_office: Office) -> None:
    bundle, to = shown_office.seal(story().dossier()), shown_office.folder / "report.html"
    asked = ("evidence", "report", str(bundle), "-o", str(to), "--key", str(shown_office.public))
    for _ in range(2):  # the same page again is no loss
        done = await command(*asked, env={})
        assert (done.code, done.out) == (0, f"Verified: everything holds\nreport: {to}\n")
    to.write_bytes(b"mine")
    again = await command(*asked, env={})
    assert (again.code, again.err) == (3, f"countersign: {to} exists with other content: nothing is overwritten\n")
    assert to.read_bytes() == b"mine"


async def test_without_a_key_the_command_says_that_nothing_was_verified(shown_office: Office) -> None:
    bundle, to = shown_office.seal(story().dossier()), shown_office.folder / "report.html"
    done = await command("evidence", "report", str(bundle), "-o", str(to), env={})
    assert (done.code, done.out) == (0, f"Not verified: no key was given\nreport: {to}\n")
    apart = await command("evidence", "report", str(bundle), "--witness", "x", env={})
    assert apart.code == 2
    assert "the other options need --key" in apart.err


async def test_the_command_exits_as_verification_does(
    shown_office: Office, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other, to = Office.in_folder(tmp_path_factory.mktemp("other"), 2), shown_office.folder / "report.html"
    bundle = shown_office.seal(story().dossier())
    unsigned = await command("evidence", "report", str(bundle), "-o", str(to), "--key", str(other.public), env={})
    assert (unsigned.code, unsigned.out) == (4, f"Not signed by this key\nreport: {to}\n")
    to.unlink()
    broken = resealed(shown_office, bundle, **{"costs.json": b"[1]"})
    found = await command("evidence", "report", str(broken), "-o", str(to), "--key", str(shown_office.public), env={})
    assert (found.code, found.out) == (1, f"This bundle does not hold\nreport: {to}\n")
    missing = await command("evidence", "report", "none.zip", "-o", str(shown_office.folder / "none.html"), env={})
    assert (missing.code, missing.err) == (3, "countersign: none.zip is not a file\n")
    keyless = await command("evidence", "report", str(bundle), "--key", "none.pem", env={})
    assert (keyless.code, keyless.err.startswith("countersign: ")) == (3, True)
    assert not (shown_office.folder / "none.html").exists()
