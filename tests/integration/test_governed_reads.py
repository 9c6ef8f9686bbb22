"""Governed reads: policy is asked before the call is made, people where it wants them, and all of it is on record."""

import asyncio
import zipfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from evidence.verify.verify import verify
from policy.client import OpaEngine
from policy.contract import PolicyUnavailableError, Question, Verdict
from receipts.signing import public_path
from runtime.gate import gate
from runtime.handlers import Answer, BlockedError, Call, Handler, Metadata, OutcomeUnknownError, TransientError
from runtime.inbox import inbox
from runtime.model.action import commitment
from runtime.planning.run_starts import start_run
from runtime.services.operator import OperatorService
from runtime.worker import Worker
from tests.bench import TENANT, Bench, Target, open_bench, with_handlers
from tests.integration.conftest import PACK, Targets
from tests.integration.test_reads import TOKENS, bundle, leaves, reads, receipts
from tests.opa_server import Between
from tests.patience import MINUTE

LEI = "5493001KJTIIGC8Y1R12"
NAME = "bloomberg::query_subsidiaries"


@pytest.fixture
def outside() -> Target:
    return Target(default={"value": 3})


@pytest.fixture
async def bench(dsn: str, opa: OpaChild, targets: Targets, outside: Target) -> AsyncIterator[Bench]:
    handlers = {**targets.handlers(), NAME: outside.handler(writes=False)}
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK, PACK.with_name("governed")], handlers) as found,
    ):
        yield found


async def asked(bench: Bench, about: str = LEI, trigger: str = "governed.outside") -> str:
    """Have somebody outside asked, and return the run."""
    run_id = (await bench.start(trigger, {"id": about, "key": "hunter2-hunter2"})).run_id
    await bench.settle()
    return run_id


async def told(bench: Bench, run_id: str) -> list[dict[str, Any]]:
    """Return what policy was asked about the run's steps, with what it answered."""
    query = "SELECT document FROM policy_decisions WHERE run_id = %s AND document->>'step' <> '' ORDER BY seq"
    return [row["document"] for row in await bench.rows(query, run_id)]


async def result(bench: Bench, run_id: str) -> tuple[str, Any]:
    (row,) = await bench.rows("SELECT status, result FROM steps WHERE run_id = %s AND path = 'look'", run_id)
    return row["status"], row["result"]


async def test_policy_is_asked_before_it_is_read_and_its_word_is_on_record(bench: Bench, outside: Target) -> None:
    run_id = await asked(bench)
    assert await result(bench, run_id) == ("succeeded", {"value": 3})
    assert len(outside.calls) == 1
    ((decision,), (receipt,)) = await told(bench, run_id), await receipts(bench, run_id)
    effect = decision["input"]["effect"]
    assert (effect["reads"], effect["target"], effect["reversible"]) == (True, f"company:{LEI}", False)
    assert "hunter2" not in str(decision) + str(receipt)
    assert (receipt["outcome"], receipt["decision_id"]) == ("success", decision["id"])
    (salt,) = await bench.rows("SELECT salt FROM tenants")
    assert receipt["response"] == {"bytes": 11, "commitment": commitment({"value": 3}, salt["salt"])}
    events = [leaf.event for leaf in await bench.chain(run_id) if leaf.correlation.step == "look"]
    assert events == ["effect.proposed", "decision.recorded", "receipt.written", "step.succeeded"]
    assert await reads(bench, run_id, "look") == []


async def test_what_policy_denies_is_not_read_and_the_run_takes_its_branch(bench: Bench, outside: Target) -> None:
    run_id = await asked(bench, "Jane Doe")
    assert outside.calls == []
    run = await bench.run(run_id)
    assert (run["status"], run["steps"]["look"]["status"]) == ("succeeded", "failed_handled")
    (state,) = await bench.rows("SELECT state FROM runs WHERE run_id = %s", run_id)
    assert state["state"] == {"why": "denied by policy: Bloomberg may be asked by LEI only"}
    (receipt,) = await receipts(bench, run_id)
    assert (receipt["outcome"], receipt["response"]) == ("refusal", None)


@dataclass
class Away(Between):
    """A policy that gives no answer until it is there."""

    is_there: bool = False

    async def changed(self, question: Question, verdict: Verdict) -> Verdict:
        if not self.is_there and question.step == "look":
            raise PolicyUnavailableError("away")
        return verdict


async def test_without_an_answer_of_policy_nothing_is_read(bench: Bench, outside: Target) -> None:
    policy = Away(bench.engine.policy)
    engine = replace(bench.engine, policy=policy)
    other = replace(bench, engine=engine, worker=Worker(engine))
    run_id = await asked(other)
    await other.later(minutes=1)
    assert outside.calls == []
    assert await result(other, run_id) == ("ready", None)
    policy.is_there = True
    await other.later(minutes=5)
    assert await result(other, run_id) == ("succeeded", {"value": 3})


async def test_where_policy_wants_people_nothing_leaves_before_they_signed(bench: Bench, outside: Target) -> None:
    run_id = await asked(bench, trigger="governed.closely")
    assert (await bench.run(run_id))["status"] == "waiting_approval"
    approval = await bench.approval_id()
    assert (await bench.click("ann", approval)).counted
    await bench.settle()
    assert outside.calls == []
    assert (await bench.click("ben", approval)).counted
    await bench.settle()
    assert await result(bench, run_id) == ("succeeded", {"value": 3})
    assert [decision["outcome"] for decision in await told(bench, run_id)] == ["needs_approval", "allow"]


