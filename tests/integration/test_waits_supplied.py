"""A step that waits and has not failed is supplied or skipped by whom policy lets, and its evidence says so."""

from collections.abc import AsyncIterator

import pytest

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.model.run import RepairAction
from tests.bench import Bench, open_bench
from tests.integration.conftest import PACK, Targets
from tests.integration.mending_stage import mend, play_waiting, wish
from tests.integration.played import NODES
from tests.integration.test_replay import replayed
from tests.patience import MINUTE


@pytest.fixture
async def waiting(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Bench]:
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK, NODES], targets.handlers()) as found,
    ):
        yield found


async def begin(bench: Bench) -> str:
    run_id = (await bench.start("bench.waiting", {})).run_id
    await bench.settle()
    return run_id


async def test_each_wait_goes_on_as_an_operator_says(waiting: Bench, targets: Targets) -> None:
    run_id = (await play_waiting(waiting))["waited"]
    run = await waiting.run(run_id)
    assert run["status"] == "succeeded"
    found = {path: step["status"] for path, step in run["steps"].items()}
    skipped = {path for path, status in found.items() if status == "skipped"}
    assert skipped == {"pause", "never", "leave", "rounds[0].rest"}
    assert [call.params["text"] for call in targets.note.calls] == ["by telephone"]
    [below] = await waiting.rows("SELECT status FROM runs WHERE run_id <> %s", run_id)
    assert below["status"] == "canceled"
    assert await waiting.rows("SELECT 1 FROM waits WHERE run_id = %s AND status = 'active'", run_id) == []
    said = [leaf for leaf in await waiting.chain(run_id) if leaf.event == "repair.decided"]
    assert [leaf.actor.id for leaf in said] == ["omar"] * 6
    assert all(leaf.data["reason"] == "seen" and leaf.data["policy"]["decision_id"] for leaf in said)
    assert (await replayed(waiting, run_id)).difference is None


async def test_an_answer_that_comes_after_the_supplied_one_changes_nothing(waiting: Bench) -> None:
    run_id = await begin(waiting)
    await mend(waiting, run_id, "ask", RepairAction.SUPPLY, {"answer": "by telephone"})
    late = await waiting.complete(f"acme:await_answer:W:{run_id}", {"answer": "by letter"})
    assert late["status"] == "stale"
    assert (await waiting.run(run_id))["steps"]["ask"]["status"] == "succeeded"
    (step,) = await waiting.rows("SELECT result FROM steps WHERE run_id = %s AND path = 'ask'", run_id)
    assert step["result"] == {"answer": "by telephone"}


@pytest.mark.parametrize(
    ("step", "act", "result", "why"),
    [
        ("ask", RepairAction.RETRY, None, "ask waits and has not failed: supply its result, or skip it"),
        ("ask", RepairAction.END, None, "ask waits and has not failed: supply its result, or skip it"),
        ("ask", RepairAction.SUPPLY, {"said": "yes"}, "result: /: 'answer' is a required property"),
        ("hear", RepairAction.SUPPLY, {}, "result: /: 'by' is a required property"),
        ("rounds", RepairAction.SKIP, None, "rounds waits for the steps inside it: act on those"),
        ("rounds[0]", RepairAction.SUPPLY, {}, "rounds[0] waits for the steps inside it: act on those"),
    ],
)
async def test_what_does_not_fit_a_wait_is_refused_and_it_goes_on(
    waiting: Bench, step: str, act: RepairAction, result: object, why: str
) -> None:
    run_id = await begin(waiting)
    facts = await wish(waiting, run_id, step, act, result)
    assert (facts["status"], facts["code"], facts["reason"]) == ("refused", "act.unfit", why)
    assert (await waiting.run(run_id))["steps"][step]["status"] == "parked"


@pytest.mark.parametrize("act", [RepairAction.SUPPLY, RepairAction.SKIP])
@pytest.mark.parametrize("by", ["ann", "rita"])
async def test_who_is_no_operator_neither_supplies_nor_skips_a_wait(waiting: Bench, act: RepairAction, by: str) -> None:
    run_id = await begin(waiting)
    facts = await wish(waiting, run_id, "ask", act, {"answer": "yes"} if act is RepairAction.SUPPLY else None, by)
    assert (facts["status"], facts["code"]) == ("refused", "act.denied")
    assert (await waiting.run(run_id))["steps"]["ask"]["status"] == "parked"


async def test_no_operator_answers_a_review_that_is_open(waiting: Bench) -> None:
    run_id = (await waiting.start("bench.review", {"case": "C1"})).run_id
    await waiting.settle()
    answer = {"decision": "approved", "reviewer": "omar", "reason": "seen"}
    facts = await wish(waiting, run_id, "review", RepairAction.SUPPLY, answer)
    assert facts["code"] == "act.denied"
    assert "Only the people asked may answer" in facts["reason"]
