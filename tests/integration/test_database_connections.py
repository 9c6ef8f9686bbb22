"""Database connections: the pool, PgBouncer, older PostgreSQL, and the embedded server.

A pool gives what was given back last, holds nothing back from whoever waits, and leaves nothing open.

Behind PgBouncer in transaction mode, where no session is one's own: the whole work is done, and a limit holds.

The versions of PostgreSQL that doctor takes: migrations, roles and a whole run on the oldest ones.

The embedded PostgreSQL outlives whoever is killed, and ends with whoever takes it on.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest
from psycopg.errors import DivisionByZero
from psycopg_pool import PoolClosed, PoolTimeout

from countersign.doctor.database import OLDEST_POSTGRES
from countersign.doctor.database import database as check_database
from countersign.doctor.database import migrations as check_migrations
from countersign.doctor.doctor import examine
from countersign.embedded.opa import OpaChild
from countersign.embedded.postgres import embedded_postgres
from countersign.parts import Role
from countersign.settings import Settings
from evidence.local import LocalArchive
from policy.client import OpaEngine
from runtime.clock import utc_now
from runtime.services.approvals import ApprovalService
from runtime.store.database.buffered_connection import at_once
from runtime.store.database.migration import migrate
from runtime.store.database.pool import AT_HAND, REST, Conn, Pool, make_pool
from runtime.store.database.signals import announce, listening
from runtime.worker import Worker
from tests.bench import TENANT, Bench, open_bench
from tests.integration.conftest import PACK, Targets
from tests.integration.program_stage import command, database, environment, load, program, settings_of
from tests.integration.servers import pgbouncer_server, servers
from tests.logins import as_program, make_logins
from tests.patience import MINUTE
from tests.sealing import sealer_of


def _pool(dsn: str, size: int) -> Pool:
    return make_pool(as_program(dsn), size=size, behind_pooler=False)


def _pid(conn: Conn) -> int:
    return conn.info.backend_pid


async def _use(pool: Pool) -> int:
    async with pool.connection() as conn:
        return _pid(conn)


async def _use_side_by_side(pool: Pool, count: int) -> set[int]:
    """Use so many connections at once, and give them back."""
    conns = [await pool.getconn() for _ in range(count)]
    pids = {_pid(conn) for conn in conns}
    for conn in conns:
        await pool.putconn(conn)
    return pids


async def test_what_was_given_back_last_is_given_next(dsn: str) -> None:
    async with _pool(dsn, 8) as pool:
        assert len(await _use_side_by_side(pool, 3)) == 3
        assert len({await _use(pool) for _ in range(20)}) == 1


async def test_in_between_it_goes_back_to_be_looked_at_for_its_age(dsn: str) -> None:
    async with _pool(dsn, 8) as pool:
        await _use_side_by_side(pool, AT_HAND + 2)
        assert len({await _use(pool) for _ in range(REST + 1)}) > 1


async def test_all_connections_can_be_in_use_again(dsn: str) -> None:
    async with _pool(dsn, AT_HAND + 2) as pool:
        first = await _use_side_by_side(pool, AT_HAND + 2)
        assert await _use_side_by_side(pool, AT_HAND + 2) == first


async def test_whoever_waits_gets_what_is_given_back(dsn: str) -> None:
    async with _pool(dsn, 1) as pool:
        conn = await pool.getconn()
        waiting = [asyncio.create_task(_use(pool)) for _ in range(3)]
        while pool.get_stats().get("requests_waiting", 0) < len(waiting):
            await asyncio.sleep(0)
        await pool.putconn(conn)
        assert await asyncio.gather(*waiting) == [_pid(conn)] * 3


async def test_one_that_ended_in_use_or_at_hand_is_replaced(dsn: str) -> None:
    async with _pool(dsn, 1) as pool:
        async with pool.connection() as conn:
            first = _pid(conn)
            await conn.close()
        second = await pool.getconn()
        pids = {first, _pid(second)}
        await pool.putconn(second)
        await second.close()
        assert len({*pids, await _use(pool)}) == 3


async def test_one_given_back_within_a_transaction_is_not_given_so(dsn: str) -> None:
    async with _pool(dsn, 1) as pool:
        conn = await pool.getconn()
        await conn.execute("BEGIN")
        await pool.putconn(conn)
        async with pool.connection() as again, again.transaction():
            await again.execute("SELECT 1")


async def test_a_pool_that_is_closed_leaves_no_connection_open(dsn: str) -> None:
    async with _pool(dsn, 8) as pool:
        conns = [await pool.getconn() for _ in range(AT_HAND)]
        for conn in conns[1:]:
            await pool.putconn(conn)
    await pool.putconn(conns[0])  # late
    assert all(conn.closed for conn in conns)
    with pytest.raises(PoolClosed):
        await pool.getconn()


@pytest.mark.parametrize("turns", range(6))
async def test_who_is_canceled_as_a_connection_comes_is_canceled_and_it_goes_to_the_next(dsn: str, turns: int) -> None:
    async with _pool(dsn, 1) as pool:
        taken = await pool.getconn()
        waiting = asyncio.create_task(pool.getconn())
        while not pool.get_stats().get("requests_waiting"):
            await asyncio.sleep(0)
        await pool.putconn(taken)
        for _ in range(turns):
            await asyncio.sleep(0)
        has_one = waiting.done()
        waiting.cancel()
        await asyncio.wait({waiting})
        assert waiting.cancelled() is not has_one
        if has_one:
            await pool.putconn(waiting.result())
        async with asyncio.timeout(MINUTE):
            await pool.putconn(await pool.getconn())


async def test_a_connection_whose_reads_failed_takes_nothing_for_prepared_that_came_behind(dsn: str) -> None:
    async def read(pool: Pool, by: int) -> list[dict[str, int]]:
        async with pool.connection() as conn:
            found = await at_once(conn.read("SELECT 1 / %(by)s AS n", {"by": by}), conn.read("SELECT 2 AS n", {}))
        return [row for (row,) in found]

    async with _pool(dsn, 1) as pool:
        await read(pool, 1)
        with pytest.raises(DivisionByZero):
            await read(pool, 0)  # the second statement would have been prepared behind the first
        for _ in range(3):
            assert await read(pool, 1) == [{"n": 1}, {"n": 2}]


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


SERVERS = servers()


@pytest.mark.parametrize("version", sorted(SERVERS))
async def test_a_run_with_approvals_is_done_and_sealed(
    version: int, opa: OpaChild, targets: Targets, tmp_path: Path
) -> None:
    with TemporaryDirectory(prefix="postgres-") as name:
        os.chmod(name, 0o755)  # noqa: PTH101, S103 - the server is another user's where we are root
        with SERVERS[version](Path(name) / "data") as dsn:
            migrate(dsn)  # which names what differs from the declared schema
            assert [fact.detail for fact in await check_migrations(Settings(database_url=dsn)) if not fact.ok] == []
            make_logins(dsn)
            facts = {fact.name: fact for fact in await check_database(Settings(database_url=dsn), utc_now)}
            assert facts["database"].ok
            assert facts["database"].detail.startswith(f"PostgreSQL {version}.")
            async with (
                OpaEngine(opa.url, timeout=MINUTE) as policy,
                open_bench(dsn, policy, [PACK], targets.handlers()) as bench,
            ):
                run_id = (await bench.start("bench.file", {"company": "ACME", "text": "r"})).run_id
                await bench.settle()
                for person in ("ann", "ben"):
                    assert (await bench.click(person, await bench.approval_id())).counted
                await bench.settle()
                assert (await bench.run(run_id))["status"] == "succeeded"
                key = tmp_path / "key.pem"
                assert await sealer_of(bench.engine, LocalArchive(tmp_path), key)() == 1


def test_no_version_is_older_than_the_doctor_takes() -> None:
    assert min(SERVERS) >= OLDEST_POSTGRES


HOLDS = """
import sys
from pathlib import Path
from countersign.embedded.postgres import embedded_postgres
with embedded_postgres(Path(sys.argv[1])):
    print("holds it", flush=True)
    sys.stdin.read()
"""


def test_what_a_killed_process_left_running_is_taken_on_and_stopped_by_the_next(tmp_path: Path) -> None:
    folder = tmp_path / "postgres"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as killed:
        assert killed.stdout
        assert killed.stdout.readline() == b"holds it\n"
        killed.kill()
    left = _postmaster(folder)
    with embedded_postgres(folder) as dsn, psycopg.connect(dsn) as conn:
        assert conn.execute("SELECT 1").fetchone() == (1,)
        assert _postmaster(folder) == left
    assert _postmaster(folder) is None


def _postmaster(folder: Path) -> str | None:
    """Return the id of the server's process, None where it was stopped."""
    file = folder / "postmaster.pid"
    return file.read_text(encoding="utf-8").splitlines()[0] if file.exists() else None
