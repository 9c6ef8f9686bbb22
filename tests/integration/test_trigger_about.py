"""Triggers about the same: one run goes on, also over HTTP.

Triggers about the same: one run of a runbook goes on about it, and what comes meanwhile is a signal to that run.

Webhooks at the edge about one incident: the answer names the run, and says what became of the second.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from receipts.chain import Actor
from runtime.definitions.loading.catalog import Catalog
from runtime.inbox import inbox
from runtime.planning.triggers import Claim, TriggerError
from runtime.services.callers import NotActiveError, TriggerApi, TriggerConflictError, Wish
from runtime.services.definition_versions import Mover
from runtime.services.operator import OperatorService
from runtime.services.run_replay import replay_run
from runtime.services.signals import Signal, SignalService
from runtime.store.definitions import find_version, lock_versions
from tests.bench import TENANT, Bench, open_bench
from tests.integration.conftest import PACK, Targets
from tests.integration.program_stage import Answer, Edge, composed, edge_of, is_problem, rows, settings_of
from tests.patience import MINUTE

TYPE = "bench.case"
RITA = Actor(id="rita", kind="person")
RUNBOOK = """
name: case
version: 1
title: A case
trigger:
  type: bench.case
  about: "case:${trigger.case}"
  signal: news
  schema:
    required: [case, text]
    additionalProperties: false
    properties: { case: { type: string }, text: { type: string, maxLength: 9 } }
steps:
  - id: first
    wait: { signal: news, timeout: P1D }
  - { id: between, wait: { for: PT1H } }
  - id: second
    needs: [between]
    wait: { signal: news, timeout: P1D }
output: { about: "${run.reference}", heard: ["${steps.first.result.text}", "${steps.second.result.text}"] }
"""
STARTER = """
name: {name}
version: 1
title: Starts a case
trigger: {{ type: bench.{name}, schema: {{}} }}
steps:
  - id: go
    {how}: {{ runbook: case, trigger: {{ case: C1, text: below }}{more} }}
