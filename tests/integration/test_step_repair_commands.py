"""Step repairs: told, and done by command, and waits that are supplied or skipped.

What somebody has to mend is held and told, what was not even taken is waited out: neither ends a run.

Steps that need attention, by command: found, shown and let go on, in sentences that people can read.

A step that waits and has not failed is supplied or skipped by whom policy lets, and its evidence says so.
"""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from policy.contract import Outcome, Question, Reason, Requirement, Verdict
from runtime.handlers import BlockedError, NotTakenError, RefusedError, TransientError
from runtime.model.run import RepairAction
from runtime.worker import Worker
from tests.bench import Bench, Target, open_bench
from tests.integration.acts_stage import mend, play_waiting, wish
from tests.integration.conftest import PACK, Targets
from tests.integration.played import NODES
from tests.integration.program_stage import command
from tests.integration.test_cli import is_one_sentence
from tests.integration.test_replay import replayed
from tests.integration.test_step_repair import LOOK, NOTE, VALUE, Opener, started
from tests.opa_server import Between
from tests.patience import MINUTE

__all__ = ["started"]


STEP_NOTE = {"incident": "I1", "text": "seen", "api_token": "t"}
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
WRITE = Work("bench.note", STEP_NOTE, "note", "effect.blocked")
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
    run_id = (await other.start("bench.note", STEP_NOTE)).run_id
    await other.settle()
    await other.later(seconds=2)
    assert targets.note.calls == []
    assert await _events(bench, run_id, "policy.unavailable", "note") == 1
    (effect,) = await bench.rows("SELECT status, error FROM effects WHERE run_id = %s AND step = 'note'", run_id)
    assert effect["status"] == "pending", "it waits for a better answer, and holds no lease"
    assert effect["error"].startswith("its answer cannot be recorded: ")
    await bench.later(minutes=1)
    assert (await bench.run(run_id))["status"] == "succeeded"


async def test_held_steps_are_listed_shown_and_let_go_on_by_command(
    started: Opener, targets: Targets, tmp_path: Path
) -> None:
    targets.look.answers = [RefusedError("closed")]
    (tmp_path / "result.json").write_text('{"value": 9}')
    async with started(LOOK + VALUE) as stage:
        (row,) = json.loads((await command("steps", "list", "--json", env=stage.env)).out)["steps"]
        assert (row["run_id"], row["path"], row["error"]) == (stage.run_id, "look", "closed")
        shown = await command("steps", "show", stage.run_id, "look", env=stage.env)
        assert "closed" in shown.out
        wrong = await command("steps", "show", stage.run_id, "other", env=stage.env)
        assert is_one_sentence(wrong, f"there is no step other of a run {stage.run_id}")
        named = ("--as", "omar", "--reason", "asked by telephone", "--version", str(row["version"]))
        (tmp_path / "odd.json").write_text('{"value": "\\u0000"}')
        odd = await command("steps", "supply", stage.run_id, "look", str(tmp_path / "odd.json"), *named, env=stage.env)
        assert is_one_sentence(odd, f"{tmp_path / 'odd.json'}: it holds a NUL character")
        done = await stage.command("steps", "supply", stage.run_id, "look", str(tmp_path / "result.json"), *named)
        assert (done.code, done.out) == (0, f"look of {stage.run_id} has its result\n")
        assert (await stage.status())["run"] == "succeeded"
        late = await stage.command("steps", "skip", stage.run_id, "look", *named)
        assert is_one_sentence(late, "nothing was done: look does not need attention: succeeded")


async def test_runs_show_tells_each_step_with_its_status_and_error(started: Opener, targets: Targets) -> None:
    targets.look.answers = [RefusedError("the register is closed")]
    async with started(LOOK + VALUE) as stage:
        shown = (await command("runs", "show", stage.run_id, env=stage.env)).out
        (look,) = [line for line in shown.splitlines() if line.startswith("look ")]
        assert look.split()[:2] == ["look", "needs_attention"]
        assert "the register is closed" in look
        assert "messages in the chat" in shown
        assert "post_message" not in shown


async def test_a_command_is_told_nothing_of_clicks(started: Opener) -> None:
    async with started(LOOK) as stage:
        done = await stage.command("tasks", "claim", "apr_none", "--as", "ann")
        assert is_one_sentence(done, "nothing was done: Countersign no longer knows this request.")
        assert "click" not in done.err


@pytest.mark.parametrize("reason", ["", "  ", "\u200b"])
async def test_an_act_without_a_reason_is_a_wrong_use(started: Opener, targets: Targets, reason: str) -> None:
    targets.look.answers = [RefusedError("closed")]
    async with started(LOOK + VALUE) as stage:
        done = await command("steps", "skip", stage.run_id, "look", "--as", "omar", "--reason", reason, env=stage.env)
        assert (done.code, "--reason" in done.err) == (2, True)
        assert await stage.leaves("repair.decided") == []
        assert (await stage.status())["look"] == "needs_attention"


