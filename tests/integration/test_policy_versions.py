"""Versions of the policy: who brings one into force, what decides meanwhile, and the way back."""

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from psycopg.errors import CheckViolation

from evidence.local import LocalArchive
from evidence.replay import Opa, replayed_by
from evidence.verify.verify import verify
from receipts.chain import PROGRAM, Actor
from receipts.signing import public_path
from runtime.model.effect import PolicyReplacedError
from runtime.model.votes import RefusalCode
from runtime.services.audit import audit
from runtime.services.policy_versions import INSTALLATION
from runtime.store.policy_versions import Activation, activate_version, add_version, lock_policy_versions
from runtime.store.records import expect_in_force
from tests.bench import TENANT
from tests.integration.acts_stage import Register, asked, delegate, edit, request_of
from tests.integration.conftest import PACK, Targets
from tests.integration.versions_stage import SIGNERS, PolicyLife, denies_all, more_writes, open_life
from tests.opa_server import POLICIES, opa_program
from tests.sealing import sealer_of

FILE = {"company": "ACME", "text": "report"}


@pytest.fixture
async def life(dsn: str, targets: Targets, tmp_path: Path) -> AsyncIterator[PolicyLife]:
    async with open_life(dsn, targets, tmp_path) as opened:
        yield opened


async def decided(life: PolicyLife, ref: str) -> dict[str, Any]:
    """Start a filing, and return the last decision on it, None where there is none."""
    run_id = (await life.bench.start("bench.file", FILE, ref)).run_id
    await life.bench.settle()
    found = await life.bench.rows(
        "SELECT document FROM policy_decisions WHERE run_id = %s AND document ->> 'step' <> '' ORDER BY seq", run_id
    )
    return dict(found[-1]["document"]) if found else {}


async def test_a_version_comes_into_force_once_policy_and_people_agree(life: PolicyLife) -> None:
    assert (await life.install()).version == 1
    version = await life.propose(life.changed("next", more_writes))
    facts = await life.activate(version)
    assert (await life.bench.run(facts["run_id"]))["status"] == "waiting_approval"
    assert await life.in_force() == 1
    await life.sign(*SIGNERS)
    assert (await life.bench.run(facts["run_id"]))["status"] == "succeeded"
    assert await life.in_force() == version == 2


async def test_people_sign_changes_backtest_and_digests(life: PolicyLife) -> None:
    await life.install()
    await life.activate(await life.propose(life.changed("next", more_writes)))
    (row,) = await life.bench.rows("SELECT fields FROM effects WHERE connector = 'policy'")
    (version,) = await life.bench.rows("SELECT digest, bundle FROM policy_versions WHERE version = 2")
    assert row["fields"]["changes"] == [{"kind": "wider", "what": "acme.writes_per_run", "detail": "was 60, now 90"}]
    assert (row["fields"]["backtest"], row["fields"]["worst"]) == ([], "no backtest was made")
    assert row["fields"]["digest"] == version["digest"]
    assert (row["fields"]["version"], row["fields"]["replaces"], row["fields"]["author"]) == (2, 1, "rita")


async def test_an_author_does_not_sign_their_own_version(life: PolicyLife) -> None:
    await life.install()
    await life.activate(await life.propose(life.changed("next", more_writes), author="ann"))
    assert not (await life.bench.click("ann", await life.bench.approval_id())).counted
    await life.sign("ben", "sam")
    assert await life.in_force() == 2


async def test_no_attempt_begins_on_the_answer_of_an_older_version(life: PolicyLife, targets: Targets) -> None:
    await life.install()
    nxt = life.changed("next", more_writes)
    await life.activate(await life.propose(nxt))
    await life.sign(*SIGNERS)
    assert await decided(life, "late") == {}  # OPA serves the previous version
    (effect,) = await life.bench.rows("SELECT status, error FROM effects WHERE connector = 'register'")
    assert effect["status"] == "pending"
    assert "another one is in force" in effect["error"]
    await life.serve(nxt)
    await life.bench.later(minutes=1)
    found = await life.bench.rows("SELECT policy_digest FROM policy_decisions ORDER BY at DESC LIMIT 1")
    assert found[0]["policy_digest"] == life.opa.revision


async def test_an_operator_may_nothing_by_the_answer_of_an_older_version(life: PolicyLife) -> None:
    await life.install()
    async with life.bench.engine.pool.connection() as conn, conn.transaction():
        await expect_in_force(conn, life.opa.revision)
        with pytest.raises(PolicyReplacedError, match="is in force, and 00 answered"):
            await expect_in_force(conn, "00")


