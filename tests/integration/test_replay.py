"""A run planned again from its record comes out as it was; a planner that decides otherwise is found."""

import json
from pathlib import Path

import pytest

from runtime.handlers import RefusedError, TransientError
from runtime.planning import node_kinds, planner
from runtime.services.run_replay import Replayed, replay, replay_run
from tests.bench import TENANT, Bench
from tests.integration.conftest import Targets
from tests.integration.editing_stage import asked, edit, request_of
from tests.integration.nodes_stage import Opener
from tests.recorded import CORPUS, recorded_of

TREE = """
state: { properties: { rounds: { type: integer } } }
steps:
  - { id: zero, set: { rounds: 0 } }
  - { id: known, reference: "case:${run.id}" }
  - id: look
    verb: look
  - id: route
    needs: [zero]
    switch:
      cases:
        - when: "steps.look.result.value > 5"
          do: [{ id: big, verb: note, params: { incident: I1, text: big } }]
      else:
        - id: letters
          repeat:
            for_each: "${['a', 'b', 'c']}"
            at_most_at_once: 2
            collect: "${item}"
            do: [{ id: write, verb: note, params: { incident: I1, text: "${item}" } }]
  - id: rounds
    needs: [route]
    repeat: { until: "state.rounds == 2", at_most: 5, do: [{ id: count, set: { rounds: "${state.rounds + 1}" } }] }
  - id: fails
    needs: [rounds]
    verb: note
    params: { incident: I1, text: again }
    on: { failure: [{ id: pause, wait: { for: PT1H } }] }
  - { id: skipped, needs: [fails], when: "false", verb: look }
output: { rounds: "${state.rounds}", letters: "${steps.route.result.branch}" }
"""


async def replayed(bench: Bench, run_id: str) -> Replayed:
    async with bench.engine.pool.connection() as conn:
        found = await replay_run(conn, TENANT, run_id)
    assert found is not None
    return found


async def play(bench: Bench, targets: Targets) -> str:
    """Play the tree: letters written, one tried again, the last note refused, a pause."""
    targets.look.answers = [TransientError("busy")]
    targets.note.answers = [{"ok": 1}, TransientError("busy"), {"ok": 2}, {"ok": 3}, RefusedError("closed")]
    run_id = (await bench.start("bench.tree", {})).run_id
    for _ in range(4):
        await bench.settle()
        await bench.later(hours=1)
    assert (await bench.run(run_id))["status"] == "succeeded"
    return run_id


async def test_a_run_is_planned_again_as_it_was(opened: Opener, targets: Targets) -> None:
    async with opened(TREE) as bench:
        found = await replayed(bench, await play(bench, targets))
    assert (found.difference, found.hidden) == (None, set())
    assert found.events == 9


async def test_a_planner_that_takes_another_case_is_found(
    opened: Opener, targets: Targets, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(TREE) as bench:
        run_id = await play(bench, targets)
        monkeypatch.setattr(node_kinds, "evaluate_condition", lambda *_: True)
        found = await replayed(bench, run_id)
    assert found.difference is not None
    assert found.difference.planned == "step.parked route (branch case_1)"
    assert found.difference.recorded == "step.parked route (branch else)"


async def test_a_planner_that_forgets_a_step_is_found_at_the_end(
    opened: Opener, targets: Targets, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened("steps: [{ id: a, set: { x: 1 } }, { id: b, needs: [a], set: { y: 1 } }]\n") as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        monkeypatch.setattr(planner, "_freed", lambda *_: [])
        found = await replayed(bench, run_id)
    assert found.difference is not None
    assert found.difference.recorded.startswith("step.succeeded b")


async def test_a_canceled_run_and_one_that_failed_are_planned_as_they_were(opened: Opener, targets: Targets) -> None:
    runbook = """
steps:
  - { id: ask, verb: await_answer, params: { case: C1 } }
  - { id: file, verb: file, params: { company: X, text: y } }
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        assert (await replayed(bench, run_id)).difference is None
        assert (await bench.click("ann", await bench.approval_id(), "reject", "not like this")).counted
        await bench.settle()
        assert (await bench.run(run_id))["status"] == "failed_terminal"
        assert (await replayed(bench, run_id)).difference is None


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.json")), ids=lambda path: path.stem)
def test_recorded_runs_are_planned_by_todays_planner_as_they_were(path: Path) -> None:
    found = replay(recorded_of(json.loads(path.read_text("utf-8"))))
    assert (found.difference, found.hidden) == (None, set())


async def test_a_run_that_nobody_knows_is_none(opened: Opener) -> None:
    async with opened("steps: [{ id: a, set: { x: 1 } }]\n") as bench, bench.engine.pool.connection() as conn:
        assert await replay_run(conn, "other", (await bench.start("bench.tree", {})).run_id) is None


async def test_what_an_end_leaves_open_among_iterations_is_planned_as_it_was(opened: Opener) -> None:
    runbook = """
steps:
  - id: each
    repeat:
      for_each: "${[1, 2, 3, 4, 5]}"
      at_most_at_once: 3
      do:
        - { id: pause, wait: { for: "${item == 2 ? 'PT1H' : 'PT2H'}" } }
        - { id: stop, when: "item == 2", end: { outcome: enough } }
  - { id: beside, wait: { signal: go, timeout: P9D } }
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        await bench.later(hours=1)
        assert (await replayed(bench, run_id)).difference is None
        said = [leaf.correlation.step or "" for leaf in await bench.chain(run_id) if leaf.event.startswith("step.")]
        left = said[said.index("each[1].stop") + 1 :]
        assert left == bench.definitions["bench.tree"].in_order(left)


async def test_a_run_of_which_a_request_was_edited_is_planned_again_as_it_was(editing: Bench) -> None:
    first = await asked(editing)
    assert await edit(editing, "ann", first, {"copies": 3}) is None
    await editing.settle()
    (row,) = await editing.rows("SELECT run_id FROM runs")
    for person in ("ben", "cat"):
        assert (await editing.click(person, await request_of(editing, row["run_id"]))).counted
    await editing.settle()
    assert (await editing.run(row["run_id"]))["status"] == "succeeded"
    found = await replayed(editing, row["run_id"])
    assert found.difference is None
    assert found.events