"""
RUNBOOKS = {
    "case": RUNBOOK,
    "waiter": STARTER.format(name="waiter", how="run", more=", timeout: P1D"),
    "goer": STARTER.format(name="goer", how="continue_with", more=""),
}


@pytest.fixture
async def bench(dsn: str, opa: OpaChild, targets: Targets, tmp_path: Path) -> AsyncIterator[Bench]:
    (tmp_path / "runbooks").mkdir()
    for name, text in RUNBOOKS.items():
        (tmp_path / "runbooks" / f"{name}.yaml").write_text(text, encoding="utf-8")
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK, tmp_path], targets.handlers()) as found,
    ):
        yield found


async def come(bench: Bench, ref: str, text: str = "", case: str = "C1", by: Actor = RITA) -> Claim:
    """Have a trigger come in by the door for callers."""
    desk = TriggerApi(bench.engine, TENANT, Catalog({}, (), (), frozenset(), {}))
    return await desk.trigger(Wish(TYPE, None, ref, {"case": case, "text": text or ref}), by, "portal-bot")


async def begun(bench: Bench) -> str:
    run_id = (await come(bench, "one")).run_id
    await bench.settle()
    return run_id


def status_of(claim: Claim) -> str:
    assert claim.signal is not None
    return claim.signal.status


async def runs_of(bench: Bench) -> list[dict[str, Any]]:
    return await bench.rows(
        "SELECT run_id, trigger_ref, status, about, reference FROM runs ORDER BY created_at, run_id"
    )


async def end(bench: Bench, run_id: str) -> None:
    """Have a run canceled."""
    operators = OperatorService(bench.engine.pool, bench.clock, TENANT)
    await inbox.apply(bench.engine, await operators.cancel("omar", run_id, "not ours", None))
    await bench.settle()


async def test_a_second_trigger_about_the_same_is_a_signal_to_the_run_that_goes_on(bench: Bench) -> None:
    run_id = await begun(bench)
    claim = await come(bench, "two")
    assert (claim.run_id, status_of(claim)) == (run_id, "applied")
    await bench.settle()
    (row,) = await bench.rows("SELECT status, result FROM steps WHERE path = 'first'")
    assert (row["status"], row["result"]) == ("succeeded", {"case": "C1", "text": "two"})
    assert [run["run_id"] for run in await runs_of(bench)] == [run_id]


async def test_the_reference_is_written_with_the_run_and_is_on_record(bench: Bench) -> None:
    run_id = (await come(bench, "one")).run_id
    (run,) = await runs_of(bench)
    assert (run["about"], run["reference"]) == ("case:C1", "case:C1")
    assert (await bench.chain(run_id))[0].data["about"] == "case:C1"
    assert "about" not in (await bench.chain((await bench.start("bench.timer", {}, "t")).run_id))[0].data


async def test_triggers_about_different_things_have_runs_of_their_own(bench: Bench) -> None:
    await begun(bench)
    other = await come(bench, "two", case="C2")
    assert (other.is_new, other.signal) == (True, None)


async def test_the_trigger_after_the_run_has_ended_starts_another(bench: Bench) -> None:
    run_id = await begun(bench)
    await end(bench, run_id)
    again = await come(bench, "two")
    assert (again.is_new, again.signal) == (True, None)
    assert again.run_id != run_id


async def test_what_comes_between_two_waits_is_kept_for_the_next(bench: Bench) -> None:
    run_id = await begun(bench)
    await come(bench, "two")
    await bench.settle()
    claim = await come(bench, "three")
    assert (claim.run_id, status_of(claim)) == (run_id, "early")
    await bench.later(hours=1)
    run = await bench.run(run_id)
    assert (run["status"], run["output"]) == ("succeeded", {"about": "case:C1", "heard": ["two", "three"]})


async def test_what_comes_before_the_run_has_been_started_is_kept(bench: Bench) -> None:
    run_id = (await come(bench, "one")).run_id
    assert status_of(await come(bench, "two")) == "early"
    await bench.settle()
    assert (await bench.run(run_id))["steps"]["first"]["status"] == "succeeded"


async def test_two_triggers_at_one_moment_are_one_run_and_one_signal(bench: Bench) -> None:
    for number in range(8):
        one, two = await asyncio.gather(*(come(bench, f"{number}{who}", case=f"C{number}") for who in "ab"))
        assert one.run_id == two.run_id
        assert sorted([one.signal is None, two.signal is None]) == [False, True]
    assert len(await runs_of(bench)) == 8


async def test_the_database_lets_one_run_go_on_about_the_same(bench: Bench) -> None:
    run_id = await begun(bench)
    other = (await come(bench, "two", case="C2")).run_id
    with pytest.raises(psycopg.errors.UniqueViolation, match="uq_runs_about"):
        await bench.meddle("UPDATE runs SET about = 'case:C1' WHERE run_id = %s", other)
    await end(bench, run_id)
    await bench.meddle("UPDATE runs SET about = 'case:C1' WHERE run_id = %s", other)


async def test_a_trigger_sent_again_is_neither_a_second_signal_nor_a_run(bench: Bench) -> None:
    run_id = await begun(bench)
    first = await come(bench, "two")
    assert (await come(bench, "one"), first.is_new) == (Claim(run_id, is_new=False), True)
    again = await come(bench, "two")
    assert (again.run_id, again.is_new, status_of(again)) == (run_id, False, "applied")
    await end(bench, run_id)
    again = await come(bench, "two")
    assert (again.run_id, again.is_new, status_of(again)) == (run_id, False, "applied")
    assert len(await bench.rows("SELECT 1 FROM notifications WHERE kind = 'signal'")) == 1


async def test_one_ref_cannot_mean_two_triggers_once_it_was_a_signal(bench: Bench) -> None:
    await begun(bench)
    await come(bench, "two")
    with pytest.raises(TriggerConflictError, match="claimed before"):
        await come(bench, "two", "else")
    with pytest.raises(TriggerConflictError, match="claimed before"):
        await come(bench, "two", by=Actor(id="sam", kind="person"))


async def test_a_payload_that_does_not_fit_is_no_signal_either(bench: Bench) -> None:
    await begun(bench)
    with pytest.raises(TriggerError, match="payload: /text"):
        await come(bench, "two", "longer than nine")
    assert not await bench.rows("SELECT 1 FROM notifications WHERE kind = 'signal'")


async def test_a_trigger_that_its_run_did_not_take_before_it_ended_starts_one(bench: Bench) -> None:
    run_id = await begun(bench)
    await come(bench, "two")
    await bench.settle()
    assert status_of(await come(bench, "three")) == "early"
    await end(bench, run_id)
    await bench.later(seconds=3)
    first, second = await runs_of(bench)
    assert (first["run_id"], second["trigger_ref"], second["status"]) == (run_id, "three", "waiting")
    again = await come(bench, "three")
    assert (again.run_id, again.is_new, again.signal) == (second["run_id"], False, None)


async def test_of_several_that_were_left_the_first_starts_a_run_and_the_others_are_signals_to_it(bench: Bench) -> None:
    run_id = await begun(bench)
    for ref in ("two", "three", "four"):
        await come(bench, ref)
        bench.clock.move(seconds=1)
    await end(bench, run_id)
    await bench.later(seconds=3)
    await bench.later(seconds=3)
    _, second = await runs_of(bench)
    assert second["trigger_ref"] == "three"
    again = await come(bench, "four")
    assert (again.run_id, status_of(again)) == (second["run_id"], "applied")
    (row,) = await bench.rows("SELECT result FROM steps WHERE run_id = %s AND path = 'first'", second["run_id"])
    assert row["result"]["text"] == "four"


async def test_a_run_that_ends_while_its_signal_is_on_the_way_is_followed_by_another(bench: Bench) -> None:
    """The door finds the run; before it applies the signal, the run has ended."""
    run_id = await begun(bench)
    bench.clock.move(seconds=1)
    claim = await bench.start(TYPE, {"case": "C1", "text": "two"}, "two")  # recorded, and not applied
    assert claim.signal is not None
    await end(bench, run_id)
    told = await come(bench, "two")
    assert (told.signal, told.run_id != run_id) == (None, True)
    assert [run["trigger_ref"] for run in await runs_of(bench)] == ["one", "two"]


async def test_what_a_trigger_said_is_kept_once_with_the_run_that_it_started_after_all(bench: Bench) -> None:
    """What that run is told to hide is forgotten of it when it ends: it may stand nowhere else then."""
    run_id = await begun(bench)
    await bench.start(TYPE, {"case": "C1", "text": "secret"}, "two")
    await end(bench, run_id)
    await bench.later(seconds=3)
    (row,) = await bench.rows("SELECT payload, forgotten FROM notifications WHERE kind = 'signal'")
    assert (row["payload"]["data"], row["forgotten"]) == ({}, True)
    (run,) = await bench.rows("SELECT trigger FROM runs WHERE trigger_ref = 'two'")
    assert run["trigger"] == {"case": "C1", "text": "secret"}


async def test_nothing_starts_after_all_where_the_runbook_has_retired(bench: Bench) -> None:
    run_id = await begun(bench)
    claim = await bench.start(TYPE, {"case": "C1", "text": "two"}, "two")
    assert claim.signal is not None
    async with bench.engine.pool.connection() as conn, conn.transaction():
        await lock_versions(conn, TENANT)
        life = await find_version(conn, TENANT, "case", 1)
        assert life is not None
        await Mover(conn, TENANT, Actor(id="omar", kind="person"), None, bench.clock()).retire(life)
    await end(bench, run_id)
    told = await come(bench, "two")
    assert (told.run_id, status_of(told)) == (run_id, "stale")
    assert told.signal is not None
    assert told.signal.reason.startswith("the run had ended, and none was started: case version 1 is not active")
    with pytest.raises(NotActiveError):
        await come(bench, "three")


async def test_the_chain_says_whose_word_it_was_and_the_run_is_planned_again_as_it_was(bench: Bench) -> None:
    run_id = await begun(bench)
    await come(bench, "two", by=Actor(id="sam", kind="person"))
    await come(bench, "three")
    await bench.later(hours=1)
    completed = [leaf for leaf in await bench.chain(run_id) if leaf.event == "wait.completed"]
    words = [(leaf.actor.id, leaf.data["type"]) for leaf in completed if leaf.data["type"] == "signal"]
    assert words == [("sam", "signal"), ("rita", "signal")]
    async with bench.engine.pool.connection() as conn:
        found = await replay_run(conn, TENANT, run_id)
    assert found is not None
    assert found.difference is None


async def test_signals_by_the_reference_find_the_run(bench: Bench) -> None:
    run_id = await begun(bench)
    signal = Signal("s1", None, "case:C1", "news", {"text": "by hand"})
    _, found, facts = await SignalService(bench.engine, TENANT).send("portal-bot", [TYPE], signal)
    assert (found, facts["status"]) == (run_id, "applied")


async def test_a_run_that_would_have_to_wait_for_one_that_goes_on_is_refused(bench: Bench) -> None:
    run_id = await begun(bench)
    waiting = (await bench.start("bench.waiter", {})).run_id
    await bench.settle()
    run = await bench.run(waiting)
    assert run["status"] == "failed_terminal"
    assert f"run {run_id} is about the same and goes on, and another run cannot wait for its end" in run["error"]
    assert not await bench.rows("SELECT 1 FROM notifications WHERE kind = 'signal'")


async def test_a_run_that_continues_with_one_that_goes_on_tells_it(bench: Bench) -> None:
    run_id = await begun(bench)
    going = (await bench.start("bench.goer", {})).run_id
    await bench.settle()
    await bench.later(seconds=3)
    (step,) = await bench.rows("SELECT result FROM steps WHERE run_id = %s AND path = 'go'", going)
    assert step["result"] == {"run_id": run_id}
    (heard,) = await bench.rows("SELECT result FROM steps WHERE run_id = %s AND path = 'first'", run_id)
    assert heard["result"]["text"] == "below"


SYS_ID = "a" * 32


@pytest.fixture
async def edge(dsn: str, opa: OpaChild, tmp_path: Path) -> AsyncIterator[Edge]:
    async with composed(settings_of(dsn, opa.url, tmp_path)) as system, edge_of(system) as found:
        yield found


async def hook(edge: Edge, ref: str, priority: int = 3) -> Answer:
    """Send the webhook of an incident."""
    body = {"ref": ref, "payload": {"sys_id": SYS_ID, "number": "INC0010042", "priority": priority}}
    return await edge.send("POST", "/v1/triggers/servicenow.incident", json.dumps(body).encode(), by="servicenow")


async def test_the_answer_to_the_second_webhook_names_the_run_and_the_signal(edge: Edge) -> None:
    first, second = await hook(edge, "1"), await hook(edge, "2", priority=1)
    assert (first.status, first.body) == (202, {"run_id": first.body["run_id"], "is_new": True})
    assert second.status == 202
    assert second.body == {
        "run_id": first.body["run_id"],
        "is_new": False,
        "signal": {
            "name": "incident_updated",
            "status": "early",
            "reason": "no step waits for this signal yet; it is kept as long as the run goes on",
        },
    }


async def test_a_webhook_that_is_delivered_again_has_the_same_answer(edge: Edge, dsn: str) -> None:
    first, second = await hook(edge, "1"), await hook(edge, "2")
    assert (await hook(edge, "1")).body == {**first.body, "is_new": False}
    assert (await hook(edge, "2")).body == second.body
    assert is_problem(await hook(edge, "2", priority=1), 409, "was claimed before")
    assert len(rows(dsn, "SELECT 1 FROM runs")) == len(rows(dsn, "SELECT 1 FROM notifications")) == 1


async def test_webhooks_at_one_moment_are_one_run_and_signals_to_it(edge: Edge, dsn: str) -> None:
    answers = await asyncio.gather(*(hook(edge, str(number)) for number in range(12)))
    assert {answer.status for answer in answers} == {202}
    assert len({answer.body["run_id"] for answer in answers}) == 1
    assert sorted("signal" in answer.body for answer in answers) == [False] + [True] * 11
    assert len(rows(dsn, "SELECT 1 FROM runs")) == 1
    assert len(rows(dsn, "SELECT 1 FROM notifications WHERE kind = 'signal'")) == 11
