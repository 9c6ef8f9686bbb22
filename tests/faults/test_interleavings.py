"""What may come between two steps of the gate: cancels, completions, lost replies, stopped workers, in bad order."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from policy.contract import PolicyText, PolicyUnavailableError, Question, Verdict
from policy.engine import PolicyEngine
from policy.operator_contract import Authorization, OperatorQuestion
from receipts.chain import Actor
from runtime import sweeps
from runtime.gate import gate
from runtime.handlers import Call, JsonObject, OutcomeUnknownError, TransientError
from runtime.inbox import inbox
from runtime.model.commands import CancelPayload
from runtime.model.notification import Notification
from runtime.model.payloads import DeadlinePayload
from runtime.planning.run_starts import start_run
from runtime.store import effects
from runtime.worker import Worker
from tests.bench import Bench, Target, with_handlers
from tests.integration.conftest import Targets
from tests.opa_server import Between

NOTE = {"incident": "I1", "text": "seen", "api_token": "t"}
FILE = {"company": "ACME", "text": "report"}
KEY = "acme:await_answer:C1"
REQUIREMENT = {
    "quorum": 1,
    "groups": ["compliance"],
    "all_groups": False,
    "exclude": [],
    "expires_in": "PT8H",
    "reason_required": False,
    "escalate_to": [],
}
Hook = Callable[[], Awaitable[None]]


@dataclass
class Interrupted(Between):
    """The real policy, and something that happens after it answered for a step, once."""

    step: str
    hook: Hook | None = None

    async def changed(self, question: Question, verdict: Verdict) -> Verdict:
        if question.step == self.step and self.hook is not None:
            hook, self.hook = self.hook, None
            await hook()
        return verdict


class Away:
    """A policy that gives no answer."""

    async def ask(self, question: Question) -> Verdict:
        raise PolicyUnavailableError(f"away, step {question.step}")

    async def ask_all(self, questions: Sequence[Question]) -> list[Verdict | PolicyUnavailableError]:
        return [PolicyUnavailableError(f"away, step {question.step}") for question in questions]

    async def judge(self, question: OperatorQuestion) -> Authorization:
        raise PolicyUnavailableError(f"away, {question.act}")

    def text(self, digest: str) -> PolicyText:
        raise LookupError(digest)


def _with_policy(bench: Bench, policy: PolicyEngine) -> Bench:
    engine = replace(bench.engine, policy=policy)
    return replace(bench, engine=engine, worker=Worker(engine))


async def _cancel(bench: Bench, run_id: str) -> None:
    note = Notification(
        notification_id=bench.engine.new_id("ntf"),
        tenant="acme",
        dedupe_key=f"cancel {run_id}",
        correlation_key=run_id,
        payload=CancelPayload(run_id=run_id, reason="no longer wanted"),
        actor=Actor(id="omar", kind="person"),
        request_id="req",
    )
    await inbox.apply(bench.engine, await inbox.record(bench.engine, note))


async def _effect(bench: Bench, run_id: str) -> dict[str, Any]:
    return (await bench.rows("SELECT * FROM effects WHERE run_id = %s AND step <> ''", run_id))[0]


async def _receipts(bench: Bench, run_id: str) -> list[str]:
    query = "SELECT outcome FROM receipts WHERE run_id = %s AND document->>'step' <> '' ORDER BY seq"
    return [row["outcome"] for row in await bench.rows(query, run_id)]


async def _signed(bench: Bench, run_id: str) -> None:
    await bench.settle()
    approval = await bench.approval_id()
    for person in ("ann", "ben"):
        assert (await bench.click(person, approval)).counted
    await bench.settle()
    assert (await bench.run(run_id))["run_id"] == run_id


async def test_nothing_acts_after_a_cancel_that_comes_while_policy_is_asked(bench: Bench, targets: Targets) -> None:
    policy = Interrupted(bench.engine.policy, "note")
    other = _with_policy(bench, policy)
    run_id = (await other.start("bench.note", NOTE)).run_id
    policy.hook = lambda: _cancel(bench, run_id)
    await other.settle()
    assert (await other.run(run_id))["status"] == "canceled"
    assert targets.note.calls == []
    assert await _receipts(other, run_id) == ["refusal"]


async def test_nobody_is_asked_to_approve_for_a_run_that_was_canceled_meanwhile(bench: Bench) -> None:
    policy = Interrupted(bench.engine.policy, "file")
    other = _with_policy(bench, policy)
    run_id = (await other.start("bench.file", FILE)).run_id
    policy.hook = lambda: _cancel(bench, run_id)
    await other.settle()
    assert await other.rows("SELECT 1 FROM approvals") == []
    assert other.chat.said("post_card") == []


async def test_a_doubt_outlives_a_cancel_and_is_settled_by_a_person(bench: Bench, targets: Targets) -> None:
    targets.file.answers = [OutcomeUnknownError("reset")]
    run_id = (await bench.start("bench.file", FILE)).run_id
    await _signed(bench, run_id)
    await _cancel(bench, run_id)
    await bench.later(days=400)
    question = await bench.approval_id("in_doubt")
    assert (await bench.click("omar", question, "approve", "it is in the register")).counted
    await bench.settle()
    assert (await _effect(bench, run_id))["status"] == "dispatched"
    assert await _receipts(bench, run_id) == ["in_doubt", "success"]
    assert (await bench.run(run_id))["status"] == "canceled"


async def test_a_doubt_answered_with_no_after_the_run_ended_is_not_attempted_again(
    bench: Bench, targets: Targets
) -> None:
    targets.file.answers = [OutcomeUnknownError("reset")]
    run_id = (await bench.start("bench.file", FILE)).run_id
    await _signed(bench, run_id)
    await _cancel(bench, run_id)
    await bench.later(minutes=6)
    assert (await bench.click("omar", await bench.approval_id("in_doubt"), "reject", "it is not there")).counted
    await bench.later(days=1)
    assert (await _effect(bench, run_id))["status"] == "failed"
    assert len(targets.file.calls) == 1


async def test_an_answer_that_overtakes_a_lost_reply_proves_the_start(bench: Bench) -> None:
    class Quick(Target):
        async def run(self, call: Call) -> JsonObject:
            self.calls.append(call)
            await bench.complete(call.correlation_key, {"answer": "at once"}, "quick", call.token)
            raise OutcomeUnknownError("reset")

    quick = Quick()
    other = with_handlers(bench, {"portal::request_documents": quick.handler()})
    run_id = (await other.start("bench.wait", {"case": "C1"})).run_id
    await other.settle()
    await other.later(minutes=5)
    assert (await other.run(run_id))["status"] == "succeeded"
    assert len(quick.calls) == 1
    waits = await other.rows("SELECT status FROM waits WHERE run_id = %s", run_id)
    assert [row["status"] for row in waits] == ["completed"]


async def test_a_transient_failure_after_a_lost_reply_does_not_say_that_nothing_was_done(
    bench: Bench, targets: Targets
) -> None:
    targets.portal.answers = [OutcomeUnknownError("reset"), *[TransientError("503") for _ in range(5)]]
    run_id = (await bench.start("bench.wait", {"case": "C1"})).run_id
    await bench.settle()
    for _ in range(6):
        await bench.later(minutes=1)
    effect = await _effect(bench, run_id)
    assert (effect["status"], effect["asked"], effect["claimed"]) == ("in_doubt", True, True)
    assert await bench.approval_id("in_doubt")


async def test_a_doubt_that_policy_gives_no_word_on_until_the_deadline_goes_to_a_person(
    bench: Bench, targets: Targets
) -> None:
    targets.portal.answers = [OutcomeUnknownError("reset")]
    run_id = (await bench.start("bench.wait", {"case": "C1"})).run_id
    await bench.settle()
    away = _with_policy(bench, Away())
    for _ in range(3):
        await away.later(hours=13)
    assert (await _effect(bench, run_id))["status"] == "in_doubt"
    assert await bench.approval_id("in_doubt")


async def test_a_deadline_recorded_by_a_clock_that_is_ahead_is_not_lost(bench: Bench, targets: Targets) -> None:
    run_id = (await bench.start("bench.timer", {})).run_id
    await bench.settle()
    (wait,) = await bench.rows("SELECT wait_id, token FROM waits WHERE run_id = %s", run_id)
    signal = Notification(
        notification_id="ntf_ahead",
        tenant="acme",
        dedupe_key=f"deadline:{wait['wait_id']}:{wait['token']}",
        correlation_key=wait["wait_id"],
        payload=DeadlinePayload(**wait),
        actor=Actor(id="countersign", kind="schedule"),
        request_id="",
    )
    bench.clock.move(minutes=59, seconds=59)
    await inbox.record(bench.engine, signal)  # by a process whose clock is a second ahead
    await bench.later(seconds=2)
    assert (await bench.run(run_id))["status"] == "succeeded"
    assert len(targets.note.calls) == 1


async def test_a_voided_approval_is_on_record_once_however_long_policy_is_away(bench: Bench, targets: Targets) -> None:
    run_id = (await bench.start("bench.file", FILE)).run_id
    await bench.settle()
    approval = await bench.approval_id()
    for person in ("ann", "ben"):
        assert (await bench.click(person, approval)).counted
    await bench.meddle(
        'UPDATE effects SET fields = (fields::jsonb || \'{"text": "forged"}\')::json WHERE run_id = %s'
        " AND step = 'file'",
        run_id,
    )
    away = _with_policy(bench, Away())
    for _ in range(5):
        await away.later(seconds=30)
    assert await _receipts(bench, run_id) == []
    await bench.later(seconds=30)
    assert await _receipts(bench, run_id) == ["refusal"]
    assert targets.file.calls == []


async def test_a_worker_that_slept_past_its_lease_does_not_act(bench: Bench, targets: Targets) -> None:
    of_the_sleeper = Target()
    run_id = (await bench.start("bench.note", NOTE)).run_id
    await start_run(bench.engine, run_id)
    now = bench.clock()
    (leased,) = await bench.lease("sleeper", bench.engine.timing.lease)
    moments = iter([now, now, now, now])
    sleeper = replace(
        with_handlers(bench, {"servicenow::add_work_note": of_the_sleeper.handler()}).engine,
        worker="sleeper",
        clock=lambda: next(moments, now + 2 * bench.engine.timing.lease),
    )
    await gate.perform(sleeper, leased)
    assert of_the_sleeper.calls == []
    await bench.later(minutes=2)
    await bench.later(minutes=2)
    assert (await bench.run(run_id))["status"] == "succeeded"
    assert len(targets.note.calls) == 1


async def test_parallel_writes_cannot_pass_the_limit_together(bench: Bench, targets: Targets) -> None:
    run_id = (await bench.start("bench.fan", {})).run_id
    await bench.settle()
    assert len(targets.note.calls) == 60
    run = await bench.run(run_id)
    assert "limit of writes" in run["error"]


async def test_of_two_writes_that_policy_was_asked_about_at_once_the_last_free_place_is_for_one(
    bench: Bench, targets: Targets
) -> None:
    policy = Interrupted(bench.engine.policy, "")
    other = _with_policy(bench, policy)
    run_id = (await other.start("bench.fan", {})).run_id
    await start_run(other.engine, run_id)
    await bench.meddle("UPDATE runs SET writes = 59 WHERE run_id = %s", run_id)
    first, second, *_ = await other.lease("worker", other.engine.timing.lease, slots=32)
    policy.step, policy.hook = first.step, lambda: _done(gate.perform(other.engine, second))
    await gate.perform(other.engine, first)
    assert len(targets.note.calls) == 1


async def _done(work: Awaitable[object]) -> None:
    await work


async def test_a_reason_with_a_nul_is_counted_without_it(bench: Bench) -> None:
    await bench.start("bench.file", FILE)
    await bench.settle()
    approval = await bench.approval_id()
    assert (await bench.click("ann", approval, "approve", "fine \x00 \ud800")).counted
    (vote,) = await bench.rows("SELECT reason FROM votes WHERE approval_id = %s", approval)
    assert vote["reason"] == "fine \\0 ?"


async def test_a_notification_that_cannot_be_applied_is_a_dead_letter_and_says_why(bench: Bench) -> None:
    await bench.start("bench.wait", {"case": "C1"})
    await bench.settle()
    await bench.rows(
        "INSERT INTO notifications (notification_id, tenant, kind, dedupe_key, correlation_key, payload, actor,"
        " request_id, status, received_at, next_try_at) VALUES ('ntf_1', 'acme', 'completion', 'd', %s, '{}',"
        """ '{"id": "p", "kind": "agent"}', 'req', 'received', now(), now()) RETURNING 1""",
        KEY,
    )
    facts = await inbox.apply(bench.engine, "ntf_1")
    assert facts["status"] == "dead_letter"
    assert "completion.verbs: Field required" in facts["reason"]
    (letter,) = await bench.rows("SELECT status, outcome FROM notifications WHERE notification_id = 'ntf_1'")
    assert letter == {"status": "dead_letter", "outcome": facts}


async def test_a_key_that_started_a_durable_verb_before_fails_the_second_run(bench: Bench) -> None:
    first = (await bench.start("bench.wait", {"case": "C1"}, ref="1")).run_id
    await bench.settle()
    key = (await _effect(bench, first))["idempotency_key"]
    assert (await bench.complete(KEY, {"answer": "yes"}))["status"] == "applied"
    await bench.settle()
    second = (await bench.start("bench.wait", {"case": "C1"}, ref="2")).run_id
    await start_run(bench.engine, second)
    before = await _effect(bench, first)
    await bench.meddle(
        "UPDATE effects SET idempotency_key = %s, digest = %s WHERE run_id = %s AND step = 'ask'",
        key,
        before["digest"],
        second,
    )
    await bench.settle()
    assert "started it for another run already" in (await bench.run(second))["error"]


@pytest.mark.parametrize("seconds", [1e15, 3e8])
async def test_a_retry_after_beyond_reason_is_a_day_at_most(bench: Bench, targets: Targets, seconds: float) -> None:
    targets.note.answers = [TransientError("busy", retry_after=seconds)]
    run_id = (await bench.start("bench.note", NOTE)).run_id
    await bench.settle()
    await bench.later(days=1)
    assert (await bench.run(run_id))["status"] == "succeeded"


async def test_an_effect_that_kills_its_worker_comes_to_an_end(bench: Bench) -> None:
    run_id = (await bench.start("bench.note", NOTE)).run_id
    await start_run(bench.engine, run_id)
    for _ in range(4):
        bench.clock.move(minutes=5)
        now = bench.clock()
        leased = await bench.lease("doomed")
        async with bench.engine.pool.connection() as conn, conn.transaction():
            for effect in leased:
                await effects.begin_attempt(conn, effect, now=now, decision_id="dec_x", digest=effect.digest)
        bench.clock.move(seconds=1)
        await sweeps.sweep(bench.engine)
    await bench.later(minutes=5)
    assert (await _effect(bench, run_id))["status"] == "failed", "read back: it was never done"


class Asking(Between):
    """A policy whose author wants every word to the chat approved."""

    async def changed(self, question: Question, verdict: Verdict) -> Verdict:
        if question.step:
            return verdict
        document = verdict.model_dump(mode="json")
        document["answer"] |= {"outcome": "needs_approval", "requirement": REQUIREMENT}
        return Verdict.model_validate_json(json.dumps(document))


async def test_a_card_never_asks_for_a_card_and_so_on_for_ever(bench: Bench, targets: Targets) -> None:
    other = _with_policy(bench, Asking(bench.engine.policy))
    run_id = (await other.start("bench.file", FILE)).run_id
    await other.settle()
    asked = await other.rows("SELECT step FROM approvals WHERE run_id = %s", run_id)
    assert [row["step"] for row in asked] == ["file"]
    said = await other.rows("SELECT status, error FROM effects WHERE run_id = %s AND step = ''", run_id)
    assert {row["status"] for row in said} == {"rejected"}
    assert "asks for approval of what asks for approvals" in said[0]["error"]
    assert targets.file.calls == []
