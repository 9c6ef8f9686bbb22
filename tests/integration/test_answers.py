"""Answers from the other side: which wait they are for, what is refused, and what comes before its time."""

from receipts.chain import Actor
from runtime.handlers import Call, JsonObject, RefusedError
from runtime.inbox import inbox
from runtime.model.notification import Notification
from runtime.model.payloads import ProgressPayload
from tests.bench import VERBS, Bench, Target, with_handlers
from tests.integration.conftest import Targets

KEY = "acme:await_answer:C1"
WORD = "acme:await_word:C1"
YES = {"answer": "yes"}


async def _started(bench: Bench, kind: str = "wait", ref: str = "1") -> str:
    run_id = (await bench.start(f"bench.{kind}", {"case": "C1"}, ref)).run_id
    await bench.settle()
    return run_id


async def _ask(bench: Bench, run_id: str) -> str:
    return str((await bench.run(run_id))["steps"]["ask"]["status"])


async def _refusals(bench: Bench, run_id: str) -> list[str]:
    refused = "SELECT leaf FROM audit_leaves WHERE run_id = %s AND leaf->>'event' = 'notification.refused' ORDER BY seq"
    rows = await bench.rows(refused, run_id)
    return [row["leaf"]["data"]["code"] for row in rows]


async def _cancel(bench: Bench, run_id: str) -> None:
    await bench.rows(
        "UPDATE waits SET status = 'canceled', resolved_at = created_at WHERE run_id = %s RETURNING 1", run_id
    )


async def test_the_waits_token_goes_out_with_the_request_and_is_demanded_back(bench: Bench, targets: Targets) -> None:
    run_id = await _started(bench)
    (call,) = targets.portal.calls
    (wait,) = await bench.rows("SELECT wait_id, token FROM waits WHERE run_id = %s", run_id)
    assert call.token == wait["token"]
    assert call.token.startswith(f"{wait['wait_id']}.")
    without = await bench.complete(KEY, YES, "n1", token=None)
    assert (without["status"], without["code"]) == ("refused", "answer.no_token")
    wrong = await bench.complete(KEY, YES, "n2", token="another")
    assert (wrong["status"], wrong["code"]) == ("refused", "answer.other_token")
    assert await _ask(bench, run_id) == "parked"
    assert await _refusals(bench, run_id) == ["answer.no_token", "answer.other_token"]
    assert (await bench.complete(KEY, YES, "n3", token=call.token))["status"] == "applied"
    assert await _ask(bench, run_id) == "succeeded"


async def test_a_tried_again_request_carries_the_token_of_the_wait_that_is_open(bench: Bench, targets: Targets) -> None:
    targets.portal.answers = [TimeoutError()]
    run_id = await _started(bench)
    await bench.later(minutes=10)  # the first request can no longer land: now a person is asked
    assert (await bench.click("omar", await bench.approval_id("in_doubt"), "reject", "it is not there")).counted
    await bench.settle()
    (wait,) = await bench.rows("SELECT token FROM waits WHERE run_id = %s AND status = 'active'", run_id)
    assert [call.token for call in targets.portal.calls] == [wait["token"]] * 2


async def test_an_answer_ends_the_question_whether_its_request_arrived(bench: Bench, targets: Targets) -> None:
    targets.portal.answers = [TimeoutError()]
    run_id = await _started(bench)
    await bench.later(minutes=10)
    question = await bench.approval_id("in_doubt")
    (call,) = targets.portal.calls
    assert (await bench.complete(KEY, YES, "n1", token=call.token))["status"] == "applied"
    assert await _ask(bench, run_id) == "succeeded"
    assert await bench.rows("SELECT status FROM approvals WHERE approval_id = %s", question) == [{"status": "canceled"}]


async def test_a_token_that_the_other_side_repeats_is_not_put_on_record(bench: Bench) -> None:
    class Echo(Target):
        async def run(self, call: Call) -> JsonObject:
            self.calls.append(call)
            raise RefusedError(f"400: what is {call.token}?")

    echo = Echo()
    other = with_handlers(bench, {"portal::request_documents": echo.handler()})
    run_id = await _started(other)
    run = await other.run(run_id)
    assert run["error"].startswith("ask: 400: what is ")
    leaves = await other.rows("SELECT leaf::text AS leaf FROM audit_leaves WHERE run_id = %s", run_id)
    assert not any(echo.calls[0].token in text for text in [run["error"], *(row["leaf"] for row in leaves)])


