"""Access requests: granted by two people, taken back in time, and canceled as policy says.

An access request on real PostgreSQL and OPA: two people give access, and it is taken back when its time is over.

Whether a run is stopped is for policy to say: what it denies, and what it does not answer, changes nothing.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import TestServer
from countersign_access_request.handlers import handlers
from countersign_access_request.standins import build, settings
from countersign_connector.standin import ask

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from policy.contract import PolicyUnavailableError, Question, Verdict
from policy.operator_contract import Authorization, OperatorQuestion
from receipts.chain import Actor
from runtime.definitions.cel.expressions import render_text
from runtime.handlers import Json
from runtime.inbox import inbox
from runtime.model.commands import CancelPayload
from runtime.model.notification import Notification
from runtime.model.votes import Refusal, RefusalCode
from runtime.services.operator import OperatorService
from tests.bench import TENANT, Bench, HandClock, open_bench
from tests.integration.acts_stage import edit
from tests.integration.conftest import Targets
from tests.opa_server import Between
from tests.patience import MINUTE

PACK = Path(__file__).parents[2] / "packs/access-request"
ASKED = {"system": "payments", "account": "rita", "role": "operator", "minutes": 60, "justification": "an outage"}


@dataclass
class Desk:
    """A bench with the access system's stand-in beside it."""

    bench: Bench
    url: str

    async def actions(self) -> list[str]:
        return [action["operation"] for action in (await ask(f"{self.url}/__standin/actions"))["actions"]]

    async def start(self, ref: str = "1", **changes: Json) -> str:
        run_id = (await self.bench.start("access.request", {**ASKED, **changes}, ref)).run_id
        await self.bench.settle()
        return run_id

    async def sign(self, *people: str) -> None:
        approval = await self.bench.approval_id()
        for person in people:
            assert (await self.bench.click(person, approval)).counted
        await self.bench.settle()

    async def steps(self, run_id: str) -> dict[str, str]:
        return {path: step["status"] for path, step in (await self.bench.run(run_id))["steps"].items()}

    async def outcome(self, run_id: str) -> str:
        return str((await self.bench.rows("SELECT outcome FROM runs WHERE run_id = %s", run_id))[0]["outcome"])

    async def end(self, run_id: str) -> str:
        """Return the state in which the last step found or left the grant."""
        rows = await self.bench.rows("SELECT result FROM steps WHERE run_id = %s AND path = 'back'", run_id)
        return str(rows[0]["result"]["state"])


@pytest.fixture
async def desk(dsn: str, opa: OpaChild) -> AsyncIterator[Desk]:
    async with TestServer(build(HandClock())) as server:  # its time passes when the test says so
        url = str(server.make_url("")).rstrip("/")
        async with (
            OpaEngine(opa.url, timeout=MINUTE) as policy,
            open_bench(dsn, policy, [PACK], handlers(settings(url))) as bench,
        ):
            yield Desk(bench, url)


async def test_the_owner_and_security_give_access_and_its_end_needs_nobody(desk: Desk) -> None:
    run_id = await desk.start()
    assert (await desk.bench.run(run_id))["status"] == "waiting_approval"
    await desk.sign("olga")
    assert await desk.actions() == [], "the owner alone gives nothing"
    await desk.sign("sam")
    assert await desk.actions() == ["access::grant"]
    await desk.bench.later(minutes=59)
    assert (await desk.steps(run_id))["until_the_end"] == "parked"
    await desk.bench.later(minutes=1)
    run = await desk.bench.run(run_id)
    assert run["status"] == "succeeded", run
    assert await desk.end(run_id) == "revoked"
    assert await desk.outcome(run_id) == "taken_back"
    assert await desk.actions() == ["access::grant", "access::revoke"]


async def test_access_that_the_system_has_ended_by_itself_is_a_sound_end(desk: Desk) -> None:
    run_id = await desk.start()
    await desk.sign("olga", "sam")
    async with ClientSession() as session:
        await session.post(f"{desk.url}/__standin/clock", json={"minutes": 60})
    await desk.bench.later(minutes=60)
    assert (await desk.bench.run(run_id))["status"] == "succeeded"
    assert await desk.end(run_id) == "expired"


async def test_one_person_in_both_groups_is_not_two(desk: Desk) -> None:
    await desk.start()
    await desk.sign("pam")
    assert await desk.actions() == []
    await desk.sign("sam")
    assert await desk.actions() == ["access::grant"]


async def test_who_signs_may_ask_for_less_time_and_access_then_ends_sooner(desk: Desk) -> None:
    run_id = await desk.start()
    assert await edit(desk.bench, "pam", await desk.bench.approval_id(), {"minutes": 30}) is None
    await desk.bench.settle()
    assert not (await desk.bench.click("pam", await desk.bench.approval_id())).counted
    await desk.sign("olga", "sam")
    assert await desk.actions() == ["access::grant"]
    await desk.bench.later(minutes=30)
    assert (await desk.bench.run(run_id))["status"] == "succeeded"
    assert await desk.actions() == ["access::grant", "access::revoke"]


async def test_access_is_not_edited_to_more_than_the_rules_allow(desk: Desk) -> None:
    run_id = await desk.start()
    refused = await edit(desk.bench, "pam", await desk.bench.approval_id(), {"minutes": 43201})
    assert refused
    assert refused.code is RefusalCode.UNFIT
    assert (await desk.bench.run(run_id))["status"] == "waiting_approval"


