"""What whoever asked is told at the end of a run, in the words of its author."""

from typing import Any

from policy.contract import Outcome
from receipts.chain import Actor
from runtime.handlers import RefusedError
from runtime.inbox import inbox
from runtime.model.commands import CancelPayload
from runtime.model.notification import Notification
from runtime.planning.run_endings import LONGEST_RESPONSE
from tests.bench import TENANT, Bench
from tests.integration.conftest import Targets
from tests.integration.nodes_stage import Opener, status

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
