"""What one test leaves in the database that it was handed, the next test does not find."""

import asyncio
from collections.abc import AsyncIterator

import psycopg
import pytest
from psycopg import AsyncConnection

from policy.client import OpaEngine
from runtime.store.database.pool import Pool
from tests.bench import open_bench
from tests.databases import TESTS_EACH, filled, fresh_database, program_pool, superuser
from tests.integration.conftest import PACK, Targets
from tests.logins import as_program

TENANT = "INSERT INTO tenants (tenant, salt) VALUES ('left', 'salt')"


async def first_of(postgres: str, query: str) -> str:
    """Do something in a database as its superuser while a test has it; return its DSN."""
    async with fresh_database(postgres) as dsn:
        with superuser(dsn) as conn:
            conn.execute(query.encode(), prepare=False)
    return dsn


async def is_handed_on(postgres: str, dsn: str) -> bool:
    async with fresh_database(postgres) as following:
        return following == dsn


async def test_rows_are_gone_and_the_database_goes_on(postgres: str) -> None:
    dsn = await first_of(postgres, TENANT)
    async with fresh_database(postgres) as following:
        assert following == dsn
        with superuser(dsn) as conn:
            assert filled(conn) == []


async def test_all_that_a_bench_wrote_is_gone(postgres: str, policy: OpaEngine) -> None:
    async with fresh_database(postgres) as dsn:
        async with open_bench(dsn, policy, [PACK], Targets.fresh().handlers()) as bench:
            await bench.review()
        with superuser(dsn) as conn:
            assert {"runs", "approvals", "leaf_sets", "definitions", "actors"} <= set(filled(conn))
    async with fresh_database(postgres) as following:
        assert following == dsn
        with superuser(dsn) as conn:
            assert filled(conn) == []


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TABLE mine (id int)",
        "UPDATE alembic_version SET version_num = '9999'",
        "DROP TABLE direct_messages",
        "ALTER TABLE runs ADD COLUMN extra TEXT",
        "ALTER TABLE runs ALTER COLUMN writes SET DEFAULT 1",
        "ALTER TABLE direct_messages RENAME TO elsewhere; ALTER TABLE elsewhere RENAME TO direct_messages",
        "ALTER TABLE runs DROP CONSTRAINT ck_runs_finished",
        "CREATE INDEX mine ON runs (requested_by)",
        "DROP INDEX uq_receipts_success",
        "ALTER TABLE votes DISABLE TRIGGER write_once",
        "DROP TRIGGER insert_only ON receipts",
        "ALTER TABLE votes ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY mine ON votes USING (false)",
        "ALTER FUNCTION refresh_usergroups SECURITY INVOKER",
        "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE SCHEMA mine",
        "CREATE SEQUENCE mine",
        "CREATE VIEW mine AS SELECT 1",
        "CREATE TYPE mine AS ENUM ('one')",
        "GRANT DELETE ON votes TO PUBLIC",
        "GRANT UPDATE (groups) ON actors TO PUBLIC",
        "REVOKE SELECT ON runs FROM countersign_program",
        "GRANT EXECUTE ON FUNCTION refresh_usergroups TO PUBLIC",
        "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC",
        f"{TENANT}; ANALYZE tenants",
        "TRUNCATE direct_messages",
    ],
)
async def test_whose_schema_rights_or_statistics_were_changed_is_not_handed_on(postgres: str, change: str) -> None:
    assert not await is_handed_on(postgres, await first_of(postgres, change))


@pytest.mark.parametrize(
    "change",
    [
        "ALTER DATABASE {} SET default_transaction_read_only = on",
        "ALTER ROLE test_program IN DATABASE {} SET work_mem = '1MB'",
        "ALTER DATABASE {} CONNECTION LIMIT 50",
        "REVOKE CONNECT ON DATABASE {} FROM PUBLIC",
    ],
)
async def test_whose_settings_were_changed_is_not_handed_on(postgres: str, change: str) -> None:
    async with fresh_database(postgres) as dsn:
        with superuser(dsn) as conn:
            conn.execute(change.format(conn.info.dbname).encode())
    assert not await is_handed_on(postgres, dsn)


async def test_to_which_somebody_is_still_connected_is_not_handed_on(postgres: str) -> None:
    async with fresh_database(postgres) as dsn:
        still = psycopg.connect(as_program(dsn))
    assert not await is_handed_on(postgres, dsn)
    with pytest.raises(psycopg.OperationalError):
        still.execute("SELECT 1")
    still.close()


async def test_who_leaves_at_the_last_moment_is_waited_for(postgres: str) -> None:
    async with fresh_database(postgres) as dsn:
        still = await AsyncConnection.connect(as_program(dsn))
        leaving = asyncio.get_running_loop().call_later(0.03, still.pgconn.finish)
    assert leaving.when() <= asyncio.get_running_loop().time()
    assert await is_handed_on(postgres, dsn)


async def test_whose_own_connection_was_ended_is_not_handed_on(postgres: str) -> None:
    async with fresh_database(postgres) as dsn:
        with psycopg.connect(dsn) as conn, superuser(dsn) as own:
            conn.execute("SELECT pg_terminate_backend(%s, 1000)", (own.info.backend_pid,))
    assert not await is_handed_on(postgres, dsn)


