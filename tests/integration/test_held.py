"""What somebody has to mend is held and told, what was not even taken is waited out: neither ends a run."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from policy.contract import Outcome, Question, Reason, Requirement, Verdict
from runtime.handlers import BlockedError, NotTakenError, TransientError
from runtime.worker.worker import Worker
from tests.bench import Bench, Target
from tests.integration.conftest import Targets
from tests.policies import Between

NOTE = {"incident": "I1", "text": "seen", "api_token": "t"}
KEY = "acme:await_answer:C1"
HOUR = 3600.0
OPERATORS = {"UOMAR"}


@dataclass(frozen=True)
class Work:
    """One piece of work whose other side can be told how to fail: a read or a write."""

    trigger: str
    payload: dict[str, Any]
    step: str
    event: str

    def target(self, targets: Targets) -> Target:
        return targets.look if self.step == "left" else targets.note


READ = Work("bench.branches", {}, "left", "read.blocked")
WRITE = Work("bench.note", NOTE, "note", "effect.blocked")
both = pytest.mark.parametrize("work", [READ, WRITE], ids=["read", "write"])


async def _events(bench: Bench, run_id: str, event: str, step: str) -> int:
    query = "SELECT 1 FROM audit_leaves WHERE run_id = %s AND leaf->>'event' = %s AND leaf->'correlation'->>'step' = %s"
    return len(await bench.rows(query, run_id, event, step))


def _told(bench: Bench) -> list[tuple[str, str]]:
    """Return who was told that something is blocked, and in which words."""
    said = bench.chat.said("direct_message")
    return [(one["user"], one["text"]) for one in said if "is blocked" in one["text"]]


@both
async def test_a_refused_login_holds_and_does_not_end_a_run(bench: Bench, targets: Targets, work: Work) -> None:
    target = work.target(targets)
    target.answers = [BlockedError("401: the token is not accepted") for _ in range(8)]
    run_id = (await bench.start(work.trigger, work.payload)).run_id
    await bench.settle()
    assert (await bench.run(run_id))["steps"][work.step]["status"] == "failed_retryable"
    told = _told(bench)
    assert all("401: the token is not accepted" in text for _, text in told)
    assert {user for user, _ in told} == OPERATORS
    for _ in range(12):
        await bench.later(minutes=2)
    assert (await bench.run(run_id))["status"] == "succeeded"
    assert target.answers == []
    assert await _events(bench, run_id, work.event, work.step) == 1, "once, however often it was tried"
    assert sorted(set(told)) == sorted(_told(bench)), "each of them once"


@both
@pytest.mark.parametrize(
    ("error", "code"),
    [(TransientError("busy"), "unavailable"), (NotTakenError("away"), "not_taken"), (BlockedError("401"), "blocked")],
)
async def test_what_is_tried_again_says_by_which_error(
    bench: Bench, targets: Targets, work: Work, error: Exception, code: str
) -> None:
    work.target(targets).answers = [error]
    run_id = (await bench.start(work.trigger, work.payload)).run_id
    await bench.settle()
    query = "SELECT leaf->'data'->>'code' AS code FROM audit_leaves WHERE run_id = %s AND leaf->>'event' = %s"
    assert [row["code"] for row in await bench.rows(query, run_id, "step.failed_retryable")] == [code]


@both
async def test_what_stays_refused_until_its_deadline_fails_with_the_reason(
    bench: Bench, targets: Targets, work: Work
) -> None:
    work.target(targets).answers = [BlockedError("401: the token is not accepted") for _ in range(999)]
    run_id = (await bench.start(work.trigger, work.payload)).run_id
    await bench.settle()
    for _ in range(4):
        await bench.later(hours=13)
    run = await bench.run(run_id)
    assert run["status"] == "failed_terminal"
    assert "401: the token is not accepted" in run["error"]


@both
async def test_what_is_not_even_taken_uses_up_no_try(bench: Bench, targets: Targets, work: Work) -> None:
    target = work.target(targets)
    target.answers = [NotTakenError("429") for _ in range(10)]  # the verb allows three tries
    run_id = (await bench.start(work.trigger, work.payload)).run_id
    await bench.settle()
    for _ in range(20):
        await bench.later(minutes=1)
    assert target.answers == []
    assert (await bench.run(run_id))["status"] == "succeeded"


@both
@pytest.mark.parametrize("error", [NotTakenError, TransientError])
async def test_no_target_can_ask_for_more_than_the_verbs_longest_pause(
    bench: Bench, targets: Targets, work: Work, error: type[TransientError | NotTakenError]
) -> None:
    target = work.target(targets)
    target.answers = [error("429", retry_after=24 * HOUR)]
    run_id = (await bench.start(work.trigger, work.payload)).run_id
    await bench.settle()
    tried = len(target.calls)
    await bench.later(seconds=29)
    assert len(target.calls) == tried, "as long as it asks for, up to 30 s"
    await bench.later(seconds=2)
    assert (await bench.run(run_id))["status"] == "succeeded"


ASKING = Requirement(
    quorum=1,
    groups=["compliance"],
    all_groups=False,
    exclude=[],
    expires_in="PT8H",
    reason_required=True,
    escalate_to=[],
)


@dataclass
class Bent(Between):
    """A policy engine whose answers are what a test makes of the real ones."""

    update: dict[str, Any]

    async def changed(self, question: Question, verdict: Verdict) -> Verdict:
        if question.effect.connector == "slack":
            return verdict
        return verdict.model_copy(update={"answer": verdict.answer.model_copy(update=self.update)})


def _bent(bench: Bench, **changed: Any) -> Bench:
    engine = replace(bench.engine, policy=Bent(bench.engine.policy, changed))
    return replace(bench, engine=engine, worker=Worker(engine))


async def test_an_answer_that_comes_while_its_request_waits_for_signatures_is_taken(
    bench: Bench, targets: Targets
) -> None:
    targets.portal.answers = [NotTakenError("429")]
    run_id = (await bench.start("bench.wait", {"case": "C1"})).run_id
    await bench.settle()
    other = _bent(bench, outcome=Outcome.NEEDS_APPROVAL, requirement=ASKING)
    await other.later(minutes=1)
    assert (await bench.run(run_id))["steps"]["ask"]["status"] == "waiting_approval"
    assert (await bench.complete(KEY, {"answer": "yes"}))["status"] == "applied"
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "succeeded"
    assert len(targets.portal.calls) == 1
    (approval,) = await bench.rows("SELECT status FROM approvals WHERE run_id = %s", run_id)
    assert approval["status"] not in ("requested", "approved"), "nobody can sign what is no longer wanted"


BROKEN = [Reason.model_construct(code="x", msg="a\ud800b")]
ENDLESS = Requirement.model_construct(**{**dict(ASKING), "quorum": 10**30})


@pytest.mark.parametrize(
    "changed",
    [{"reasons": BROKEN}, {"outcome": Outcome.NEEDS_APPROVAL, "requirement": ENDLESS}],
    ids=["half a character in a text", "a quorum of 10^30"],
)
async def test_an_answer_that_cannot_be_put_on_record_is_no_answer(
    bench: Bench, targets: Targets, changed: dict[str, Any]
) -> None:
    other = _bent(bench, **changed)
    run_id = (await other.start("bench.note", NOTE)).run_id
    await other.settle()
    await other.later(seconds=2)
    assert targets.note.calls == []
    assert await _events(bench, run_id, "policy.unavailable", "note") == 1
    (effect,) = await bench.rows("SELECT status, error FROM effects WHERE run_id = %s AND step = 'note'", run_id)
    assert effect["status"] == "pending", "it waits for a better answer, and holds no lease"
    assert effect["error"].startswith("its answer cannot be recorded: ")
    await bench.later(minutes=1)
    assert (await bench.run(run_id))["status"] == "succeeded"
