"""Responses, retries and signers: what a run tells whoever asked, and whom it knows.

What whoever asked is told at the end of a run, in the words of its author.

What is tried again is tried when its author says: pause by pause, and never past the run's time.

Who signed for a step is known to the steps that need it, and to the plan that is made again.

Lists of what a person asked for have that alone, and who decides sees of a run what it waits for.
"""

from typing import Any

import pytest

from bot.views.command_replies import run_reply
from policy.contract import Outcome
from receipts.chain import Actor
from runtime.handlers import (
    BlockedError,
    HandlerError,
    NotTakenError,
    OutcomeUnknownError,
    RefusedError,
    TransientError,
)
from runtime.inbox import inbox
from runtime.model.commands import CancelPayload
from runtime.model.notification import Notification
from runtime.model.person import Person
from runtime.model.votes import CardAct
from runtime.planning.run_endings import LONGEST_RESPONSE
from runtime.services.home import Look
from runtime.services.requests import RequestService
from tests.bench import TENANT, Bench
from tests.integration.acts_stage import Opener, say, status
from tests.integration.conftest import Targets
from tests.integration.test_replay import replayed

NOTE = """
steps:
  - { id: first, verb: note, params: { incident: I1, text: "${trigger.text}", api_token: "${trigger.api_token}" } }
"""


def told(bench: Bench) -> list[str]:
    return [one["text"] for one in bench.chat.said("direct_message")]


async def ended(bench: Bench, **trigger: Any) -> str:
    run_id = (await bench.start("bench.tree", {"text": "a note", "api_token": "sesame", **trigger})).run_id
    await bench.settle()
    return run_id


async def test_whoever_asked_hears_what_the_runbook_says_of_its_end(opened: Opener) -> None:
    async with opened(
        f'{NOTE}response: {{ succeeded: "“${{trigger.text}}” was noted: ${{steps.first.status}}." }}\n'
    ) as bench:
        await ended(bench)
        assert told(bench) == ["T (1) has finished. “a note” was noted: succeeded."]


async def test_what_failed_is_told_behind_the_authors_words(opened: Opener, targets: Targets) -> None:
    targets.note.answers = [RefusedError("closed")]
    async with opened(f"{NOTE}response: {{ failed: Nothing was noted. }}\n") as bench:
        await ended(bench)
        assert told(bench) == ["T (1) failed. Nothing was noted. first: closed."]


async def test_the_word_with_which_the_run_ends_has_words_of_its_own(opened: Opener) -> None:
    end = "  - { id: over, needs: [first], end: { outcome: parked_for_now } }\n"
    says = "response: { succeeded: Noted., outcomes: { parked_for_now: We look at it on Monday. } }\n"
    async with opened(f"{NOTE}{end}{says}") as bench:
        await ended(bench)
        assert told(bench) == ["T (1) has ended: parked for now. We look at it on Monday."]


async def test_a_run_that_is_canceled_says_so_in_the_authors_words(opened: Opener) -> None:
    wait = "steps:\n  - { id: rest, wait: { for: P1D } }\n"
    async with opened(f"{wait}response: {{ canceled: Ask again at any time. }}\n") as bench:
        run_id = await ended(bench)
        cancel = CancelPayload(run_id=run_id, reason="not needed")
        word = Notification("ntf_1", TENANT, "c", run_id, cancel, Actor(id="omar", kind="person"), "")
        await inbox.apply(bench.engine, await inbox.record(bench.engine, word))
        await bench.settle()
        assert told(bench)[-1].startswith("T (1) was canceled. Ask again at any time.")


async def test_words_that_cannot_be_evaluated_are_left_out_and_the_run_ends_as_it_would(
    opened: Opener, targets: Targets
) -> None:
    targets.note.answers = [RefusedError("closed")]
    async with opened(f'{NOTE}response: {{ failed: "Noted as ${{steps.first.result.sys_id}}." }}\n') as bench:
        run_id = await ended(bench)
        assert (await status(bench, run_id))["run"] == "failed_terminal"
        assert told(bench) == ["T (1) failed. first: closed."]