async def test_after_so_many_tests_there_is_a_new_one(postgres: str) -> None:
    found = [await first_of(postgres, "SELECT 1") for _ in range(TESTS_EACH + 1)]
    assert found[-1] != found[0]


async def test_a_row_that_came_after_the_test_fails_the_next(postgres: str) -> None:
    dsn = await first_of(postgres, "SELECT 1")
    with psycopg.connect(dsn) as conn:
        conn.execute(TENANT)
    with pytest.raises(AssertionError, match=r"something wrote into \['tenants'\] after the test"):
        await is_handed_on(postgres, dsn)
    assert not await is_handed_on(postgres, dsn)


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[Pool]:
    """Give a pool that was warmed by one who asked for the database before."""
    async with program_pool(dsn) as first:
        await query(first, "SELECT 1")
    async with program_pool(dsn) as again:
        assert again is first
        yield again


async def query(pool: Pool, text: str) -> list[tuple[object, ...]]:
    """Return what a statement gives on a connection of the pool."""
    async with pool.connection() as conn:
        cursor = await conn.execute(text, prepare=False)
        return [tuple(row.values()) for row in await cursor.fetchall()] if cursor.description else []


async def test_the_pool_goes_on_with_the_same_session(pool: Pool, dsn: str) -> None:
    session = await query(pool, "SELECT pg_backend_pid()")
    async with program_pool(dsn) as other:
        assert other is not pool  # two at the same moment share nothing
    await pool.close()
    async with program_pool(dsn) as following:
        assert await query(following, "SELECT pg_backend_pid()") != session


@pytest.mark.parametrize(
    ("change", "look", "fresh"),
    [
        ("SET work_mem = '1MB'", "SHOW work_mem", [("4MB",)]),
        ("SET default_transaction_read_only = on", "SHOW default_transaction_read_only", [("off",)]),
        ("SELECT pg_advisory_lock(1)", "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'", [(0,)]),
        ("LISTEN something", "SELECT * FROM pg_listening_channels()", []),
        ("CREATE TEMPORARY TABLE mine (id int)", "SELECT to_regclass('mine')::text", [(None,)]),
    ],
)
async def test_sessions_forget_what_was_done_in_them(
    postgres: str, change: str, look: str, fresh: list[tuple[object, ...]]
) -> None:
    async with fresh_database(postgres) as dsn, program_pool(dsn) as pool:
        await query(pool, change)
        assert await query(pool, look) != fresh
        session = await query(pool, "SELECT pg_backend_pid()")
    async with fresh_database(postgres) as dsn, program_pool(dsn) as pool:
        assert await query(pool, look) == fresh
        assert change.startswith("CREATE") or await query(pool, "SELECT pg_backend_pid()") == session


async def test_settings_that_the_program_connects_with_stay(postgres: str) -> None:
    for _ in range(2):
        async with fresh_database(postgres) as dsn, program_pool(dsn) as pool:
            assert await query(pool, "SHOW plan_cache_mode") == [("force_generic_plan",)]
            assert await query(pool, "SHOW lock_timeout") == [("10s",)]


async def test_a_superusers_session_forgets_what_was_done_in_it(postgres: str) -> None:
    dsn = await first_of(postgres, "SET work_mem = '1MB'")
    async with fresh_database(postgres) as following:
        assert following == dsn
        with superuser(dsn) as conn:
            assert conn.execute("SHOW work_mem").fetchone() == ("4MB",)
            assert conn.execute("SHOW session_replication_role").fetchone() == ("replica",)


async def test_a_pool_that_was_closed_is_not_kept(postgres: str) -> None:
    async with fresh_database(postgres) as dsn, program_pool(dsn) as pool:
        await query(pool, "SELECT 1")
        await pool.close()
    async with fresh_database(postgres) as dsn, program_pool(dsn) as following:
        assert await query(following, "SELECT 1") == [(1,)]


async def test_a_pool_that_does_not_get_all_connections_back_is_closed(postgres: str) -> None:
    async with fresh_database(postgres) as dsn:
        async with program_pool(dsn) as pool:
            held = await pool.getconn()
        assert pool.closed
        await held.close()
    assert await is_handed_on(postgres, dsn)


async def test_a_pool_with_other_connections_is_not_kept(dsn: str) -> None:
    async with program_pool(dsn, application_name="other") as pool:
        assert await query(pool, "SHOW application_name") == [("other",)]
    assert pool.closed
    async with program_pool(dsn) as following:
        assert await query(following, "SHOW application_name") != [("other",)]


async def test_a_statement_that_was_prepared_is_still_known(postgres: str) -> None:
    async with fresh_database(postgres) as dsn, program_pool(dsn) as pool, pool.connection() as conn:
        for _ in range(3):
            await conn.execute("SELECT tenant FROM tenants WHERE tenant = %s", ("one",))
    async with fresh_database(postgres) as dsn, program_pool(dsn) as pool, pool.connection() as conn:
        cursor = await conn.execute("SELECT count(*) AS n FROM pg_prepared_statements WHERE statement LIKE '%tenants%'")
        assert (await cursor.fetchone() or {})["n"] == 1