async def test_the_only_owner_cannot_edit_what_nobody_else_of_the_owners_could_sign(desk: Desk) -> None:
    await desk.bench.meddle("DELETE FROM slack_accounts WHERE actor_id = 'pam' RETURNING 1")
    run_id = await desk.start()
    approval = await desk.bench.approval_id()
    why = "it needs 2 distinct people, and 1 may decide; nobody in payments-owners may"
    wanted = Refusal(RefusalCode.NOT_ENOUGH_APPROVERS, (why,))
    assert await desk.bench.desk.editing.refusal(approval, "olga", {"minutes": 30}) == wanted
    assert await edit(desk.bench, "olga", approval, {"minutes": 30}) == wanted
    await desk.bench.settle()
    assert (await desk.bench.run(run_id))["status"] == "waiting_approval"
    assert await desk.bench.approval_id() == approval
    await desk.sign("olga", "sam")
    assert await desk.actions() == ["access::grant"]


async def test_who_leaves_enough_people_may_edit(desk: Desk) -> None:
    await desk.start()
    approval = await desk.bench.approval_id()
    assert await desk.bench.desk.editing.refusal(approval, "pam", {"minutes": 30}) is None
    assert await edit(desk.bench, "pam", approval, {"minutes": 30}) is None


async def test_a_no_ends_the_run_as_rejected(desk: Desk) -> None:
    run_id = await desk.start()
    assert (await desk.bench.click("sam", await desk.bench.approval_id(), "reject", "not today")).counted
    await desk.bench.settle()
    assert (await desk.bench.run(run_id))["status"] == "succeeded"
    assert await desk.outcome(run_id) == "rejected"
    assert await desk.actions() == []


async def test_others_cannot_sign(desk: Desk) -> None:
    await desk.start()
    approval = await desk.bench.approval_id()
    for person in ("ann", "rita"):
        assert (await desk.bench.click(person, approval)).refusal is not None
    assert await desk.actions() == []


async def test_access_for_another_is_denied(desk: Desk) -> None:
    run_id = await desk.start(account="ivan")
    run = await desk.bench.run(run_id)
    assert run["status"] == "failed_terminal"
    assert "People may request access for themselves only" in run["error"]
    assert await desk.actions() == []
    told = [said["text"] for said in desk.bench.chat.said("direct_message")]
    assert any("ivan was not given the role operator on payments." in text for text in told)
    assert not any("may still have the role" in text for text in told)


async def test_who_may_still_have_the_role_is_told_so(desk: Desk) -> None:
    response = desk.bench.definitions["access.request"].response
    assert response
    assert response.failed
    for status, says in (
        ("succeeded", "may still have the role operator"),
        ("failed_terminal", "was not given the role"),
    ):
        assert says in render_text(response.failed, {"trigger": ASKED, "steps": {"grant": {"status": status}}})


async def test_access_to_a_system_without_an_owner_is_denied(desk: Desk) -> None:
    run = await desk.bench.run(await desk.start(system="ledger", role="reader"))
    assert "does not say who signs this" in run["error"]
    assert await desk.actions() == []


async def test_who_has_the_role_already_is_given_nothing(desk: Desk) -> None:
    await desk.start()
    await desk.sign("olga", "sam")
    second = await desk.start("2")
    assert (await desk.bench.run(second))["status"] == "succeeded"
    assert await desk.outcome(second) == "already_granted"
    assert (await desk.actions()).count("access::grant") == 1


async def test_the_receipt_of_access_names_the_verb_that_takes_it_back(desk: Desk) -> None:
    run_id = await desk.start()
    await desk.sign("olga", "sam")
    rows = await desk.bench.rows("SELECT document FROM receipts WHERE run_id = %s ORDER BY seq", run_id)
    granted = next(row["document"] for row in rows if row["document"]["operation"] == "grant")
    assert granted["reversible_by"] == "revoke_access"


@pytest.fixture
def operator_desk(bench: Bench) -> OperatorService:
    return OperatorService(bench.engine.pool, bench.clock, TENANT)


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
    bench: Bench, operator_desk: OperatorService
) -> None:
    run_id = await _waiting(bench)
    before = await _as_it_was(bench, run_id)
    for person in ("ann", "ann", "ben"):
        facts = await inbox.apply(bench.engine, await operator_desk.cancel(person, run_id, "not wanted", None))
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
    bench: Bench, operator_desk: OperatorService, person: str
) -> None:
    run_id = await _waiting(bench)
    assert (await inbox.apply(bench.engine, await operator_desk.cancel(person, run_id, "x", None)))[
        "status"
    ] == "applied"
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


async def test_without_a_word_of_policy_no_run_is_stopped_until_it_has_one(
    bench: Bench, operator_desk: OperatorService
) -> None:
    run_id = await _waiting(bench)
    before, chain = await _as_it_was(bench, run_id), await bench.chain(run_id)
    recorded = await operator_desk.cancel("omar", run_id, "x", None)
    silent = replace(bench.engine, policy=Silent(bench.engine.policy))
    assert (await inbox.apply(silent, recorded))["status"] == "received"
    assert (await _as_it_was(bench, run_id), await bench.chain(run_id)) == (before, chain)
    assert (await inbox.apply(bench.engine, recorded))["status"] == "applied"
    assert (await bench.run(run_id))["status"] == "canceled"


async def test_a_run_that_has_ended_is_not_put_to_policy(
    bench: Bench, targets: Targets, operator_desk: OperatorService
) -> None:
    run_id = (await bench.start("bench.note", {"incident": "I1", "text": "seen", "api_token": "t"})).run_id
    await bench.settle()
    silent = replace(bench.engine, policy=Silent(bench.engine.policy))
    facts = await inbox.apply(silent, await operator_desk.cancel("omar", run_id, "x", None))
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
