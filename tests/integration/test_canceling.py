"""Whether a run is stopped is for policy to say: what it denies, and what it does not answer, changes nothing."""

from dataclasses import replace
from typing import Any

import pytest

from policy.contract import Authorization, OperatorQuestion, PolicyUnavailableError, Question, Verdict
from receipts.chain import Actor
from runtime.inbox import inbox
from runtime.model.commands import CancelPayload
from runtime.model.notification import Notification
from runtime.services.operator import OperatorDesk
from tests.bench import TENANT, Bench
from tests.integration.conftest import Targets
from tests.policies import Between


@pytest.fixture
def desk(bench: Bench) -> OperatorDesk:
    return OperatorDesk(bench.engine.pool, bench.clock, TENANT)


async def _waiting(bench: Bench) -> str:
    run_id = (await bench.start("bench.file", {"company": "ACME", "text": "r"})).run_id
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "waiting_approval"
    return run_id


async def _as_it_was(bench: Bench, run_id: str) -> dict[str, Any]:
    """Return what a cancellation would change."""
    (run,) = await bench.rows("SELECT status FROM runs WHERE run_id = %s", run_id)
    (effect,) = await bench.rows("SELECT status FROM effects WHERE run_id = %s AND purpose = 'step'", run_id)
    (approval,) = await bench.rows("SELECT status FROM approvals WHERE run_id = %s", run_id)
    return {**run, "effect": effect["status"], "approval": approval["status"]}


async def _leaves(bench: Bench, run_id: str, event: str) -> list[tuple[str, dict[str, Any]]]:
    return [(leaf.actor.id, dict(leaf.data)) for leaf in await bench.chain(run_id) if leaf.event == event]


async def test_a_cancel_that_policy_denies_changes_nothing_and_is_on_record_once(
    bench: Bench, desk: OperatorDesk
) -> None:
    run_id = await _waiting(bench)
    before = await _as_it_was(bench, run_id)
    for person in ("ann", "ann", "ben"):
        facts = await inbox.apply(bench.engine, await desk.cancel(person, run_id, "not wanted", None))
        assert (facts["status"], facts["code"]) == ("refused", "act.denied")
        assert facts["reason"] == "denied by policy: Only the tenant's operators may do this"
    await bench.settle()
    assert await _as_it_was(bench, run_id) == before
    assert [by for by, _ in await _leaves(bench, run_id, "notification.refused")] == ["ann", "ben"]
    assert await _leaves(bench, run_id, "run.cancel_requested") == []
    for person in ("ann", "ben"):
        assert (await bench.click(person, await bench.approval_id())).counted


@pytest.mark.parametrize("person", ["omar", "rita"])
async def test_operators_and_whoever_asked_for_a_run_may_stop_it_by_a_decision_on_record(
    bench: Bench, desk: OperatorDesk, person: str
) -> None:
    run_id = await _waiting(bench)
    assert (await inbox.apply(bench.engine, await desk.cancel(person, run_id, "x", None)))["status"] == "applied"
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "canceled"
    ((by, data),) = await _leaves(bench, run_id, "run.cancel_requested")
    assert (by, data["reason"]) == (person, "x")
    assert set(data["policy"]) == {"decision_id", "digest"}
    assert bench.engine.policy.text(data["policy"]["digest"]).digest == data["policy"]["digest"]


class Silent(Between):
    """A policy that says nothing of what operators do."""

    async def changed(self, question: Question, verdict: Verdict) -> Verdict:
        del question
        return verdict

    async def judge(self, question: OperatorQuestion) -> Authorization:
        raise PolicyUnavailableError(f"away, {question.act}")


async def test_without_a_word_of_policy_no_run_is_stopped_until_it_has_one(bench: Bench, desk: OperatorDesk) -> None:
    run_id = await _waiting(bench)
    before, chain = await _as_it_was(bench, run_id), await bench.chain(run_id)
    recorded = await desk.cancel("omar", run_id, "x", None)
    silent = replace(bench.engine, policy=Silent(bench.engine.policy))
    assert (await inbox.apply(silent, recorded))["status"] == "received"
    assert (await _as_it_was(bench, run_id), await bench.chain(run_id)) == (before, chain)
    assert (await inbox.apply(bench.engine, recorded))["status"] == "applied"
    assert (await bench.run(run_id))["status"] == "canceled"


async def test_a_run_that_has_ended_is_not_put_to_policy(bench: Bench, targets: Targets, desk: OperatorDesk) -> None:
    run_id = (await bench.start("bench.note", {"incident": "I1", "text": "seen", "api_token": "t"})).run_id
    await bench.settle()
    silent = replace(bench.engine, policy=Silent(bench.engine.policy))
    facts = await inbox.apply(silent, await desk.cancel("omar", run_id, "x", None))
    assert (facts["status"], facts["reason"]) == ("stale", "the run has ended: succeeded")


@pytest.mark.parametrize(
    ("submitted_by", "status"), [("", "applied"), ("portal-bot", "applied"), ("desk-bot", "refused")]
)
async def test_a_caller_stops_runs_for_itself_and_in_nobodys_name(bench: Bench, submitted_by: str, status: str) -> None:
    run_id = await _waiting(bench)
    word = Notification(
        notification_id="ntf_1",
        tenant=TENANT,
        dedupe_key="c",
        correlation_key=run_id,
        payload=CancelPayload(run_id=run_id, reason="x", submitted_by=submitted_by),
        actor=Actor(id="portal-bot", kind="agent"),
        request_id="req",
    )
    assert (await inbox.apply(bench.engine, await inbox.record(bench.engine, word)))["status"] == status
