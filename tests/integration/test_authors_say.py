"""What an author wants to say, each sentence as a runbook of its own, against the real parts."""

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from tests.bench import open_bench
from tests.integration.conftest import PATIENCE, Targets
from tests.integration.nodes_stage import Opener, status
from tests.patience import MINUTE


async def test_ask_the_client_again_with_what_is_still_missing(opened: Opener, targets: Targets) -> None:
    runbook = """
steps:
  - { id: begin, set: { missing: articles register } }
  - id: rounds
    needs: [begin]
    repeat:
      until: "state.missing == ''"
      at_most: 3
      do:
        - { id: ask, verb: await_answer, params: { case: "${state.missing + string(index)}" } }
        - { id: left, set: { missing: "${steps.ask.result.answer}" } }
  - id: complete
    switch:
      cases:
        - when: "steps.rounds.result.met"
          do: [{ id: done, end: { outcome: complete } }]
      else: [{ id: give_up, end: { outcome: incomplete } }]
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        for number, (asked, answer) in enumerate((("articles register", "register"), ("register", ""))):
            await bench.complete(f"acme:await_answer:{asked}{number}", {"answer": answer}, dedupe=f"c{number}")
            await bench.settle()
        assert [call.params["case"] for call in targets.portal.calls] == ["articles register0", "register1"]
        (row,) = await bench.rows("SELECT status, outcome FROM runs WHERE run_id = %s", run_id)
        assert row == {"status": "succeeded", "outcome": "complete"}


async def test_after_three_rounds_the_case_ends_as_incomplete(opened: Opener) -> None:
    runbook = """
steps:
  - id: rounds
    repeat:
      until: "steps.ask.result.answer == 'all'"
      at_most: 3
      do: [{ id: ask, verb: await_answer, params: { case: "C${index}" } }]
  - id: incomplete
    when: "!steps.rounds.result.met"
    end: { outcome: incomplete }
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        for number in range(3):
            await bench.complete(f"acme:await_answer:C{number}", {"answer": "some"}, dedupe=f"c{number}")
            await bench.settle()
        (row,) = await bench.rows("SELECT status, outcome FROM runs WHERE run_id = %s", run_id)
        assert row == {"status": "succeeded", "outcome": "incomplete"}


async def test_if_the_filing_is_rejected_still_write_the_note(opened: Opener, targets: Targets) -> None:
    runbook = """
steps:
  - id: filing
    verb: file
    params: { company: X, text: report }
    on:
      rejected:
        - { id: why, set: { why: "${error.message}" } }
  - { id: note, needs: [filing], verb: note, params: { incident: I1, text: "${steps.filing.status}" } }
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        assert (await bench.click("ann", await bench.approval_id(), "reject", "not like this")).counted
        await bench.settle()
        assert [call.params["text"] for call in targets.note.calls] == ["failed_handled"]
        assert targets.file.calls == []
        (row,) = await bench.rows("SELECT status, state FROM runs WHERE run_id = %s", run_id)
        assert row == {"status": "succeeded", "state": {"why": "rejected by Ann: not like this"}}


async def test_one_letter_for_each_subsidiary(opened: Opener, targets: Targets) -> None:
    runbook = """
steps:
  - id: letters
    repeat:
      for_each: "${['A', 'B', 'C', 'D']}"
      at_most_at_once: 3
      do: [{ id: write, verb: note, params: { incident: "${item}", text: "Dear ${item}" } }]
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        assert (await status(bench, run_id))["run"] == "succeeded"
        assert sorted(call.params["text"] for call in targets.note.calls) == [f"Dear {one}" for one in "ABCD"]


async def test_whoever_answers_no_ends_the_run_as_rejected(opened: Opener, targets: Targets) -> None:
    runbook = """
steps:
  - id: filing
    verb: file
    params: { company: X, text: report }
    on: { rejected: [{ id: over, end: { outcome: rejected } }] }
  - { id: long, wait: { for: P30D } }
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        assert (await bench.click("ben", await bench.approval_id(), "reject", "not like this")).counted
        await bench.settle()
        (row,) = await bench.rows("SELECT status, outcome FROM runs WHERE run_id = %s", run_id)
        assert row == {"status": "succeeded", "outcome": "rejected"}
        assert (await status(bench, run_id))["long"] == "canceled"


async def test_if_nobody_reviews_senior_compliance_has_three_more_days(
    dsn: str, opa: OpaChild, targets: Targets
) -> None:
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PATIENCE], targets.handlers()) as bench,
    ):
        run_id = (await bench.start("patience.review", {})).run_id
        await bench.settle()
        for _ in range(8):
            await bench.later(days=1)
        assert (await bench.run(run_id))["status"] == "waiting", "its own time was seven days"
        assert (await bench.click("sue", await bench.approval_id("task"))).counted
        await bench.settle()
        assert (await bench.run(run_id))["status"] == "succeeded"
