"""Runbook versions: draft, active and retired, and what a start brings.

A version of a runbook starts nothing before it is active, and nothing new once retired: each move on record.

What a start brings is a draft, or active as the rule says: nothing else comes active, or back, by itself.
"""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from countersign_kyc.functions import FUNCTIONS

from countersign.engine import keep_definitions
from evidence.local import LocalArchive
from evidence.verify.verify import verify
from policy.client import OpaEngine
from receipts.chain import PROGRAM
from receipts.signing import public_path
from runtime.handlers import Call, RefusedError
from runtime.inbox import inbox
from runtime.model.runbook_version import Activation
from runtime.services.callers import NoRunbookError, NotActiveError, TriggerConflictError, Wish
from runtime.services.definition_versions import Mover
from runtime.store.definitions import find_version, lock_versions, versions_of_trigger
from tests.bench import BENCH_SECRET, TENANT
from tests.functions import installed
from tests.integration.runbooks_stage import ACTIVATED, RETIRED, RITA, TYPE, Lives, life, on, probe, started
from tests.opa_server import copy_policies, start_opa
from tests.patience import MINUTE, until
from tests.sealing import sealer_of

__all__ = ["life"]


async def test_an_activation_waits_for_the_signatures_that_policy_wants(life: Lives) -> None:
    await life.begin(probe(1))
    desk = await life.begin(probe(2))
    run_id = await life.activate(2)
    assert (await life.bench.run(run_id))["status"] == "waiting_approval"
    assert await life.statuses() == {1: "active", 2: "draft"}
    assert await started(desk, "a") == 1
    await life.sign()
    assert (await life.bench.run(run_id))["status"] == "succeeded"
    assert await life.statuses() == {1: "retired", 2: "active"}
    assert await started(desk, "b") == 2
    assert (await life.moves())[1:] == [(RETIRED, 1, "rita", run_id), (ACTIVATED, 2, "rita", run_id)]


async def test_who_asks_for_an_activation_cannot_sign_it(life: Lives) -> None:
    await life.begin(probe(1))
    await life.begin(probe(2))
    asked = await life.operator.activate("ann", "probe", 2, "mine", beside=False)
    await life.ask(asked)
    approval = await life.bench.approval_id()
    assert not (await life.bench.click("ann", approval)).counted


async def test_a_card_tells_what_changes_and_what_is_active(life: Lives) -> None:
    await life.begin(probe(1))
    await life.begin(probe(2))
    await life.activate(2)
    (row,) = await life.bench.rows("SELECT fields, target FROM effects WHERE connector = 'definition'")
    assert row["fields"]["changes"] == '- steps.only.params.what: "it 1"\n+ steps.only.params.what: "it 2"'
    assert (row["fields"]["in_place_of"], row["fields"]["active"], row["target"]) == ([1], [2], "definition:probe")
    (asked,) = await life.bench.rows("SELECT before FROM approvals")
    assert asked["before"] == {"active": [1]}


async def test_a_rejected_activation_changes_nothing(life: Lives) -> None:
    await life.begin(probe(1))
    await life.begin(probe(2))
    run_id = await life.activate(2)
    assert (await life.bench.click("ann", await life.bench.approval_id(), "reject")).counted
    await life.bench.settle()
    assert (await life.bench.run(run_id))["status"] == "failed_terminal"
    assert await life.statuses() == {1: "active", 2: "draft"}


async def test_a_policy_that_says_nothing_of_definitions_denies(life: Lives, tmp_path: Path) -> None:
    await life.begin(probe(1))
    policies = copy_policies(tmp_path / "rego")
    file = policies / "countersign_config/acme/data.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    del config["connectors"]["definition"]
    file.write_text(json.dumps(config), encoding="utf-8")
    async with start_opa(policies, tmp_path / "opa") as opa, OpaEngine(opa.url, timeout=MINUTE) as policy:
        bench = on(life.bench, replace(life.bench.engine, policy=policy))
        run_id = await replace(life, bench=bench).retire(1)
    run = await life.bench.run(run_id)
    assert run["status"] == "failed_terminal"
    assert "connector" in run["error"]
    assert await life.statuses() == {1: "active"}


