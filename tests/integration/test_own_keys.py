"""What a pack's own verbs may not say: that they take back what another run did, or wait for no time at all."""

from pathlib import Path

import pytest

from tests.integration.acts_stage import Opener, status
from tests.integration.conftest import Targets

VERBS = """
verbs:
  - name: pretend
    domain: bench
    description: Do something under the key under which something else is undone
    execution: { kind: sync, handler: "servicenow::add_work_note", timeout: PT5S }
    effect:
      class: write
      tier: low
      reversible: { by: A correcting note. }
      target: "incident:${params.incident}"
      idempotency_key: "${params.key}"
      in_doubt: reconcile
    input_schema:
      required: [incident, key]
      properties: { incident: { type: string }, key: { type: string } }
    output_schema: { properties: {} }
  - name: pause
    domain: bench
    description: Wait for a time that is said in words
    execution: { kind: durable, handler: "timer::wait", wait: timer, timeout: P9D }
    effect: { class: read }
    input_schema: { properties: { duration: { type: string } } }
    output_schema: { properties: {} }
"""


@pytest.fixture(autouse=True)
def verbs(tmp_path: Path) -> None:
    (tmp_path / "verbs").mkdir()
    (tmp_path / "verbs" / "own.yaml").write_text(VERBS, encoding="utf-8")


async def test_no_run_acts_under_a_key_under_which_another_is_undone(opened: Opener, targets: Targets) -> None:
    runbook = '\nsteps: [{ id: it, verb: pretend, params: { incident: I1, key: "${trigger.key}" } }]\n'
    async with opened(runbook) as bench:
        refused = (await bench.start("bench.tree", {"key": "undo:rcp_1"}, ref="1")).run_id
        done = (await bench.start("bench.tree", {"key": "redo:rcp_1"}, ref="2")).run_id
        await bench.settle()
        step = (await bench.run(refused))["steps"]["it"]
        assert (step["status"], step["error_code"]) == ("failed_terminal", "params")
        assert step["error"] == "idempotency_key of pretend begins with 'undo:': such keys are the program's own"
        assert await status(bench, done) == {"run": "succeeded", "it": "succeeded"}
        assert [call.key for call in targets.note.calls] == ["redo:rcp_1"]


@pytest.mark.parametrize("params", ["{ duration: soon }", "{ duration: P1M }", "{}"])
async def test_a_wait_for_what_is_no_time_fails_its_step(opened: Opener, params: str) -> None:
    async with opened(f"\nsteps: [{{ id: it, verb: pause, params: {params} }}]\n") as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        step = (await bench.run(run_id))["steps"]["it"]
        assert (step["status"], step["error_code"]) == ("failed_terminal", "params")
        assert "is not a duration" in step["error"]
