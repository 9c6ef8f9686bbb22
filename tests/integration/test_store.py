"""The store: migrating from zero gives the declared tables, and the database holds the invariants itself."""

import psycopg
import pytest

from runtime.store.database.alchemy import open_engine
from runtime.store.database.migrate import migrate
from runtime.store.database.versions import versions
from runtime.store.tables import INSERT_ONLY, metadata
from tests.bench import Bench

CATALOG = """
SELECT c.table_name, c.column_name, c.data_type, c.is_nullable, c.column_default
  FROM information_schema.columns c WHERE c.table_schema = 'public' AND c.table_name <> 'alembic_version'
UNION ALL SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), '', '' FROM pg_constraint
 WHERE connamespace = 'public'::regnamespace AND conrelid <> 'alembic_version'::regclass
UNION ALL SELECT tablename, indexname, indexdef, '', '' FROM pg_indexes
 WHERE schemaname = 'public' AND tablename <> 'alembic_version'
ORDER BY 1, 2, 3
"""


def _catalog(dsn: str) -> list[tuple[str, ...]]:
    with psycopg.connect(dsn) as conn:
        return conn.execute(CATALOG).fetchall()


def test_migrating_from_zero_gives_the_declared_tables(dsn: str) -> None:
    migrated = _catalog(dsn)
    with open_engine(dsn).begin() as conn:
        metadata.drop_all(conn)
        metadata.create_all(conn)
    assert _catalog(dsn) == migrated


def test_migrating_again_changes_nothing(dsn: str) -> None:
    before = _catalog(dsn)
    migrate(dsn)
    assert _catalog(dsn) == before
    current, newest = versions(dsn)
    assert current == newest


def test_every_table_of_proof_is_insert_only(dsn: str) -> None:
    with psycopg.connect(dsn) as conn:
        rows = conn.execute("SELECT tgrelid::regclass::text FROM pg_trigger WHERE tgname = 'insert_only'").fetchall()
    assert {row[0] for row in rows} == set(INSERT_ONLY)


@pytest.mark.parametrize(
    ("statement", "constraint"),
    [
        ("UPDATE runs SET status = 'perhaps'", "ck_runs_status"),
        ("UPDATE runs SET status = 'succeeded', finished_at = NULL", "ck_runs_finished"),
        ("UPDATE effects SET status = 'leased', lease_owner = NULL", "ck_effects_lease"),
        (("INSERT INTO waits (wait_id, run_id, step, type, correlation_key, token, deadline, escalate_at, status,"
         " approval_id, created_at, resolved_at, correlate, moments)"
         " SELECT 'w2', run_id, step, type, 'other', token, deadline, escalate_at,"
         " status, approval_id, created_at, resolved_at, correlate, moments FROM waits"), "uq_waits_approval"),
        (("INSERT INTO waits (wait_id, run_id, step, type, correlation_key, token, deadline, escalate_at, status,"
         " approval_id, created_at, resolved_at, correlate, moments)"
         " SELECT 'w' || n, run_id, step, 'external', 'key' || n, token, deadline, escalate_at,"
         " status, approval_id, created_at, resolved_at, correlate, moments FROM waits, generate_series(1, 2) n"),
         "uq_waits_step"),
        ("UPDATE effects SET claimed = true, idempotency_key = 'same'", "uq_effects_claimed_key"),
        (("INSERT INTO runs SELECT 'run_2', tenant, trigger_type, trigger_ref, trigger, definition_name,"
         " definition_version, status, version, requested_by, requester_kind, submitted_by,"
         " requester_accounts, request_id, salt, writes, audit_seq, audit_hash, error, sealed, created_at,"
         " updated_at, finished_at"
         " FROM runs"), "uq_runs_tenant_trigger_type_trigger_ref"),
    ],
)  # fmt: skip
async def test_the_database_refuses_what_must_not_be(bench: Bench, statement: str, constraint: str) -> None:
    await bench.start("bench.file", {"company": "ACME", "text": "r"})
    await bench.settle()
    with pytest.raises(psycopg.IntegrityError, match=constraint):
        await bench.meddle(statement)


def test_the_insert_only_tables_are_declared() -> None:
    assert set(INSERT_ONLY) <= set(metadata.tables)