async def test_runs_go_on_with_the_version_that_they_began_with(life: Lives) -> None:
    desk = await life.begin(probe(1), rule=Activation.NEWEST)
    claim = await desk.trigger(Wish(TYPE, None, "a", {}), RITA, "portal-bot")
    await life.begin(probe(2), rule=Activation.NEWEST)
    await life.bench.settle()
    run = await life.bench.run(claim.run_id)
    assert (run["status"], run["definition_version"]) == ("succeeded", 1)


async def test_a_retired_version_starts_nothing_new_and_says_so(life: Lives) -> None:
    desk = await life.begin(probe(1))
    run_id = await life.retire(1)
    with pytest.raises(
        NotActiveError, match=r"^probe version 1 is not active but retired: nothing new starts with it$"
    ):
        await started(desk, "a")
    assert (await life.moves())[-1] == (RETIRED, 1, "rita", run_id)


async def test_a_trigger_sent_again_after_the_retirement_finds_its_run(life: Lives) -> None:
    desk = await life.begin(probe(1))
    first = await desk.trigger(Wish(TYPE, None, "a", {}), RITA, "portal-bot")
    await life.retire(1)
    again = await desk.trigger(Wish(TYPE, None, "a", {}), RITA, "portal-bot")
    assert (again.run_id, again.is_new) == (first.run_id, False)
    with pytest.raises(TriggerConflictError):
        await desk.trigger(Wish(TYPE, None, "a", {"other": 1}), RITA, "portal-bot")


async def test_a_retired_version_can_come_back(life: Lives) -> None:
    await life.begin(probe(1), rule=Activation.NEWEST)
    desk = await life.begin(probe(2), rule=Activation.NEWEST)
    await life.activate(1)
    await life.sign()
    assert await life.statuses() == {1: "active", 2: "retired"}
    assert await started(desk, "a") == 1


async def test_two_versions_are_active_side_by_side_and_a_trigger_may_name_one(life: Lives) -> None:
    await life.begin(probe(1))
    desk = await life.begin(probe(2))
    await life.activate(2, beside=True)
    await life.sign()
    assert await life.statuses() == {1: "active", 2: "active"}
    assert [await started(desk, "a"), await started(desk, "b", 1), await started(desk, "c", 2)] == [2, 1, 2]
    with pytest.raises(NotActiveError, match="probe has no version 3"):
        await started(desk, "d", 3)


async def test_what_people_signed_is_void_if_another_version_came_active_meanwhile(life: Lives) -> None:
    await life.begin(probe(1))
    await life.begin(probe(1), probe(2), probe(3))
    late = await life.activate(2)
    approval = await life.bench.approval_id()
    await life.bench.later(seconds=1)
    await life.activate(3)
    await life.sign()
    for person in ("ann", "ben"):
        assert (await life.bench.click(person, approval)).counted
    await life.bench.settle()
    run = await life.bench.run(late)
    assert run["status"] == "failed_terminal"
    assert "probe has moved on: active were [1], and are [3]; ask again" in run["error"]
    assert await life.statuses() == {1: "retired", 2: "draft", 3: "active"}


async def test_a_retirement_is_refused_if_another_version_came_active_meanwhile(life: Lives) -> None:
    await life.begin(probe(1))
    await life.begin(probe(1), probe(2))
    facts = await inbox.apply(life.bench.engine, await life.operator.retire("rita", "probe", 1, "wrong"))
    async with life.bench.engine.pool.connection() as conn, conn.transaction():
        two = await find_version(conn, TENANT, "probe", 2)
        assert two is not None
        await Mover(conn, TENANT, RITA, None, life.bench.clock()).activate(two, beside=True)
    await life.bench.settle()
    run = await life.bench.run(facts["run_id"])
    assert "probe has moved on: active were [1], and are [1, 2]; ask again" in run["error"]
    assert await life.statuses() == {1: "active", 2: "active"}