async def test_an_edit_is_not_made_on_the_answer_of_an_older_version(
    dsn: str, targets: Targets, tmp_path: Path
) -> None:
    targets.file = Register()
    async with open_life(dsn, targets, tmp_path, [PACK, PACK.with_name("editing")]) as life:
        await life.install()
        first = await asked(life.bench)
        (before,) = await life.bench.rows("SELECT run_id FROM runs")
        nxt = life.changed("next", more_writes)
        await life.activate(await life.propose(nxt))
        await life.sign(*SIGNERS)
        refused = await edit(life.bench, "ann", first, {"copies": 3})  # OPA serves the version before
        assert refused is not None
        assert refused.code is RefusalCode.FAILING
        assert await life.bench.rows("SELECT 1 FROM edits") == []
        assert await request_of(life.bench, before["run_id"]) == first
        await life.serve(nxt)
        await life.bench.later(minutes=1)
        assert await life.bench.rows("SELECT person FROM edits") == [{"person": "ann"}]
        assert await request_of(life.bench, before["run_id"]) != first


async def test_waiting_for_the_version_in_force_is_no_fault_to_be_mended(
    life: PolicyLife, caplog: pytest.LogCaptureFixture
) -> None:
    await life.signed()
    await life.bench.settle()
    assert (await delegate(life.bench, "ben", "cat", "compliance"))["status"] == "received"
    (waiting,) = await life.bench.rows("SELECT error FROM notifications WHERE kind = 'delegate'")
    assert "is in force, and" in waiting["error"]
    assert [one.getMessage() for one in caplog.records if one.levelno >= logging.ERROR] == []


async def _activate(life: PolicyLife, version: int, by: Actor, run_id: str | None) -> None:
    """Bring a version into force past everything that asks why."""
    async with life.bench.engine.pool.connection() as conn, conn.transaction():
        await lock_policy_versions(conn)
        await activate_version(conn, Activation(version, by, run_id), life.bench.clock())


async def test_the_database_takes_no_activation_without_a_run_but_that_of_the_installation(life: PolicyLife) -> None:
    new, omar = await life.made(life.folder, INSTALLATION), Actor(id="omar", kind="person")
    async with life.bench.engine.pool.connection() as conn, conn.transaction():
        await lock_policy_versions(conn)
        assert await add_version(conn, new, PROGRAM, life.bench.clock()) == 1
    with pytest.raises(CheckViolation, match="ck_policy_activations_run_id"):
        await _activate(life, 1, omar, "run_of_a_test")
    await _activate(life, 1, PROGRAM, None)
    version = await life.propose(life.changed("next", more_writes))
    with pytest.raises(CheckViolation, match="ck_policy_activations_run_id"):
        await _activate(life, version, omar, None)
    assert await life.in_force() == 1


async def test_decisions_without_a_version_say_development(life: PolicyLife) -> None:
    assert (await decided(life, "before"))["development"] is True
    await life.install()
    await life.bench.later(minutes=1)
    assert "development" not in await decided(life, "after")


async def test_a_policy_that_denies_all_is_rolled_back_by_the_rules_of_the_version_before(life: PolicyLife) -> None:
    await life.install()
    nothing = life.changed("nothing", denies_all)
    await life.activate(await life.propose(nothing))
    await life.sign(*SIGNERS)
    await life.serve(nothing)
    assert (await decided(life, "denied"))["outcome"] == "deny"
    facts = await life.rollback()
    assert (await life.bench.run(facts["run_id"]))["status"] == "waiting_approval"
    await life.sign(*SIGNERS)
    assert await life.in_force() == 1
    (decision,) = await life.bench.rows(
        "SELECT policy_digest FROM policy_decisions WHERE run_id = %s AND outcome = 'allow'"
        " AND effect_id IN (SELECT effect_id FROM effects WHERE connector = 'policy')",
        facts["run_id"],
    )
    (first,) = await life.bench.rows("SELECT digest FROM policy_versions WHERE version = 1")
    assert decision["policy_digest"] == first["digest"]


async def test_the_evidence_of_an_activation_and_of_a_rollback_verifies(life: PolicyLife, tmp_path: Path) -> None:
    await life.install()
    nothing = life.changed("nothing", denies_all)
    activated = await life.activate(await life.propose(nothing))
    await life.sign(*SIGNERS)
    await life.serve(nothing)
    rolled_back = await life.rollback()
    await life.sign(*SIGNERS)
    await life.serve(POLICIES)
    await life.bench.later(minutes=1)
    key = tmp_path / "keys/evidence.pem"
    sealer = sealer_of(life.bench.engine, LocalArchive(tmp_path / "evidence"), key)
    while await sealer():
        pass
    for run_id in (activated["run_id"], rolled_back["run_id"]):
        assert (await life.bench.run(run_id))["status"] == "succeeded"
        bundle = tmp_path / f"evidence/{run_id}.zip"
        assert verify(bundle, public_path(key), replayed_by(Opa(opa_program()))).run_id == run_id
    found = await asyncio.to_thread(audit, life.bench.superuser, TENANT, ())
    assert found.findings == []
