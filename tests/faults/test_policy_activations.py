"""Versions of the policy come into force under load: nothing is lost or done twice, and nobody waits for ever."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from psycopg.rows import dict_row

from policy.bundle import PolicyFolders, read_policy
from policy.client import OpaEngine
from policy.keys import load_or_create
from policy.signing import sign_bundle
from runtime.worker import Worker
from tests.bench import open_bench
from tests.faults.checker.facts import facts_of
from tests.faults.checker.policy_rules import (
    activations_are_of_runs,
    activations_are_on_record,
    decisions_are_of_the_policy_in_force,
    postponed_effects_are_decided,
)
from tests.following_opa import following_opa
from tests.integration.conftest import PACK, Targets
from tests.integration.versions_stage import SIGNERS, PolicyLife, with_versions
from tests.opa_server import PACKS, copy_policies, opa_child
from tests.patience import MINUTE, until

WORKERS, ACTIVATIONS, RUNS_EACH = 8, 3, 17
_LEFT = """
    SELECT 1 FROM runs WHERE finished_at IS NULL
    UNION ALL SELECT 1 FROM effects WHERE status IN ('pending', 'leased')
"""
"""Runs that go on, and effects that wait: a run ends before the last of its cards is edited."""
_RULES = (
    decisions_are_of_the_policy_in_force,
    activations_are_of_runs,
    activations_are_on_record,
    postponed_effects_are_decided,
)


@asynccontextmanager
async def _followed(dsn: str, targets: Targets, folder: Path) -> AsyncIterator[PolicyLife]:
    """Open an installation with its first version, whose OPA follows the version in force."""
    rego = copy_policies(folder / "rego")
    folders = PolicyFolders(rego, PACKS)
    key = load_or_create(folder / "author/policy.pem")
    first = sign_bundle(read_policy(folders), key)
    async with (
        following_opa(folder / "opa", dsn, first, key.public) as port,
        OpaEngine(f"http://127.0.0.1:{port}", timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK], targets.handlers()) as bench,
    ):
        life = PolicyLife(with_versions(bench, key), rego, key, opa_child(folders, folder / "none"))
        await life.install()
        yield life


async def test_activations_among_many_decisions_neither_deadlock_nor_starve(
    dsn: str, targets: Targets, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with _followed(dsn, targets, tmp_path) as life:
        workers = [Worker(replace(life.bench.engine, worker=f"worker-{number}")) for number in range(WORKERS)]
        for number in range(ACTIVATIONS):
            await _activate_among_runs(life, workers, number)
    with psycopg.connect(dsn, row_factory=dict_row) as conn:
        facts = facts_of(conn, tmp_path)
    assert [sentence for rule in _RULES for sentence in rule(facts)] == []
    assert [row["version"] for row in facts.tables["activations"]] == [1, 2, 3, 4]
    assert {row["status"] for row in facts.tables["runs"]} == {"succeeded"}
    tries = [row["tries"] for row in facts.tables["effects"] if row["connector"] == "policy"]
    assert tries == [1] * ACTIVATIONS
    assert len(targets.note.calls) == len(targets.note.done) == ACTIVATIONS * RUNS_EACH
    assert "deadlock" not in caplog.text


async def _activate_among_runs(life: PolicyLife, workers: list[Worker], number: int) -> None:
    """Start runs, and bring a version into force while many workers begin what the runs want."""
    bench = life.bench
    version = await life.propose(
        life.changed(f"next-{number}", lambda config: config.update(writes_per_run=70 + number))
    )
    await life.activate(version)
    approval = await bench.approval_id()
    for person in SIGNERS:
        assert (await bench.click(person, approval)).counted
    for one in range(RUNS_EACH):
        ref = f"{number}-{one}"
        await bench.start("bench.note", {"incident": ref, "text": "seen", "api_token": "t"}, ref)

    async def turn() -> bool:
        """Do all that can be done a second later; return whether nothing is left."""
        bench.clock.move(seconds=1)
        await asyncio.gather(*(worker.drain() for worker in workers))
        return not await bench.rows(_LEFT)

    await until(turn, 5 * MINUTE)
    assert await life.in_force() == version