async def test_a_trigger_that_another_runbook_claims_is_not_taken_from_it(life: Lives) -> None:
    await life.begin(probe(1))
    await life.begin(probe(1, name="other"))
    run_id = await life.activate(1, "other")
    await life.sign()
    run = await life.bench.run(run_id)
    assert run["status"] == "failed_terminal"
    assert "start probe version 1, which is active: retire it first" in run["error"]
    await life.retire(1)
    await life.activate(1, "other")
    await life.sign()
    assert await life.statuses("other") == {1: "active"}


async def test_a_version_whose_functions_are_not_there_is_not_activated(life: Lives) -> None:
    with installed(*FUNCTIONS):
        await life.begin(probe(1))
        await life.begin(probe(2, what="${string(kyc_is_lei(run.id))}"))
    run_id = await life.activate(2)
    await life.sign()
    missing = "have no function kyc_is_lei version 1, which the version needs"
    assert missing in (await life.bench.run(run_id))["error"]
    assert await life.statuses() == {1: "active", 2: "draft"}


async def test_a_version_whose_handlers_are_not_there_is_not_activated(life: Lives) -> None:
    await life.begin(probe(1))
    await life.begin(probe(2))
    del life.handlers["bench::look"]
    run_id = await life.activate(2)
    await life.sign()
    assert "have no bench::look, which the version needs" in (await life.bench.run(run_id))["error"]
    assert await life.statuses() == {1: "active", 2: "draft"}


@pytest.mark.parametrize(
    ("name", "version", "reason"),
    [
        ("nobody", 1, "there is no nobody version 1"),
        ("probe", 7, "there is no probe version 7"),
        ("probe", 1, "probe version 1 is active"),
    ],
)
async def test_what_cannot_come_active_is_refused_at_once(life: Lives, name: str, version: int, reason: str) -> None:
    await life.begin(probe(1))
    facts = await life.ask(await life.operator.activate("rita", name, version, "now", beside=False))
    assert (facts["status"], facts["reason"]) == ("refused", reason)
    assert len(await life.moves()) == 1


async def test_a_digest_that_is_not_the_versions_own_is_refused(life: Lives) -> None:
    await life.begin(probe(1))
    run_id = await life.retire(1)
    await life.begin(probe(1), probe(2))
    fields = {"name": "probe", "version": 2, "digest": "f" * 64, "active": [], "reason": "x"}
    with pytest.raises(RefusedError, match="there is no probe version 2 with the digest ffff"):
        await life.handlers["definition::retire"].run(Call(TENANT, run_id, "retirement", "retire", fields))
    assert await life.statuses() == {1: "retired", 2: "draft"}


async def test_a_secret_in_the_reason_is_on_no_record(life: Lives) -> None:
    await life.begin(probe(1))
    await life.ask(await life.operator.retire("rita", "probe", 1, f"see {BENCH_SECRET}"))
    (row,) = await life.bench.rows("SELECT fields ->> 'reason' AS reason FROM effects WHERE connector = 'definition'")
    assert BENCH_SECRET not in row["reason"]
    assert row["reason"].startswith("see ")


async def test_the_run_of_an_activation_leaves_a_bundle_that_verifies(life: Lives, tmp_path: Path) -> None:
    await life.begin(probe(1))
    await life.begin(probe(2))
    run_id = await life.activate(2)
    await life.sign()
    key = tmp_path / "keys/evidence.pem"
    sealer = sealer_of(life.bench.engine, LocalArchive(tmp_path / "evidence"), key)
    while await sealer():
        pass
    assert verify(tmp_path / f"evidence/{run_id}.zip", public_path(key)).run_id == run_id


async def test_versions_that_were_moved_at_one_moment_are_in_one_order_wherever_their_rows_are(life: Lives) -> None:
    await life.begin(*(probe(version, name=name) for name in ("probe", "other") for version in (1, 2, 3)))
    await life.bench.meddle("UPDATE runbook_versions SET changed_at = %s", life.bench.clock())
    wanted = [(name, version) for name in ("other", "probe") for version in (3, 2, 1)]
    for name, version in (("other", 2), ("probe", 1), ("other", 3), ("probe", 3)):
        async with life.bench.engine.pool.connection() as conn:
            found = await versions_of_trigger(conn, TENANT, TYPE)
        assert [(one.name, one.version) for one in found] == wanted
        moves_the_row = "UPDATE runbook_versions SET trigger_when = trigger_when WHERE name = %s AND version = %s"
        await life.bench.meddle(moves_the_row, name, version)