async def test_an_answer_to_an_ended_run_does_not_complete_another_run_of_its_case(
    bench: Bench, targets: Targets
) -> None:
    first = await _started(bench, ref="1")
    await _cancel(bench, first)
    second = await _started(bench, ref="2")
    late, own = (call.token for call in targets.portal.calls)
    facts = await bench.complete(KEY, YES, "late", token=late)
    assert (facts["status"], facts["code"]) == ("refused", "answer.other_token")
    assert await _ask(bench, second) == "parked"
    assert (await bench.complete(KEY, YES, "own", token=own))["run_id"] == second


async def test_two_runs_of_one_case_wait_side_by_side(bench: Bench, targets: Targets) -> None:
    runs = [await _started(bench, ref=ref) for ref in ("1", "2")]
    assert [await _ask(bench, run_id) for run_id in runs] == ["parked", "parked"]
    for call in reversed(targets.portal.calls):
        assert (await bench.complete(KEY, YES, call.token, token=call.token))["run_id"] == call.run_id
    await bench.settle()
    await bench.later(minutes=1)
    assert [(await bench.run(run_id))["status"] for run_id in runs] == ["succeeded", "succeeded"]


async def test_an_answer_by_key_is_for_every_wait_under_it_and_has_an_outcome_for_each(bench: Bench) -> None:
    runs = [await _started(bench, "word", ref) for ref in ("1", "2", "3")]
    facts = await bench.complete(WORD, YES, token=None, verbs=["await_word"])
    assert facts["status"] == "applied"
    assert {wait["run_id"]: wait["status"] for wait in facts["waits"]} == dict.fromkeys(runs, "applied")
    assert [await _ask(bench, run_id) for run_id in runs] == ["succeeded"] * 3


async def test_a_caller_that_may_not_answer_for_the_verb_changes_nothing(bench: Bench) -> None:
    run_id = await _started(bench)
    facts = await bench.complete(KEY, YES, verbs=["another"])
    assert (facts["status"], facts["code"]) == ("refused", "answer.not_yours")
    assert await _ask(bench, run_id) == "parked"


async def test_a_result_that_does_not_fit_is_refused_and_the_wait_goes_on(bench: Bench) -> None:
    run_id = await _started(bench)
    for dedupe, result in (("n1", {"answer": 7}), ("n2", {}), ("n3", ["yes"])):
        facts = await bench.complete(KEY, result, dedupe)
        assert (facts["status"], facts["code"]) == ("refused", "answer.invalid")
        assert facts["reason"].startswith("result: ")
    assert "/answer" in (await bench.complete(KEY, {"answer": 7}, "n1"))["reason"]
    assert await _ask(bench, run_id) == "parked"
    assert await _refusals(bench, run_id) == ["answer.invalid"] * 3
    assert (await bench.complete(KEY, YES, "n4"))["status"] == "applied"


async def test_a_verb_may_say_that_a_result_that_does_not_fit_fails_its_step(bench: Bench) -> None:
    run_id = await _started(bench, "word")
    assert (await bench.complete(WORD, {"answer": 7}, token=None, verbs=["await_word"]))["status"] == "applied"
    run = await bench.run(run_id)
    assert run["status"] == "failed_terminal"
    assert "result: /answer" in run["error"]


async def test_the_other_sides_failure_needs_no_result(bench: Bench) -> None:
    run_id = await _started(bench)
    assert (await bench.complete(KEY, {}, outcome="failed", error="withdrawn"))["status"] == "applied"
    assert "withdrawn" in (await bench.run(run_id))["error"]


async def test_an_early_answer_waits_for_its_wait(bench: Bench) -> None:
    early = await bench.complete(WORD, YES, token=None, verbs=["await_word"])
    assert (early["status"], early["code"]) == ("early", "answer.early")
    run_id = await _started(bench, "word")
    assert await _ask(bench, run_id) == "succeeded"
    again = await bench.complete(WORD, YES, token=None, verbs=["await_word"])
    assert (again["status"], again["run_id"]) == ("applied", run_id)


async def test_an_early_answer_put_aside_while_its_wait_opened_is_not_forgotten(bench: Bench) -> None:
    await bench.complete(WORD, YES, token=None, verbs=["await_word"])
    await bench.meddle("UPDATE notifications SET correlation_key = 'elsewhere' RETURNING 1")
    run_id = await _started(bench, "word")
    await bench.meddle("UPDATE notifications SET correlation_key = %s WHERE kind = 'completion' RETURNING 1", WORD)
    await bench.later(seconds=1)
    assert await _ask(bench, run_id) == "succeeded"


