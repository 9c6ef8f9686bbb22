"""Who signed for a step is known to the steps that need it, and to the plan that is made again."""

from runtime.model.votes import CardAct
from tests.integration.answers_stage import say
from tests.integration.conftest import Targets
from tests.integration.nodes_stage import Opener
from tests.integration.test_replay import replayed

RUNBOOK = """
steps:
  - { id: file, verb: file, params: { company: ACME, text: report } }
  - id: note
    verb: note
    params: { incident: I1, text: "${approvals.file.signers[0]} of ${size(approvals.file.signers)}" }
  - { id: keep, when: "'ben' in approvals.file.signers", set: { of_note: "${approvals.note.signers}" } }
output: { signers: "${approvals.file.signers}" }
response: { succeeded: "Signed by ${approvals.file.signers[1]}." }
"""


async def test_expressions_read_who_signed_in_order(opened: Opener, targets: Targets) -> None:
    async with opened(RUNBOOK) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        approval = await bench.approval_id()
        for person in ("cat", "ben"):
            bench.clock.move(minutes=1)
            assert (await bench.click(person, approval)).counted
        await bench.settle()
        (run,) = await bench.rows("SELECT status, state, output FROM runs WHERE run_id = %s", run_id)
        assert run == {"status": "succeeded", "state": {"of_note": []}, "output": {"signers": ["cat", "ben"]}}
        assert [call.params["text"] for call in targets.note.calls] == ["cat of 2"]
        said = [str(row["text"]) for row in await bench.rows("SELECT fields::text AS text FROM effects")]
        assert any("Signed by ben." in text for text in said)
        assert (await replayed(bench, run_id)).difference is None


async def test_who_took_back_their_signature_has_not_signed(opened: Opener, targets: Targets) -> None:
    async with opened(RUNBOOK) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        approval = await bench.approval_id()
        assert (await bench.click("ann", approval)).counted
        assert (await say(bench, "ann", approval, CardAct.WITHDRAW, "too soon")).counted
        for person in ("ben", "cat"):
            bench.clock.move(minutes=1)
            assert (await bench.click(person, approval)).counted
        await bench.settle()
        assert [call.params["text"] for call in targets.note.calls] == ["ben of 2"]
        assert (await replayed(bench, run_id)).difference is None


async def test_who_approved_a_review_has_signed_for_it(opened: Opener) -> None:
    runbook = """
steps:
  - { id: review, verb: review, params: { title: Look, groups: [compliance], case: C1 } }
  - { id: keep, set: { by: "${approvals.review.signers}" } }
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        assert (await bench.click("ann", await bench.approval_id("task"))).counted
        await bench.settle()
        (run,) = await bench.rows("SELECT state FROM runs WHERE run_id = %s", run_id)
        assert run["state"] == {"by": ["ann"]}
        assert (await replayed(bench, run_id)).difference is None
