"""What is told of a run of nodes: in its texts, on the page, in lists, over HTTP and by command."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from countersign.embedded.opa import OpaChild
from edge.messages import RunOut
from evidence.page.report import report_on
from evidence.reading.step_paths import path_in_words
from evidence.verify.trust import trust_of
from policy.client import OpaEngine
from runtime.services import listings
from runtime.services.bundles import FoundRun, Sought, find_runs
from runtime.services.health import run as run_summary
from tests.bench import TENANT, Bench, open_bench
from tests.integration.conftest import PACK, Targets
from tests.integration.forger import Forged
from tests.integration.played import NODES, play_nodes, stories_of
from tests.patience import MINUTE
from tests.unit.evidence_resealed import members_of
from tests.unit.evidence_sample import Office


@dataclass
class Played:
    """A bench with runs of nodes, the bundle of one, and what holds it."""

    bench: Bench
    run_id: str
    bundle: Path
    office: Office

    @property
    def members(self) -> dict[str, bytes]:
        """Return what is in the bundle."""
        return members_of(self.bundle)

    async def found(self, **sought: str) -> list[FoundRun]:
        async with self.bench.engine.pool.connection() as conn:
            return await find_runs(conn, TENANT, Sought(**sought))  # type: ignore[arg-type]  # texts alone are given


@pytest.fixture
async def played(dsn: str, opa: OpaChild, targets: Targets, tmp_path: Path) -> AsyncIterator[Played]:
    office = Office.in_folder(tmp_path)
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK, NODES], targets.handlers()) as bench,
    ):
        run_ids = await play_nodes(bench, targets)
        story = (await stories_of(office.key, bench, run_ids))["nodes"]
        yield Played(bench, run_ids["nodes"], office.write(Forged.of(story).seal(office.key)), office)


async def test_people_read_the_outcome_what_was_handled_and_paths_in_words(played: Played) -> None:
    summary, timeline = (played.members[name].decode() for name in ("summary.md", "timeline.md"))
    assert summary.startswith("# Nodes: “timed out”\n")
    assert "- **Ended:** 6 Jan 2026, 09:00:00 UTC: “timed out”; the run itself succeeded\n" in summary
    assert (
        "- 5 Jan 2026, 09:00:00 UTC: first failed and was handled, “no such incident”; next came"
        " first, failed: tell and first, failed: mark\n"
    ) in summary
    assert "- Skipped, condition not met: route: left out and route: behind\n" in summary
    assert "- Not started when the run ended: never\n" in summary
    assert "| The run ended as “timed out”, after 5 writes |" in timeline
    assert "| The step “route” started, by the branch “case 2” |" in timeline
    assert "for the step “letters, round 3: write” |" in timeline
    page = report_on(played.bundle, trust_of(played.office.public)).page.decode()
    assert "Timed out" in page
    assert ", run <bdi" in page
    assert "Failed and handled" in page


async def test_a_run_is_found_by_its_outcome_and_its_business_reference(played: Played) -> None:
    (run,) = await played.found(outcome="timed_out")
    assert (run.run_id, run.status, run.reference, run.trigger_ref) == (
        *(played.run_id, "succeeded", f"case:{played.run_id}", "1"),
    )
    assert [one.run_id for one in await played.found(customer=f"case:{played.run_id}")] == [played.run_id]
    assert played.run_id not in {one.run_id for one in await played.found(outcome="succeeded")}


async def test_callers_and_operators_see_what_a_run_came_to(played: Played) -> None:
    async with played.bench.engine.pool.connection() as conn:
        shown = RunOut.model_validate(await run_summary(conn, TENANT, played.run_id))
        listed = await listings.find_run(conn, TENANT, played.run_id)
    assert (shown.outcome, shown.reference) == ("timed_out", f"case:{played.run_id}")
    assert shown.output == {"reference": f"case:{played.run_id}"}
    assert shown.state == {"told": True, "quick": "case_2", "rounds": 1, "heard": "no_answer"}
    steps = {step.path: (step.error_code, step.branch) for step in shown.steps}
    assert (steps["first"], steps["route"], steps["hear"]) == (("refused", ""), ("", "case_2"), ("no_answer", ""))
    classes = {step.path: step.error_class for step in shown.steps}
    assert (classes["first"], classes["route"], classes["hear"]) == ("transport", "", "timeout")
    assert listed is not None
    assert {step["path"]: step["error_class"] for step in listed["steps"]} == classes
    assert (listed["outcome"], listed["state"], listed["output"]) == (shown.outcome, shown.state, shown.output)
    assert {step["path"]: step["error_code"] for step in listed["steps"]}["first"] == "refused"


async def test_the_message_about_the_end_says_what_was_handled(played: Played) -> None:
    said = [str(row["text"]) for row in await played.bench.rows("SELECT fields::text AS text FROM effects")]
    assert any(
        '"run_ended"' in text and "rejected by Ann: not like this" in text and "handled" in text for text in said
    )


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("documents[2].request", "documents, round 3: request"),
        ("first.failure.tell_them", "first, failed: tell them"),
        ("a[1]b", "a[1]b"),
        ("x[99999999999]", "x[99999999999]"),
        ("", ""),
    ],
)
def test_a_path_is_told_in_words(path: str, words: str) -> None:
    assert path_in_words(path, {"first.failure"}) == words
