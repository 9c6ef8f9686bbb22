"""Costly expressions in runs: evaluated in a process of their own, between the transactions that plan."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from runtime.definitions.cel.outcomes import Costly, Outcome
from runtime.evaluator import Evaluator, StoppedError
from runtime.services.approvals import ApprovalService
from runtime.services.run_replay import replay_run
from runtime.worker.worker import Worker
from tests.bench import TENANT, Bench
from tests.integration.conftest import Targets
from tests.integration.nodes_stage import Opener, status
from tests.unit.test_expression_cost import KYC, subsidiaries

COSTLY = Costly(KYC, {"rows": subsidiaries(2500)}, None)
ENDLESS = Costly("size(rows.filter(r, rows.exists(s, s.n < 0))) > 0", {"rows": [{"n": 1}] * 1500}, None)
FROM_THE_START = f"""
steps:
  - {{ id: pick, set: {{ picked: "${{trigger.{KYC}}}" }} }}
  - {{ id: after, needs: [pick], set: {{ count: "${{size(state.picked)}}" }} }}
output: {{ count: "${{state.count}}" }}
"""
AFTER_A_READ = f"""
steps:
  - {{ id: look, verb: look }}
  - {{ id: pick, needs: [look], set: {{ picked: "${{trigger.{KYC}}}" }} }}
"""
AFTER_A_WRITE = f"""
steps:
  - {{ id: write, verb: note, params: {{ incident: I1, text: a }} }}
  - {{ id: pick, needs: [write], set: {{ picked: "${{trigger.{KYC}}}" }} }}
"""
AFTER_A_SIGNAL = f"""
steps:
  - {{ id: heard, wait: {{ for: PT1H }} }}
  - {{ id: pick, needs: [heard], set: {{ picked: "${{trigger.{KYC}}}" }} }}
"""
TOO_COSTLY = f"""
steps:
  - {{ id: pick, set: {{ picked: "${{size(trigger.{KYC})}}" }} }}
"""


def evaluating(bench: Bench, evaluator: Evaluator) -> Bench:
    engine = replace(bench.engine, evaluator=evaluator)
    return replace(bench, engine=engine, worker=Worker(engine), desk=ApprovalService(engine, TENANT))


def evaluators() -> list[str]:
    """Return the processes of this one that evaluate."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = folder.joinpath("stat").read_text("utf-8").rpartition(")")[2].split()[1]
            if int(parent) == os.getpid() and b"runtime.evaluating" in folder.joinpath("cmdline").read_bytes():
                found.append(folder.name)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


async def test_a_costly_expression_is_evaluated_in_a_process_that_ends_with_it() -> None:
    evaluator = Evaluator()
    await evaluator.evaluate(COSTLY)
    assert evaluator.known == {COSTLY.key: Outcome(COSTLY.needed["rows"])}
    assert not evaluators()


@pytest.mark.parametrize(
    ("evaluator", "reason"),
    [(Evaluator(seconds=0.5), "took more than 0.5 seconds"), (Evaluator(memory=1), "its process ended with")],
)
async def test_what_the_limits_of_the_process_stop_has_no_outcome_and_leaves_no_process(
    evaluator: Evaluator, reason: str
) -> None:
    with pytest.raises(StoppedError, match=reason):
        await evaluator.evaluate(ENDLESS)
    assert not evaluator.known
    assert not evaluators()


@pytest.mark.parametrize("runbook", [FROM_THE_START, AFTER_A_READ, AFTER_A_WRITE, AFTER_A_SIGNAL])
async def test_a_run_goes_on_with_what_a_costly_expression_gives_and_is_planned_again_alike(
    opened: Opener, targets: Targets, runbook: str
) -> None:
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {"rows": subsidiaries(2400)})).run_id
        await bench.settle()
        await bench.later(hours=1)
        await bench.settle()
        run = await bench.run(run_id)
        assert (run["status"], len(run["state"]["picked"])) == ("succeeded", 2400)
        assert bench.engine.evaluator.known
        async with bench.engine.pool.connection() as conn:
            replayed = await replay_run(conn, TENANT, run_id)
    assert replayed is not None
    assert (replayed.difference, replayed.hidden) == (None, set())
    assert len(targets.note.calls) == (1 if runbook == AFTER_A_WRITE else 0)


@pytest.mark.parametrize("runbook", [FROM_THE_START, AFTER_A_READ, AFTER_A_SIGNAL])
async def test_what_was_stopped_is_tried_again_and_decides_nothing(opened: Opener, runbook: str) -> None:
    async with opened(runbook) as bench:
        stopped = evaluating(bench, Evaluator(seconds=0.001))
        run_id = (await bench.start("bench.tree", {"rows": subsidiaries(2400)})).run_id
        await stopped.settle()
        await stopped.later(hours=1)
        before = await status(bench, run_id)
        assert before["run"] not in ("succeeded", "failed_terminal")
        assert before["pick"] == "pending"
        await bench.later(hours=1)
        await bench.settle()
        assert (await status(bench, run_id))["pick"] == "succeeded"


async def test_what_costs_too_much_fails_its_step_and_is_planned_again_alike(opened: Opener) -> None:
    async with opened(TOO_COSTLY) as bench:
        run_id = (await bench.start("bench.tree", {"rows": subsidiaries(2500)})).run_id
        await bench.settle()
        assert (await bench.run(run_id))["status"] == "failed_terminal"
        failed = [leaf for leaf in await bench.chain(run_id) if leaf.event == "step.failed_terminal"]
        assert [leaf.data["code"] for leaf in failed] == ["cost"]
        async with bench.engine.pool.connection() as conn:
            replayed = await replay_run(conn, TENANT, run_id)
        assert not bench.engine.evaluator.known
    assert replayed is not None
    assert replayed.difference is None
