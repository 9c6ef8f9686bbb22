"""Who may do what in the database, tried with a real login of each role: the program adds records and rewrites none."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg import errors
from psycopg.rows import dict_row

from countersign.doctor.database import database as check_database
from countersign.embedded.opa import OpaChild
from countersign.settings import Settings
from policy.client import OpaEngine
from runtime.clock import utc_now
from runtime.model.votes import CardAct
from runtime.store.database.migration import migrate
from runtime.store.schema import role_names
from runtime.store.schema.tables import INSERT_ONLY, metadata, rights_of
from tests.bench import Bench, open_bench
from tests.integration.acts_stage import say
from tests.integration.conftest import PACK, Targets
from tests.integration.program_stage import database
from tests.logins import DIRECTORY, PROGRAM, as_directory, as_program
from tests.patience import MINUTE

RECORDS = {
    *INSERT_ONLY,
    *("runs", "steps", "runbook_versions", "delegations", "slack_installations", "slack_links", "passkeys"),
    *("passkey_links", "waits", "approvals", "questions", "votes", "effects", "notifications", "evidence_bundles"),
    *("evidence_held", "evidence_holds", "tenants", "directories", "entities", "signing_keys", "log_checkpoints"),
    *("log_stamps", "log_heads", "log_tiles", "policy_shadows", "budget_totals", "budget_uses", "console_sessions"),
    *("run_lists",),
}
WORKING = set(metadata.tables) - RECORDS
LOGINS = {"owner": "test_owner", "reader": "test_reader"}
WRITTEN_ONCE = [
    ("approvals", "digest = 'x'"),
    ("approvals", "requirement = '{}'"),
    ("approvals", "requested_at = now()"),
    ("approvals", "shown = '{}'"),
    ("approvals", "expires_at = now()"),
    ("budget_totals", "key = 'x'"),
    ("console_sessions", "actor_id = 'x'"),
    ("run_lists", "run_ids = '[]'"),
    ("budget_uses", "amount = 0"),
    ("votes", "verdict = 'approve'"),
    ("votes", "person = 'x'"),
    ("votes", "at = now()"),
    ("evidence_bundles", "sealed_seq = 0"),
    ("evidence_bundles", "retain_days = 1"),
    ("evidence_holds", "reason = 'x'"),
    ("delegations", "groups = '[]'"),
    ("delegations", "ends_at = now()"),
    ("slack_installations", "tenant = 'x'"),
    ("slack_links", "expires_at = now()"),
    ("passkeys", "public_key = 'x'"),
    ("passkeys", "cose_key = ''"),
    ("passkeys", "person = 'x'"),
    ("passkey_links", "nonce = 'x'"),
    ("passkey_links", "expires_at = now()"),
    ("runbook_versions", "trigger_type = 'x'"),
    ("runs", "requested_by = 'x'"),
    ("runs", "trigger_digest = 'x'"),
    ("runs", "definition_name = 'x'"),
    ("runs", "created_at = now()"),
    ("steps", "verb = 'x'"),
    ("waits", "token = 'x'"),
    ("effects", "target = 'x'"),
    ("entities", "entity_id = 'x'"),
]
FORGOTTEN_ONCE = [
    ("runs", "trigger = '{}'", "forgotten = true"),
    ("effects", "fields = '{}'", "forgotten = '[]'"),
    ("notifications", "payload = '{}'", "forgotten = true"),
]
SET_ONCE = [
    ("approvals", "decided_at = now()"),
    ("approvals", "consumed_at = now()"),
    ("evidence_bundles", "sha256 = repeat('0', 64)"),
    ("evidence_bundles", "location = 'elsewhere'"),
    ("evidence_bundles", "status = 'sealing'"),
    ("evidence_bundles", "file_number = 2"),
    ("evidence_holds", "lifted_by = 'x'"),
    ("delegations", "ended_at = now()"),
    ("slack_installations", "removed_why = 'tokens_revoked'"),
    ("slack_links", "used_at = now()"),
    ("passkeys", "revoked_at = now()"),
    ("passkey_links", "opened_at = now()"),
    ("votes", "withdrawn_at = now()"),
    ("runs", "finished_at = now()"),
    ("waits", "resolved_at = now()"),
    ("notifications", "outcome = '{}'"),
    ("budget_uses", "status = 'released'"),
]


def _as(dsn: str, login: str) -> str:
    return dsn.replace("//postgres:@", f"//{login}:@", 1)


@dataclass
class House:
    """A database in which a run was approved, done and sealed, and a login of each role."""

    dsn: str

    def tried(self, login: str, *statements: str) -> list[Any]:
        """Carry out statements as a login, and take them back; return the rows of the last."""
        with psycopg.connect(_as(self.dsn, login), row_factory=dict_row) as conn, conn.transaction(force_rollback=True):
            for statement in statements:
                cursor = conn.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


@pytest.fixture(scope="module")
async def house(postgres: str, opa: OpaChild) -> Any:
    with database(postgres, "roles") as dsn:
        with psycopg.connect(dsn, autocommit=True) as conn:
            known = {row[0] for row in conn.execute("SELECT rolname FROM pg_roles")}
            for role, login in ((role, login) for role, login in LOGINS.items() if login not in known):
                conn.execute(f"CREATE ROLE {login} LOGIN IN ROLE countersign_{role}".encode())
        targets = Targets.fresh()
        async with (
            OpaEngine(opa.url, timeout=MINUTE) as policy,
            open_bench(dsn, policy, [PACK], targets.handlers()) as bench,
        ):
            await _a_finished_run(bench)
        yield House(dsn)


async def _a_finished_run(bench: Bench) -> None:
    await bench.start("bench.file", {"company": "ACME", "text": "r"})
    await bench.settle()
    approval = await bench.approval_id()
    assert (await bench.click("cat", approval)).counted
    assert (await say(bench, "cat", approval, CardAct.WITHDRAW, "read it again")).counted
    for person in ("ann", "ben"):
        assert (await bench.click(person, approval)).counted
    await bench.settle()
    assert (await bench.rows("SELECT status FROM runs"))[0]["status"] == "succeeded"
    await bench.rows(
        "INSERT INTO evidence_bundles"
        " (run_id, key_id, sealed_seq, created_at, next_try_at, stored_at, status, sha256, location)"
        " SELECT run_id, 'key', 1, now(), now(), now(), 'stored', repeat('a', 64), 'here' FROM runs RETURNING 1"
    )
    await bench.rows(
        "INSERT INTO evidence_holds SELECT 'hold_1', tenant, 'run', run_id, 'why', 'omar', now(), 'over', 'omar', now()"
        " FROM runs RETURNING 1"
    )
    await bench.rows(
        "INSERT INTO delegations SELECT 'dlg_1', tenant, 'ann', 'omar', '[]', now(), now() + interval '1 day', 'ann',"
        " 'away', now(), now(), 'ann', 'back' FROM runs RETURNING 1"
    )
    await bench.rows(
        "INSERT INTO slack_links SELECT 'lnk_1', tenant, 's', 'omar', 'why', '{}', now(),"
        " now() + interval '1 day', now() FROM runs RETURNING 1"
    )
    await bench.rows(
        "INSERT INTO slack_installations SELECT 'ins_1', tenant, 'T1', '', 'Acme', 'A1', 'U1', 'B1', '[]', 'lnk_1',"
        " 'u', now(), now(), 'app_uninstalled' FROM runs RETURNING 1"
    )
    await bench.rows(
        "INSERT INTO passkeys SELECT tenant, 'c1', 'ann', 'k', '', -7, 'o', 0, 'omar', 'why', now(), now(), 'omar', 'x'"
        " FROM runs RETURNING 1"
    )
    await bench.rows(
        "INSERT INTO passkey_links SELECT 'l1', tenant, 'ann', 'register', 'n', now(), now(), NULL, '', 'why', '', '',"
        " '', 'omar', '{}', now() FROM runs RETURNING 1"
    )
    await _what_the_console_keeps(bench)
    await bench.rows(
        "INSERT INTO budget_totals SELECT tenant, 'b', 'agent', 'a', '2026', '', 1, 0 FROM runs RETURNING 1",
    )
    await bench.rows(
        "INSERT INTO budget_uses SELECT 'd1', effect_id, tenant, 'b', 'agent', 'a', '2026', '', 0, 'used', true, now()"
        " FROM effects LIMIT 1 RETURNING 1"
    )
    await bench.rows("INSERT INTO entities SELECT tenant, 'thing', 'a', 1, false, '{}' FROM runs RETURNING 1")
    await bench.rows("INSERT INTO entity_changes SELECT tenant, 'k1', 'thing', 'a', 1, 'd', '{}' FROM runs RETURNING 1")
    await bench.rows(
        "INSERT INTO edits SELECT a.approval_id, a.run_id, a.effect_id, 1, 'ann', 'Ann', '[]', 'why', 'T', 'U',"
        " a.digest, 'x', '[]', v.notification_id, now() FROM approvals a JOIN votes v USING (approval_id)"
        " LIMIT 1 RETURNING 1"
    )
    await bench.rows("INSERT INTO evidence_held (run_id, next_try_at) SELECT run_id, now() FROM runs RETURNING 1")


async def _what_the_console_keeps(bench: Bench) -> None:
    await bench.rows(
        "INSERT INTO console_sessions SELECT 's', tenant, 'd', 'ann', 'l', now(), now(), NULL, NULL, NULL, NULL"
        " FROM runs RETURNING 1"
    )
    await bench.rows(
        "INSERT INTO run_lists SELECT 'l', tenant, 'n', '{}', '[]', 'omar', now(), NULL, NULL FROM runs RETURNING 1"
    )


@pytest.mark.parametrize("table", sorted(RECORDS))
def test_no_record_is_deleted_or_emptied_by_anybody(house: House, table: str) -> None:
    for order in (f"DELETE FROM {table}", f"TRUNCATE {table} CASCADE"):
        with pytest.raises(errors.InsufficientPrivilege):
            house.tried(PROGRAM, order)
    for login in (LOGINS["owner"], "postgres"):
        with pytest.raises(errors.RaiseException):
            house.tried(login, f"TRUNCATE {table} CASCADE")
        if house.tried(login, f"SELECT 1 FROM {table}"):
            with pytest.raises(errors.RaiseException):
                house.tried(login, f"DELETE FROM {table}")


@pytest.mark.parametrize(("table", "change"), WRITTEN_ONCE)
def test_what_is_told_at_the_beginning_never_changes(house: House, table: str, change: str) -> None:
    assert house.tried(PROGRAM, f"SELECT 1 FROM {table}")
    with pytest.raises(errors.InsufficientPrivilege):
        house.tried(PROGRAM, f"UPDATE {table} SET {change}")
    for login in (LOGINS["owner"], "postgres"):
        with pytest.raises(errors.RaiseException, match="written once"):
            house.tried(login, f"UPDATE {table} SET {change}")


@pytest.mark.parametrize(
    ("table", "later"), [("votes", {"withdrawn_at"}), ("passkey_links", {"opened_at"}), ("questions", {"answer"})]
)
def test_every_column_but_what_is_told_later_is_written_once(house: House, table: str, later: set[str]) -> None:
    guarded = house.tried(
        "postgres",
        "SELECT a.attname AS name FROM pg_trigger t JOIN pg_attribute a ON a.attrelid = t.tgrelid"
        f" AND a.attnum = ANY(t.tgattr) WHERE t.tgrelid = '{table}'::regclass AND t.tgname = 'write_once'",
    )
    once = {column.name for column in metadata.tables[table].columns} - later
    assert {row["name"] for row in guarded} == once
    for column in once:
        with pytest.raises(errors.InsufficientPrivilege):
            house.tried(PROGRAM, f"UPDATE {table} SET {column} = NULL")


@pytest.mark.parametrize(("table", "change", "mark"), FORGOTTEN_ONCE)
def test_what_the_work_was_done_with_is_forgotten_once_and_never_rewritten(
    house: House, table: str, change: str, mark: str
) -> None:
    assert house.tried(PROGRAM, f"UPDATE {table} SET {change}, {mark} RETURNING 1"), "the run is over"
    for login in (PROGRAM, LOGINS["owner"], "postgres"):
        for orders in ([f"UPDATE {table} SET {change}"], [f"UPDATE {table} SET {change}, {mark}"] * 2):
            with pytest.raises(errors.RaiseException, match="written once"):
                house.tried(login, *orders)


async def test_nothing_is_forgotten_of_what_is_still_under_way(bench: Bench) -> None:
    await bench.start("bench.file", {"company": "ACME", "text": "r"})
    await bench.settle()
    for table, change, mark in (FORGOTTEN_ONCE[0], FORGOTTEN_ONCE[1]):
        with pytest.raises(errors.RaiseException, match="written once"):
            await bench.rows(f"UPDATE {table} SET {change}, {mark} RETURNING 1")


@pytest.mark.parametrize(("table", "change"), SET_ONCE)
def test_what_is_told_later_is_told_once(house: House, table: str, change: str) -> None:
    column = change.split(maxsplit=1)[0]
    assert house.tried(PROGRAM, f"SELECT 1 FROM {table} WHERE {column} IS NOT NULL")
    for login in (PROGRAM, LOGINS["owner"]):
        with pytest.raises(errors.RaiseException, match="written once"):
            house.tried(login, f"UPDATE {table} SET {change} WHERE {column} IS NOT NULL")


def test_the_program_has_no_way_round(house: House) -> None:
    for order in (
        "ALTER TABLE runs DISABLE TRIGGER ALL",
        "DROP TRIGGER write_once ON runs",
        "SET session_replication_role = replica",
        "CREATE TABLE mine (id int)",
        "ALTER TABLE votes ADD COLUMN x int",
        "UPDATE votes SET reason = 'other'",
        "UPDATE alembic_version SET version_num = '9999'",
        "SET ROLE countersign_owner",
    ):
        with pytest.raises(errors.InsufficientPrivilege):
            house.tried(PROGRAM, order)


def test_what_is_no_record_may_go(house: House) -> None:
    assert {"actors", "slack_accounts"} <= WORKING
    for table in WORKING:
        by_program = role_names.PROGRAM in rights_of(metadata.tables[table])
        house.tried(PROGRAM if by_program else DIRECTORY, f"DELETE FROM {table}")


SECRET = ("salt", "token")


def test_the_reader_looks_and_does_nothing_else(house: House) -> None:
    for table in metadata.tables:
        columns = [name for name in metadata.tables[table].columns.keys() if name not in SECRET]  # noqa: SIM118 - SQLAlchemy's
        house.tried(LOGINS["reader"], f"SELECT {', '.join(columns)} FROM {table}")
        for order in (f"INSERT INTO {table} DEFAULT VALUES", f"DELETE FROM {table}", f"TRUNCATE {table}"):
            with pytest.raises(errors.InsufficientPrivilege):
                house.tried(LOGINS["reader"], order)
    for column, table in (("salt", "runs"), ("salt", "tenants"), ("token", "waits")):
        with pytest.raises(errors.InsufficientPrivilege):
            house.tried(LOGINS["reader"], f"SELECT {column} FROM {table}")


def test_a_login_of_the_owner_migrates_and_what_it_makes_is_the_owners(house: House) -> None:
    migrate(_as(house.dsn, LOGINS["owner"]))
    owners = house.tried(
        "postgres", "SELECT DISTINCT tableowner AS owner FROM pg_tables WHERE schemaname = current_schema()"
    )
    assert owners == [{"owner": "countersign_owner"}]


async def test_the_doctor_names_a_login_with_rights_that_it_does_not_need(house: House) -> None:
    async def said(dsn: str) -> tuple[bool, str]:
        facts = await check_database(Settings(database_url=dsn), utc_now)
        return next((fact.ok, fact.detail) for fact in facts if fact.name == "database role")

    assert await said(house.dsn) == (False, "postgres, a superuser")
    assert await said(_as(house.dsn, LOGINS["owner"])) == (False, "test_owner, the owner of the tables")
    assert await said(as_program(house.dsn)) == (True, f"{PROGRAM}, without rights that the program does not need")
    writes = "which may write actors, directories, slack_accounts"
    assert await said(as_directory(house.dsn)) == (False, f"{DIRECTORY}, {writes}")


@pytest.fixture
def managed(postgres: str) -> Iterator[str]:
    """An empty database whose owner may not make roles, on a server where nobody has made ours."""
    with psycopg.connect(postgres, autocommit=True) as conn:
        conn.execute("CREATE ROLE managed LOGIN")
        for role in ("owner", "program", "directory", "reader"):
            conn.execute(f"ALTER ROLE countersign_{role} RENAME TO away_{role}".encode())
        try:
            with database(postgres, "managed", template="template0") as dsn:
                conn.execute("ALTER DATABASE managed OWNER TO managed")
                yield _as(dsn, "managed")
        finally:
            for role in ("owner", "program", "directory", "reader"):
                conn.execute(f"DROP ROLE IF EXISTS countersign_{role}".encode())
                conn.execute(f"ALTER ROLE away_{role} RENAME TO countersign_{role}".encode())
            conn.execute("DROP ROLE managed")


def test_where_roles_may_not_be_made_it_is_said_and_rights_follow_when_they_are_there(
    managed: str, postgres: str, caplog: pytest.LogCaptureFixture
) -> None:
    migrate(managed)
    assert "managed may not make roles" in caplog.text
    assert "CREATE ROLE countersign_program NOLOGIN" in caplog.text
    with psycopg.connect(postgres, autocommit=True) as conn:
        for order in ("owner NOLOGIN ROLE managed", "program NOLOGIN", "directory NOLOGIN", "reader NOLOGIN"):
            conn.execute(f"CREATE ROLE countersign_{order}".encode())
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        migrate(managed)
    assert caplog.text == ""
    assert _may_update(managed) == (True, False)


def test_a_login_that_may_make_roles_makes_them_and_grants_their_rights(
    managed: str, postgres: str, caplog: pytest.LogCaptureFixture
) -> None:
    with psycopg.connect(postgres, autocommit=True) as conn:
        conn.execute("ALTER ROLE managed CREATEROLE")
    migrate(managed)
    migrate(managed)
    assert caplog.text == ""
    assert _may_update(managed) == (True, False)


def _may_update(dsn: str) -> Any:
    """Return whether the program may change a run's status, and who asked for it."""
    may = "has_column_privilege('countersign_program', 'runs', '{}', 'UPDATE')"
    with psycopg.connect(dsn) as conn:
        return conn.execute(f"SELECT {may.format('status')}, {may.format('requested_by')}".encode()).fetchone()


def test_whoever_does_not_own_the_tables_leaves_rights_as_they_are(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    migrate(as_program(house.dsn))
    assert f"{PROGRAM} does not own the tables, so rights stay as they are" in caplog.text
