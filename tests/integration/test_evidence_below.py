"""A run that another waited for is named as it ended, and both verifiers compare the two bundles."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect
from typer.testing import CliRunner

from countersign.cli.app import app
from countersign.embedded.opa import OpaChild
from evidence.errors import UndecidedError
from evidence.verify.linked_bundles import ends_below
from evidence.verify.trust import trust_of
from evidence.verify.verify import VerificationError, verify
from policy.client import OpaEngine
from runtime.handlers import RefusedError
from runtime.services.sealing import Story
from tests.bench import open_bench
from tests.browser import report_of, verify_page
from tests.conftest import fresh_database
from tests.integration.conftest import PACK, Targets
from tests.integration.forger import Forged
from tests.integration.lies_below import ALONE, TOGETHER, LieBelow
from tests.integration.nodes_stage import HEAD
from tests.integration.played import stories_of
from tests.integration.test_child_runs import child_of
from tests.patience import MINUTE
from tests.unit.evidence_sample import Office

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
    with fresh_database(postgres) as dsn:
        async with (
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