async def test_no_secret_of_the_run_and_no_line_of_somebody_elses_is_in_the_words(opened: Opener) -> None:
    says = 'response: { succeeded: "${trigger.text} and ${trigger.api_token}" }\n'
    async with opened(f"{NOTE}{says}") as bench:
        await ended(bench, text="one\n\ntwo", api_token="opensaysme")
        (said,) = told(bench)
        assert said.startswith("T (1) has finished. one two ")
        assert "opensaysme" not in said
        assert "\n" not in said


async def test_words_without_end_are_cut(opened: Opener) -> None:
    async with opened(f'{NOTE}response: {{ succeeded: "${{trigger.text}}" }}\n') as bench:
        await ended(bench, text="x" * 600)
        assert told(bench) == [f"T (1) has finished. {'x' * (LONGEST_RESPONSE - 1)}…."]


async def test_policy_is_asked_about_the_words_before_anybody_hears_them(opened: Opener) -> None:
    async with opened(f"{NOTE}response: {{ succeeded: All is noted. }}\n") as bench:
        run_id = await ended(bench)
        rows = await bench.rows(
            "SELECT document -> 'input' -> 'effect' AS effect, outcome FROM policy_decisions WHERE run_id = %s"
            " AND document -> 'input' -> 'effect' ->> 'operation' = 'direct_message'",
            run_id,
        )
        ((effect, outcome),) = [(row["effect"], row["outcome"]) for row in rows]
        assert outcome == Outcome.ALLOW
        assert effect["fields"]["said"]["response"] == "All is noted."


async def _climb(patient: Bench, pauses: list[int]) -> None:
    """Let each pause pass: a second before its end nothing is tried."""
    for pause in pauses:
        await patient.later(seconds=pause - 1)
        await patient.later(seconds=1)


async def test_a_write_is_tried_again_by_its_ladder_and_no_sooner(patient: Bench, targets: Targets) -> None:
    targets.note.answers = [TransientError("busy") for _ in range(4)]
    run_id = (await patient.start("patience.note", {})).run_id
    await patient.settle()
    for number, pause in enumerate((5, 30, 120, 600), start=1):
        await patient.later(seconds=pause - 1)
        assert len(targets.note.calls) == number, f"not before its pause of {pause} seconds is over"
        await patient.later(seconds=1)
        assert len(targets.note.calls) == number + 1
    assert (await patient.run(run_id))["status"] == "succeeded"


async def test_a_ladder_that_was_climbed_to_its_end_fails_the_step(patient: Bench, targets: Targets) -> None:
    targets.note.answers = [TransientError("busy") for _ in range(9)]
    run_id = (await patient.start("patience.note", {})).run_id
    await patient.settle()
    await _climb(patient, [5, 30, 120, 600])
    run = await patient.run(run_id)
    assert (run["status"], len(targets.note.calls)) == ("failed_terminal", 5)
    assert "busy (attempt 5 of 5)" in run["error"]


async def test_a_read_is_tried_again_by_its_ladder(patient: Bench, targets: Targets) -> None:
    targets.look.answers = [TransientError("away") for _ in range(3)]
    run_id = (await patient.start("patience.note", {})).run_id
    await patient.settle()
    await patient.later(seconds=4)
    assert len(targets.look.calls) == 1
    await _climb(patient, [2, 30, 120])
    assert len(targets.look.calls) == 4
    assert (await patient.run(run_id))["status"] == "succeeded"


SLA = "it is not tried again, since its run's SLA is over by then"


async def test_no_retry_of_a_write_is_scheduled_beyond_the_runs_time(patient: Bench, targets: Targets) -> None:
    targets.note.answers = [TransientError("busy") for _ in range(9)]
    run_id = (await patient.start("patience.sla", {})).run_id
    await patient.settle()
    await _climb(patient, [5, 30])
    run = await patient.run(run_id)
    assert (run["status"], len(targets.note.calls)) == ("failed_terminal", 3), "two minutes more would be too late"
    assert run["error"] == f"note: busy; {SLA}"
    assert await patient.rows("SELECT 1 FROM effects WHERE purpose = 'step' AND status NOT IN ('failed')") == []


