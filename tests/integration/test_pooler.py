"""Behind PgBouncer in transaction mode, where no session is one's own: the whole work is done, and a limit holds."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
import pytest
from psycopg_pool import PoolTimeout

from countersign.doctor.doctor import examine
from countersign.embedded.opa import OpaChild
from countersign.parts import Role
from evidence.archive.local import LocalArchive
from runtime.clock import utc_now
from runtime.services.approvals import ApprovalService
from runtime.store.database.pool import Pool, make_pool
from runtime.store.database.signals import announce, listening
from runtime.worker.worker import Worker
from tests.bench import TENANT, Bench
from tests.integration.conftest import Targets
from tests.integration.pgbouncer_server import pgbouncer_server
from tests.integration.program_stage import command, database, environment, load, program, settings_of
from tests.logins import as_program
from tests.patience import MINUTE
from tests.sealing import sealer_of

RUNS = 6


@pytest.fixture(scope="module")
def bouncer(postgres: str) -> Iterator[str]:
    """PgBouncer in front of the tests' server: the beginning of its DSNs."""
    with pgbouncer_server(postgres) as dsn:
        yield dsn


@dataclass
class Pooled:
    """One database: straight, and through the pooler."""

    straight: str
    through: str


@pytest.fixture
def pooled(dsn: str, bouncer: str) -> Pooled:
    name = dsn.partition("@/")[2].partition("?")[0]
    return Pooled(as_program(dsn), as_program(f"{bouncer}/{name}"))


@pytest.fixture
async def pool(pooled: Pooled) -> AsyncIterator[Pool]:
    async with make_pool(pooled.through, size=8, behind_pooler=True) as found:
        yield found


async def test_runs_approvals_and_evidence_come_to_their_end_through_it(
    bench: Bench, targets: Targets, pooled: Pooled, pool: Pool, tmp_path: Path
) -> None:
    engine = replace(bench.engine, pool=pool, dsn=pooled.through, listen_dsn=None)
    through = replace(bench, engine=engine, worker=Worker(engine), desk=ApprovalService(engine, TENANT))
    for number in range(RUNS):
        await through.start("bench.chain", {"case": f"C{number}"}, ref=str(number))
    filing = (await through.start("bench.file", {"company": "ACME", "text": "r"}, ref="filing")).run_id
    await through.settle()
    approval = await through.approval_id()
    for person in ("ann", "ben"):
        assert (await through.click(person, approval)).counted
    await through.settle()
    assert (await through.run(filing))["status"] == "succeeded"
    assert len(targets.file.calls) == 1
    assert await through.rows("SELECT DISTINCT status FROM runs") == [{"status": "succeeded"}]
    sealer = sealer_of(engine, LocalArchive(tmp_path), tmp_path / "key.pem")
    assert sum([await sealer() for _ in range(RUNS + 2)]) == RUNS + 1


async def test_limits_hold_in_each_transaction_and_stay_behind_in_none(pool: Pool) -> None:
    async def told(conn: psycopg.AsyncConnection[dict[str, str]]) -> tuple[str, str]:
        row = await (
            await conn.execute(
                "SELECT current_setting('lock_timeout') AS lock,"
                " current_setting('idle_in_transaction_session_timeout') AS idle"
            )
        ).fetchone()
        assert row
        return row["lock"], row["idle"]

    async with pool.connection() as conn:
        async with conn.transaction(), conn.transaction():
            assert await told(conn) == ("10s", "15s")
        assert {await told(conn) for _ in range(6)} == {("0", "0")}


async def test_word_of_work_given_through_it_is_heard_past_it(pooled: Pooled, pool: Pool) -> None:
    heard = asyncio.Event()
    async with listening(pooled.straight, "me", heard.set), asyncio.timeout(MINUTE):
        while not heard.is_set():
            async with pool.connection() as conn:
                await announce(conn, "somebody")
            await asyncio.sleep(0.05)
    heard.clear()
    async with listening(None, "me", heard.set), pool.connection() as conn:
        await announce(conn, "somebody")
    assert not heard.is_set()


async def test_a_process_serves_through_it_and_says_what_is_wrong_without_the_setting(
    pooled: Pooled, opa: OpaChild, tmp_path: Path
) -> None:
    settings = settings_of(pooled.through, opa.url, tmp_path, port=0, database_pooler="transaction")
    await load(settings)
    env = environment(settings)
    async with program("serve", env=env) as running:
        await running.said("serving: ")
        running.process.terminate()
        assert await running.ended() == 0
    refused = await command("serve", env={**env, "COUNTERSIGN_DATABASE_POOLER": "none"})
    assert refused.code == 1
    assert refused.err.endswith(
        "FATAL:  unsupported startup parameter: options; behind a pooler set COUNTERSIGN_DATABASE_POOLER=transaction\n"
    )


async def test_doctor_finds_a_pooler_without_its_setting_and_names_it(
    pooled: Pooled, opa: OpaChild, tmp_path: Path
) -> None:
    settings = settings_of(pooled.through, opa.url, tmp_path)
    for pooler, is_well in (("none", False), ("transaction", True)):
        facts = await examine(
            settings.model_copy(update={"database_pooler": pooler}), utc_now, frozenset({Role.SWEEPS})
        )
        found = next(fact for fact in facts if fact.name == "database")
        assert found.ok == is_well
        assert is_well or found.remedy.startswith("Set COUNTERSIGN_DATABASE_POOLER=transaction")


async def test_a_database_is_migrated_through_it(postgres: str, bouncer: str) -> None:
    with database(postgres, "pooled_empty", template="template0"):
        env = {"COUNTERSIGN_DATABASE_URL": f"{bouncer}/pooled_empty"}
        env["COUNTERSIGN_DATABASE_POOLER"] = "transaction"
        assert (await command("migrate", env=env)).out.startswith("at migration ")


@pytest.mark.parametrize(
    ("dsn", "why"),
    [("postgresql://u@127.0.0.1:1/x", "Connection refused"), ("", "all 1 are in use")],
    ids=["refused", "busy"],
)
async def test_whoever_gets_no_connection_hears_why(postgres: str, dsn: str, why: str) -> None:
    async with make_pool(dsn or postgres, size=1, behind_pooler=False) as pool:
        if not dsn:
            await pool.getconn()
        with pytest.raises(PoolTimeout, match=why):
            await pool.getconn(timeout=0.5)