async def test_who_rejects_it_keeps_it_from_being_read(bench: Bench, outside: Target) -> None:
    run_id = await asked(bench, trigger="governed.closely")
    assert (await bench.click("ann", await bench.approval_id(), "reject", "not needed")).counted
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "failed_terminal"
    assert outside.calls == []


async def test_what_is_tried_again_needs_no_new_signatures_and_asks_policy_again(bench: Bench, outside: Target) -> None:
    outside.answers = [BlockedError("401: the token is not accepted")]
    run_id = await asked(bench, trigger="governed.closely")
    for person in ("ann", "ben"):
        assert (await bench.click(person, await bench.approval_id())).counted
    await bench.settle()
    await bench.later(minutes=5)
    assert await result(bench, run_id) == ("succeeded", {"value": 3})
    assert [decision["outcome"] for decision in await told(bench, run_id)] == ["needs_approval", "allow", "allow"]
    assert len(await bench.rows("SELECT 1 FROM approvals WHERE run_id = %s", run_id)) == 1


@pytest.mark.parametrize("error", [TransientError("busy"), TimeoutError()])
async def test_a_read_without_an_answer_is_no_doubt_and_is_tried_again_as_the_verb_says(
    bench: Bench, outside: Target, error: Exception
) -> None:
    outside.answers = [error]
    run_id = await asked(bench)
    await bench.later(seconds=30)
    assert await result(bench, run_id) == ("succeeded", {"value": 3})
    assert [receipt["outcome"] for receipt in await receipts(bench, run_id)] == ["failure", "success"]
    outside.answers = [error, error]
    again = (await bench.start("governed.outside", {"id": LEI, "key": "k"}, ref="2")).run_id
    await bench.settle()
    await bench.later(seconds=30)
    assert (await bench.run(again))["steps"]["look"]["status"] == "failed_handled"
    assert [receipt["outcome"] for receipt in await receipts(bench, again)] == ["failure", "failure"]


@pytest.mark.parametrize("answer", [OutcomeUnknownError("reset"), KeyError("x"), {"value": float("nan")}, {"v": 1}])
async def test_a_read_that_cannot_be_used_fails_and_nobody_is_asked_what_happened(
    bench: Bench, outside: Target, answer: Any
) -> None:
    outside.answers = [answer]
    run_id = await asked(bench)
    await bench.later(hours=1)
    assert (await bench.run(run_id))["steps"]["look"]["status"] == "failed_handled"
    assert len(outside.calls) == 1
    assert not await bench.rows("SELECT 1 FROM approvals")


async def test_a_read_whose_worker_is_lost_is_put_to_policy_and_done_again(bench: Bench, outside: Target) -> None:
    run_id = (await bench.start("governed.outside", {"id": LEI, "key": "k"})).run_id
    await start_run(bench.engine, run_id)
    (effect,) = await bench.lease(bench.engine.worker, timedelta(seconds=30))
    with pytest.raises(asyncio.CancelledError):
        await gate.perform(with_handlers(bench, {NAME: Handler(run=_die, writes=False)}).engine, effect)
    await bench.later(seconds=31)
    await bench.later(seconds=31)
    assert await result(bench, run_id) == ("succeeded", {"value": 3})
    assert len(outside.calls) == 1
    assert [receipt["outcome"] for receipt in await receipts(bench, run_id)] == ["failure", "success"]
    assert [decision["outcome"] for decision in await told(bench, run_id)] == ["allow", "allow"]


async def _die(call: Call) -> Answer:
    del call
    raise asyncio.CancelledError


@pytest.mark.parametrize("trigger", ["governed.outside", "governed.after"])
async def test_a_handler_that_writes_is_not_called_for_a_read(bench: Bench, outside: Target, trigger: str) -> None:
    other = with_handlers(bench, {NAME: outside.handler()})
    run_id = await asked(other, trigger=trigger)
    assert outside.calls == []
    receipt = (await receipts(other, run_id))[-1]
    assert receipt["error"] == f"{NAME} writes, and a read may not"


async def test_a_read_is_no_write_and_nothing_to_undo(bench: Bench) -> None:
    run_id = await asked(bench)
    (run,) = await bench.rows("SELECT writes FROM runs WHERE run_id = %s", run_id)
    assert run["writes"] == 0
    desk = OperatorService(bench.engine.pool, bench.clock, TENANT)
    facts = await inbox.apply(bench.engine, await desk.undo("omar", run_id, None, "x", None))
    assert (facts["status"], facts["reason"]) == ("stale", "nothing of it can be undone")


async def test_its_bundle_holds_and_adds_its_costs_up(bench: Bench, outside: Target, tmp_path: Path) -> None:
    outside.answers = [TransientError("busy"), Answer({"value": 3}, Metadata(200, "req-1", 2), [TOKENS])]
    run_id = await asked(bench)
    await bench.later(seconds=30)
    report = verify(await bundle(bench, run_id, tmp_path), public_path(tmp_path / "keys/evidence.pem"))
    assert report.steps[10].fact.endswith("0 writes have their receipts, 1 reads their records")
    with zipfile.ZipFile(tmp_path / "bundle.zip") as members:
        summary = members.read("summary.md").decode()
    assert f"query subsidiaries on “company:{LEI}”: **read, 11 bytes**" in summary
    assert "commitment" not in summary
    (ended,) = await leaves(bench, run_id, "run.succeeded")
    assert ended["data"]["writes"] == 0
