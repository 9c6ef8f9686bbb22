"""Runbooks of nodes on real parts: branches, switches, repeats, state, references, waits and ends."""

import pytest

from runtime.definitions.durations import parse_duration
from runtime.handlers import RefusedError, TransientError
from tests.integration.acts_stage import Opener, status
from tests.integration.conftest import Targets


async def test_a_failure_takes_its_branch_and_the_run_goes_on(opened: Opener, targets: Targets) -> None:
    targets.note.answers = [RefusedError("no such incident")]
    runbook = """
steps:
  - id: first
    verb: note
    params: { incident: I1, text: a }
    on:
      failure:
        - { id: tell, verb: note, params: { incident: I1, text: "${error.code + ' ' + error.step}" } }
  - { id: after, verb: note, needs: [first], params: { incident: I1, text: "${steps.first.status}" } }
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        assert await status(bench, run_id) == {
            "run": "succeeded",
            "first": "failed_handled",
            "first.failure": "succeeded",
            "first.failure.tell": "succeeded",
            "after": "succeeded",
        }
        said = [call.params["text"] for call in targets.note.calls]
        assert said == ["a", "refused first", "failed_handled"]


async def test_a_switch_takes_exactly_one_case(opened: Opener, targets: Targets) -> None:
    runbook = """
steps:
  - { id: look, verb: look }
  - id: route
    switch:
      cases:
        - when: "steps.look.result.value > 5"
          do: [{ id: big, verb: note, params: { incident: I1, text: big } }]
        - when: "steps.look.result.value > 2"
          do:
            - { id: middle, verb: note, params: { incident: I1, text: middle } }
            - { id: again, verb: note, params: { incident: I1, text: "${steps.middle.status}" } }
      else: []
  - { id: after, verb: note, params: { incident: I1, text: "${steps.route.result.branch}" } }
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        assert await status(bench, run_id) == {
            "run": "succeeded",
            "look": "succeeded",
            "route": "succeeded",
            "route.middle": "succeeded",
            "route.again": "succeeded",
            "after": "succeeded",
        }
        assert [call.params["text"] for call in targets.note.calls] == ["middle", "succeeded", "case_2"]


async def test_a_switch_without_a_case_that_holds_fails_and_names_the_values(opened: Opener) -> None:
    runbook = """
steps:
  - { id: look, verb: look }
  - id: route
    switch: { cases: [{ when: "steps.look.result.value > 5", do: [{ id: x, verb: look }] }] }
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        run = await bench.run(run_id)
        assert run["status"] == "failed_terminal"
        assert run["steps"]["route"]["error"] == ("no case holds, and there is no else: steps.look.result.value is 3")


async def test_a_repeat_goes_over_a_list_one_after_the_other(opened: Opener, targets: Targets) -> None:
    runbook = """
steps:
  - id: letters
    repeat:
      for_each: "${['a', 'b', 'c']}"
      collect: "${item + string(index) + steps.look.status}"
      do:
        - { id: look, verb: look }
        - { id: write, verb: note, params: { incident: I1, text: "${item}" } }
  - { id: after, verb: note, params: { incident: I1, text: "${steps.letters.result.results[2]}" } }
output: { letters: "${steps.letters.result.results}" }
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        found = await status(bench, run_id)
        assert found["run"] == "succeeded"
        assert {"letters", "letters[0]", "letters[2]", "letters[2].look"} <= found.keys()
        assert [call.params["text"] for call in targets.note.calls] == ["a", "b", "c", "c2succeeded"]
        (row,) = await bench.rows("SELECT output FROM runs WHERE run_id = %s", run_id)
        assert row["output"] == {"letters": ["a0succeeded", "b1succeeded", "c2succeeded"]}