async def test_no_retry_of_a_read_is_scheduled_beyond_the_runs_time(patient: Bench, targets: Targets) -> None:
    targets.look.answers = [TransientError("away") for _ in range(9)]
    run_id = (await patient.start("patience.sla", {})).run_id
    await patient.settle()
    await _climb(patient, [5, 30])
    run = await patient.run(run_id)
    assert (run["status"], len(targets.look.calls)) == ("failed_terminal", 3)
    assert run["error"] == f"look: away; {SLA}"


@pytest.mark.parametrize("away", [NotTakenError("no connection", 90), BlockedError("wrong credentials")])
async def test_what_is_waited_out_ends_with_the_runs_time(patient: Bench, targets: Targets, away: HandlerError) -> None:
    targets.note.answers = [away for _ in range(40)]
    run_id = (await patient.start("patience.sla", {})).run_id
    await patient.settle()
    for _ in range(24):
        await patient.later(seconds=5)
    run = await patient.run(run_id)
    assert run["status"] == "failed_terminal"
    assert SLA in run["error"]


async def test_the_runs_time_counts_from_when_it_was_asked_for_and_forbids_no_first_try(
    patient: Bench, targets: Targets
) -> None:
    targets.look.answers = [TransientError("away")]
    run_id = (await patient.start("patience.sla", {})).run_id
    patient.clock.move(minutes=3)
    await patient.settle()
    run = await patient.run(run_id)
    assert (run["status"], len(targets.look.calls)) == ("failed_terminal", 1)


async def test_what_is_in_doubt_is_settled_whatever_the_time(patient: Bench, targets: Targets) -> None:
    targets.note.answers = [OutcomeUnknownError("reset")]
    run_id = (await patient.start("patience.sla", {})).run_id
    await patient.settle()
    await patient.later(minutes=5)
    assert (await patient.run(run_id))["status"] == "succeeded"
    assert len(targets.note.calls) == 2, "it was read back, and was not there"


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


STARTS_ANOTHER = """
steps:
  - id: sub
    run: { runbook: bench-file, trigger: { company: ACME, text: r }, timeout: P1D }
"""
SIGNED = """
steps:
  - { id: before, verb: note, params: { incident: I1, text: a } }
  - { id: register, needs: [before], verb: file, params: { company: ACME, text: r } }
  - { id: after, needs: [register], verb: note, params: { incident: I1, text: b } }
"""
RITA = Person("rita", "Rita", ())
ANN = Person("ann", "Ann", ("compliance",))
OMAR = Person("omar", "Omar", ("operators",))


def _front(bench: Bench) -> RequestService:
    return RequestService(bench.engine, TENANT, bench.catalog)


async def test_a_run_that_another_run_started_is_not_among_what_a_person_asked_for(opened: Opener) -> None:
    async with opened(STARTS_ANOTHER) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        assert len(await bench.rows("SELECT 1 FROM runs WHERE requested_by = 'rita'")) == 2
        front = _front(bench)
        assert [one.run_id for one in (await front.mine(RITA, 10)).runs] == [run_id]
        (asked,) = (await front.home.asked_for("rita", Look(10))).entries
        assert asked.run_id == run_id
        assert asked.waits_for
        assert asked.waits_for.view.approval_id == await bench.approval_id(), "that of the run below"
        assert asked.more == 0
        (child,) = await bench.rows("SELECT run_id FROM runs WHERE run_id <> %s", run_id)
        assert await front.run(RITA, child["run_id"]), "who asked for the one may look at the other"


async def test_an_officer_sees_what_a_run_waits_for_and_an_operator_all_of_its_steps(opened: Opener) -> None:
    async with opened(SIGNED) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        front = _front(bench)
        of_ann, of_omar = await front.run(ANN, run_id), await front.run(OMAR, run_id)
        assert of_ann
        assert of_omar
        assert [step.name for step in of_ann.steps] == ["File a report with the register"]
        assert [step.name for step in of_omar.steps] == ["before", "register", "after"]
        shown = str(run_reply(of_ann).blocks)
        assert "1 of 3 steps ended" in shown
        assert "File a report with the register: waits for approval" in shown
        assert "before" not in shown