async def test_the_first_version_is_active_at_once_and_on_record_as_the_programs(life: Lives) -> None:
    desk = await life.begin(probe(1))
    assert await started(desk, "a") == 1
    assert await life.moves() == [(ACTIVATED, 1, PROGRAM.id, None)]


async def test_a_newer_version_is_a_draft_and_starts_nothing(life: Lives) -> None:
    await life.begin(probe(1))
    desk = await life.begin(probe(1), probe(2))
    assert await life.statuses() == {1: "active", 2: "draft"}
    assert await started(desk, "a") == 1
    with pytest.raises(NotActiveError, match=r"^probe version 2 is not active but draft: nothing new starts with it$"):
        await started(desk, "b", version=2)


async def test_by_the_rule_newest_a_newer_version_takes_the_place_of_the_one_before(life: Lives) -> None:
    await life.begin(probe(1), rule=Activation.NEWEST)
    desk = await life.begin(probe(2), rule=Activation.NEWEST)
    assert await life.statuses() == {1: "retired", 2: "active"}
    assert await started(desk, "a") == 2


async def test_a_start_with_older_files_moves_nothing(life: Lives) -> None:
    for files in ([probe(1)], [probe(2)], [probe(1)]):
        await life.begin(*files, rule=Activation.NEWEST)
    assert await life.statuses() == {1: "retired", 2: "active"}


async def test_by_the_rule_manual_nothing_comes_active_by_itself(life: Lives) -> None:
    desk = await life.begin(probe(1), rule=Activation.MANUAL)
    assert await life.statuses() == {1: "draft"}
    with pytest.raises(NotActiveError, match="probe version 1 is not active but draft"):
        await started(desk, "a")


async def test_what_is_retired_is_revived_by_no_start(life: Lives) -> None:
    await life.begin(probe(1))
    await life.retire(1)
    await life.begin(probe(1), probe(2), rule=Activation.NEWEST)
    assert await life.statuses() == {1: "retired", 2: "draft"}


async def test_processes_that_start_at_once_activate_once(life: Lives) -> None:
    catalog = life.catalog(probe(1))
    await asyncio.gather(*(keep_definitions(life.bench.engine, catalog, Activation.FIRST) for _ in range(4)))
    assert await life.moves() == [(ACTIVATED, 1, PROGRAM.id, None)]


async def test_a_start_waits_for_a_move_that_is_under_way_and_goes_by_what_came_of_it(life: Lives) -> None:
    await life.begin(probe(1))
    catalog = life.catalog(probe(1), probe(2))
    engine = life.bench.engine
    async with engine.pool.connection() as conn, conn.transaction():
        await lock_versions(conn, TENANT)
        starting = asyncio.create_task(keep_definitions(engine, catalog, Activation.NEWEST))
        await until(lambda: life.bench.rows("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"))
        one = await find_version(conn, TENANT, "probe", 1)
        assert one is not None
        await Mover(conn, TENANT, RITA, None, life.bench.clock()).retire(one)
    await starting
    assert await life.statuses() == {1: "retired", 2: "draft"}


async def test_a_start_takes_no_trigger_from_another_runbook(life: Lives) -> None:
    await life.begin(probe(1))
    desk = await life.begin(probe(1, name="other"))
    assert await life.statuses("other") == {1: "draft"}
    assert await started(desk, "a") == 1
    assert await life.moves("other") == []


async def test_nothing_starts_in_a_process_whose_files_have_a_problem_with_the_runbook(life: Lives) -> None:
    await life.begin(probe(1))
    desk = await life.begin(probe(1), probe(2, verb="nope"))
    with pytest.raises(NoRunbookError, match=r"^probe, which takes triggers of type bench.probe, has a problem"):
        await started(desk, "a")