@pytest.mark.parametrize("at_once", [1, 2, 5])
async def test_no_more_iterations_go_on_at_once_than_may(opened: Opener, at_once: int) -> None:
    runbook = f"""
steps:
  - id: waits
    repeat:
      for_each: "${{[1, 2, 3]}}"
      at_most_at_once: {at_once}
      do: [{{ id: pause, wait: {{ for: PT1H }} }}]
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        for ended in range(0, 3, at_once):
            open_now = [path for path, each in (await status(bench, run_id)).items() if path.endswith("pause")]
            assert len(open_now) == min(ended + at_once, 3)
            await bench.later(hours=1)
        assert (await bench.run(run_id))["status"] == "succeeded"


async def test_a_repeat_until_ends_when_its_condition_is_met_or_its_rounds_are_over(opened: Opener) -> None:
    runbook = """
steps:
  - { id: zero, set: { rounds: 0 } }
  - id: ask
    needs: [zero]
    repeat:
      until: "state.rounds == 2"
      at_most: 5
      do:
        - { id: count, set: { rounds: "${state.rounds + 1}" } }
  - id: more
    needs: [ask]
    repeat:
      while: "state.rounds < 9"
      at_most: 3
      do: [{ id: count, set: { rounds: "${state.rounds + 1}" } }]
output: { met: "${[steps.ask.result.met, steps.more.result.met]}", rounds: "${state.rounds}" }
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        (row,) = await bench.rows("SELECT status, output, state FROM runs WHERE run_id = %s", run_id)
        assert row == {"status": "succeeded", "output": {"met": [True, False], "rounds": 5}, "state": {"rounds": 5}}


async def test_an_end_ends_the_run_with_its_word_and_cancels_what_is_open(opened: Opener, targets: Targets) -> None:
    runbook = """
steps:
  - { id: long, wait: { for: P1D } }
  - { id: never, verb: note, needs: [long], params: { incident: I1, text: never } }
  - { id: know, reference: "case:${run.id}" }
  - { id: stop, needs: [know], end: { outcome: rejected, result: { why: "${run.reference}" } } }
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        assert await status(bench, run_id) == {
            "run": "succeeded",
            "know": "succeeded",
            "long": "canceled",
            "never": "skipped",
            "stop": "succeeded",
        }
        (row,) = await bench.rows("SELECT outcome, output, reference FROM runs WHERE run_id = %s", run_id)
        assert row == {"outcome": "rejected", "output": {"why": f"case:{run_id}"}, "reference": f"case:{run_id}"}
        assert targets.note.calls == []


async def test_a_failure_wins_over_an_end_that_the_same_event_brings_about(opened: Opener) -> None:
    runbook = """
steps:
  - { id: know, set: { text: none } }
  - { id: a_stop, needs: [know], end: { outcome: enough } }
  - { id: fail, needs: [know], reference: "${string(int(state.text))}" }
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        stands = {"run": "failed_terminal", "know": "succeeded", "a_stop": "canceled", "fail": "failed_terminal"}
        assert await status(bench, run_id) == stands
        (row,) = await bench.rows("SELECT outcome, output, error FROM runs WHERE run_id = %s", run_id)
        assert (row["outcome"], row["output"]) == ("", None)
        assert row["error"].startswith("fail: ")


async def test_a_wait_for_a_moment_ends_when_it_comes(opened: Opener) -> None:
    runbook = """
steps:
  - { id: due, wait: { until: "2026-01-05T12:00:00Z" } }
  - { id: past, wait: { until: "2020-01-01T00:00:00Z" } }
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        await bench.later(hours=2, minutes=59)
        assert await status(bench, run_id) == {"run": "waiting", "due": "parked", "past": "succeeded"}
        await bench.later(minutes=1)
        assert (await bench.run(run_id))["status"] == "succeeded"


async def test_a_state_that_grows_without_end_fails_the_step_that_would_go_on(opened: Opener) -> None:
    runbook = """
steps:
  - { id: seed, set: { text: "0123456789abcdef" } }
  - id: twice
    needs: [seed]
    repeat: { while: "true", at_most: 100, do: [{ id: grow, set: { text: "${state.text + state.text}" } }] }
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        step = (await bench.run(run_id))["steps"]["twice[15].grow"]
        assert (step["status"], step["error_code"]) == ("failed_terminal", "params")
        assert step["error"] == f"state: {2**20 + 11} bytes as JSON, and at most {2**20} are kept"