@pytest.mark.parametrize("act", ["retry", "skip", "end"])
async def test_each_other_act_has_its_command(started: Opener, targets: Targets, act: str) -> None:
    targets.note.answers = [RefusedError("no")]
    async with started(NOTE) as stage:
        done = await stage.command("steps", act, stage.run_id, "note", "--as", "omar", "--reason", "seen", "--json")
        assert json.loads(done.out)["act"] == act
        assert (await stage.bench.run(stage.run_id))["finished_at"] is not None


@pytest.fixture
async def waiting(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Bench]:
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK, NODES], targets.handlers()) as found,
    ):
        yield found


async def begin(bench: Bench) -> str:
    run_id = (await bench.start("bench.waiting", {})).run_id
    await bench.settle()
    return run_id


async def test_each_wait_goes_on_as_an_operator_says(waiting: Bench, targets: Targets) -> None:
    run_id = (await play_waiting(waiting))["waited"]
    run = await waiting.run(run_id)
    assert run["status"] == "succeeded"
    found = {path: step["status"] for path, step in run["steps"].items()}
    skipped = {path for path, status in found.items() if status == "skipped"}
    assert skipped == {"pause", "never", "leave", "rounds[0].rest"}
    assert [call.params["text"] for call in targets.note.calls] == ["by telephone"]
    [below] = await waiting.rows("SELECT status FROM runs WHERE run_id <> %s", run_id)
    assert below["status"] == "canceled"
    assert await waiting.rows("SELECT 1 FROM waits WHERE run_id = %s AND status = 'active'", run_id) == []
    said = [leaf for leaf in await waiting.chain(run_id) if leaf.event == "repair.decided"]
    assert [leaf.actor.id for leaf in said] == ["omar"] * 6
    assert all(leaf.data["reason"] == "seen" and leaf.data["policy"]["decision_id"] for leaf in said)
    assert (await replayed(waiting, run_id)).difference is None


async def test_an_answer_that_comes_after_the_supplied_one_changes_nothing(waiting: Bench) -> None:
    run_id = await begin(waiting)
    await mend(waiting, run_id, "ask", RepairAction.SUPPLY, {"answer": "by telephone"})
    late = await waiting.complete(f"acme:await_answer:W:{run_id}", {"answer": "by letter"})
    assert late["status"] == "stale"
    assert (await waiting.run(run_id))["steps"]["ask"]["status"] == "succeeded"
    (step,) = await waiting.rows("SELECT result FROM steps WHERE run_id = %s AND path = 'ask'", run_id)
    assert step["result"] == {"answer": "by telephone"}


@pytest.mark.parametrize(
    ("step", "act", "result", "why"),
    [
        ("ask", RepairAction.RETRY, None, "ask waits and has not failed: supply its result, or skip it"),
        ("ask", RepairAction.END, None, "ask waits and has not failed: supply its result, or skip it"),
        ("ask", RepairAction.SUPPLY, {"said": "yes"}, "result: /: 'answer' is a required property"),
        ("hear", RepairAction.SUPPLY, {}, "result: /: 'by' is a required property"),
        ("rounds", RepairAction.SKIP, None, "rounds waits for the steps inside it: act on those"),
        ("rounds[0]", RepairAction.SUPPLY, {}, "rounds[0] waits for the steps inside it: act on those"),
    ],
)
async def test_what_does_not_fit_a_wait_is_refused_and_it_goes_on(
    waiting: Bench, step: str, act: RepairAction, result: object, why: str
) -> None:
    run_id = await begin(waiting)
    facts = await wish(waiting, run_id, step, act, result)
    assert (facts["status"], facts["code"], facts["reason"]) == ("refused", "act.unfit", why)
    assert (await waiting.run(run_id))["steps"][step]["status"] == "parked"


@pytest.mark.parametrize("act", [RepairAction.SUPPLY, RepairAction.SKIP])
@pytest.mark.parametrize("by", ["ann", "rita"])
async def test_who_is_no_operator_neither_supplies_nor_skips_a_wait(waiting: Bench, act: RepairAction, by: str) -> None:
    run_id = await begin(waiting)
    facts = await wish(waiting, run_id, "ask", act, {"answer": "yes"} if act is RepairAction.SUPPLY else None, by)
    assert (facts["status"], facts["code"]) == ("refused", "act.denied")
    assert (await waiting.run(run_id))["steps"]["ask"]["status"] == "parked"


async def test_no_operator_answers_a_review_that_is_open(waiting: Bench) -> None:
    run_id = (await waiting.start("bench.review", {"case": "C1"})).run_id
    await waiting.settle()
    answer = {"decision": "approved", "reviewer": "omar", "reason": "seen"}
    facts = await wish(waiting, run_id, "review", RepairAction.SUPPLY, answer)
    assert facts["code"] == "act.denied"
    assert "Only the people asked may answer" in facts["reason"]