async def test_an_early_answer_sent_again_is_applied_if_its_wait_has_opened(bench: Bench) -> None:
    await bench.complete(WORD, YES, token=None, verbs=["await_word"])
    await bench.meddle("UPDATE notifications SET correlation_key = 'elsewhere' RETURNING 1")
    run_id = await _started(bench, "word")
    await bench.meddle("UPDATE notifications SET correlation_key = %s WHERE kind = 'completion' RETURNING 1", WORD)
    assert (await bench.complete(WORD, YES, token=None, verbs=["await_word"]))["status"] == "applied"
    assert await _ask(bench, run_id) == "succeeded"


async def test_an_early_answer_does_not_wait_for_ever(bench: Bench) -> None:
    await bench.complete(WORD, YES, token=None, verbs=["await_word"])
    await bench.later(days=6)
    assert (await bench.complete(WORD, YES, token=None, verbs=["await_word"]))["status"] == "early"
    await bench.later(days=1, seconds=1)
    facts = await bench.complete(WORD, YES, token=None, verbs=["await_word"])
    assert (facts["status"], facts["reason"]) == ("dead_letter", "no step waited for this within 7 days")


async def test_an_early_answer_without_its_waits_token_is_refused_when_the_wait_opens(bench: Bench) -> None:
    assert (await bench.complete(KEY, YES, token=None))["status"] == "early"
    run_id = await _started(bench)
    assert await _ask(bench, run_id) == "parked"
    assert (await bench.complete(KEY, YES, token=None))["code"] == "answer.no_token"


async def test_an_answer_with_a_token_that_no_wait_has_had_is_a_dead_letter(bench: Bench) -> None:
    facts = await bench.complete("acme:await_answer:nobody", YES, token="wait_0.tok_0")
    assert (facts["status"], facts["code"]) == ("dead_letter", "answer.unmatched")


async def test_a_late_answer_is_stale_and_not_kept_for_the_next_run_of_its_case(bench: Bench) -> None:
    first = await _started(bench, "word", "1")
    await bench.complete(WORD, YES, "n1", token=None, verbs=["await_word"])
    assert (await bench.complete(WORD, YES, "n2", token=None, verbs=["await_word"]))["status"] == "stale"
    second = await _started(bench, "word", "2")
    assert [await _ask(bench, run_id) for run_id in (first, second)] == ["succeeded", "parked"]


async def test_word_of_progress_resumes_nothing_and_needs_the_token(bench: Bench) -> None:
    run_id = await _started(bench)
    (wait,) = await bench.rows("SELECT token FROM waits WHERE run_id = %s", run_id)
    said = []
    for number, token in enumerate((None, wait["token"])):
        progress = Notification(
            notification_id=f"ntf_{number}",
            tenant="acme",
            dedupe_key=f"p{number}",
            correlation_key=KEY,
            payload=ProgressPayload(message="reminder sent", token=token, verbs=VERBS),
            actor=Actor(id="portal-bot", kind="agent"),
            request_id="req",
        )
        said.append((await inbox.apply(bench.engine, await inbox.record(bench.engine, progress)))["status"])
    assert said == ["refused", "applied"]
    assert await _ask(bench, run_id) == "parked"


async def test_waits_opened_before_tokens_went_out_are_answered_by_their_key(bench: Bench) -> None:
    run_id = await _started(bench)
    await bench.meddle("UPDATE waits SET correlate = 'by_key' RETURNING 1")  # as the migration leaves them
    assert (await bench.complete(KEY, YES, token=None))["status"] == "applied"
    assert await _ask(bench, run_id) == "succeeded"


async def test_a_completion_cannot_end_a_timer(bench: Bench) -> None:
    run_id = (await bench.start("bench.timer", {})).run_id
    await bench.settle()
    facts = await bench.complete(f"{run_id}:pause", YES)
    assert (facts["status"], facts["code"]) == ("refused", "answer.by_clock")


async def test_a_completion_cannot_decide_an_approval(bench: Bench) -> None:
    await bench.start("bench.file", {"company": "ACME", "text": "r"})
    await bench.settle()
    facts = await bench.complete(f"approval:{await bench.approval_id()}", YES)
    assert (facts["status"], facts["code"]) == ("refused", "answer.by_people")