async def test_a_wait_for_a_moment_that_there_is_not_in_utc_fails_its_step(opened: Opener) -> None:
    runbook = """
state: { properties: { due: { type: string, format: date-time } } }
steps:
  - { id: keep, set: { due: "${trigger.until}" } }
  - { id: due, needs: [keep], wait: { until: "${state.due}" } }
"""
    until = "9999-12-31T23:59:59-12:00"
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {"until": until})).run_id
        await bench.settle()
        step = (await bench.run(run_id))["steps"]["due"]
        assert (step["status"], step["error_code"]) == ("failed_terminal", "params")
        assert step["error"] == f"'{until}' is no time such as 2027-01-31T12:00:00Z"


async def test_a_signal_may_come_until_a_computed_moment(opened: Opener) -> None:
    runbook = """
steps:
  - id: hear
    wait: { signal: closed, until: "${string(timestamp(run.started_at) + duration('48h'))}" }
    on:
      timeout: [{ id: silence, set: { heard: false } }]
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        await bench.later(hours=47)
        assert (await bench.run(run_id))["status"] == "waiting"
        await bench.later(hours=1)
        await bench.settle()
        run = await bench.run(run_id)
        assert (run["status"], run["state"]) == ("succeeded", {"heard": False})


async def test_silence_takes_the_branch_of_a_timeout(opened: Opener, targets: Targets) -> None:
    runbook = """
steps:
  - id: hear
    wait: { signal: closed, timeout: P1D }
    on:
      timeout:
        - { id: tell, verb: note, params: { incident: I1, text: "${error['class']}" } }
      failure:
        - { id: other, verb: note, params: { incident: I1, text: other } }
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        await bench.later(days=1)
        assert (await bench.run(run_id))["status"] == "succeeded"
        assert [call.params["text"] for call in targets.note.calls] == ["timeout"]


async def test_a_failure_without_a_branch_inside_a_repeat_ends_the_run(opened: Opener, targets: Targets) -> None:
    targets.note.answers = [{"ok": True}, RefusedError("closed")]
    runbook = """
steps:
  - id: letters
    repeat:
      for_each: "${['a', 'b', 'c']}"
      do: [{ id: write, verb: note, params: { incident: I1, text: "${item}" } }]
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        assert await status(bench, run_id) == {
            "run": "failed_terminal",
            "letters": "canceled",
            "letters[0]": "succeeded",
            "letters[1]": "canceled",
            "letters[2]": "canceled",
            "letters[0].write": "succeeded",
            "letters[1].write": "failed_terminal",
        }


async def test_a_step_says_how_often_and_when_it_is_tried_again(opened: Opener, targets: Targets) -> None:
    targets.note.answers = [TransientError("busy")] * 3
    runbook = """
steps:
  - id: write
    verb: note
    params: { incident: I1, text: a }
    retry: { ladder: [PT1M, PT1H] }
    on: { failure: [{ id: give_up, set: { why: "${error.code}" } }] }
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        for after, tries in (("PT1M", 2), ("PT1H", 3)):
            assert len(targets.note.calls) == tries - 1
            await bench.later(seconds=parse_duration(after).total_seconds())
            assert len(targets.note.calls) == tries
        (row,) = await bench.rows("SELECT status, state FROM runs WHERE run_id = %s", run_id)
        assert row == {"status": "succeeded", "state": {"why": "unavailable"}}


async def test_an_expression_reads_when_its_run_began_and_what_it_runs(opened: Opener) -> None:
    runbook = """
steps: [{ id: now, set: { at: "${run.started_at}", of: "${run.definition + ' ' + string(run.version)}" } }]
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        (row,) = await bench.rows("SELECT state FROM runs WHERE run_id = %s", run_id)
        assert row["state"] == {"at": "2026-01-05T09:00:00.000000Z", "of": "tree 1"}
