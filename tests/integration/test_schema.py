"""The schema: declared tables, rights and steps, and invariants that the database holds.

Declared tables and rights, steps and `schema.txt` say the same; what a database has otherwise is named.

The store: the database holds the invariants itself.
"""

from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy import Table

from countersign.doctor.database import migrations as check_migrations
from countersign.settings import Settings
from runtime.model.person import Person
from runtime.store.database.migration import UnfitDatabaseError, migrate, open_engine
from runtime.store.database.schema_state import (
    NEWEST,
    VERSIONS,
    Catalog,
    catalog_of,
    declared_catalog,
    differences,
    versions,
)
from runtime.store.schema.role_names import DIRECTORY, OWNER, PROGRAM, ROLES
from runtime.store.schema.tables import INSERT_ONLY, metadata, rights_of
from tests.bench import PEOPLE, TEAM, TENANT, Bench
from tests.integration.program_stage import command, database
from tools.schema import made_by_migrations

REGENERATE = "run `python -m tools.schema` and look at what it changes"
SECRET = ("salt", "token")


def _catalog(dsn: str) -> Catalog:
    with psycopg.connect(dsn) as conn:
        return catalog_of(conn, [*metadata.tables, VERSIONS])


def _differences(dsn: str) -> list[str]:
    with psycopg.connect(dsn) as conn:
        found = differences(conn)
    return found.schema + found.rights


def _of_tables(catalog: Catalog) -> Catalog:
    """Return what SQLAlchemy can declare: tables, columns, constraints and indexes."""
    others = ("trigger ", "grant ", "function ", "callers of ", "role ")
    return {key: said for key, said in catalog.items() if key[0] != VERSIONS and not key[1].startswith(others)}


@pytest.fixture
def empty(postgres: str) -> Iterator[str]:
    with database(postgres, "schema_empty", template="template0") as dsn:
        yield dsn


def test_the_steps_make_what_the_schema_file_declares(empty: str) -> None:
    assert made_by_migrations(empty) == declared_catalog(), REGENERATE


def test_the_tables_that_are_declared_make_what_the_schema_file_declares(empty: str) -> None:
    with open_engine(empty).begin() as conn:
        metadata.create_all(conn)
    assert _of_tables(_catalog(empty)) == _of_tables(declared_catalog())


def test_the_rights_that_are_declared_are_what_the_schema_file_grants() -> None:
    granted = {key: said for key, said in declared_catalog().items() if key[1].startswith("grant ")}
    roles = [role for role in ROLES if role != OWNER]
    wanted = {(VERSIONS, f"grant to {role}"): "SELECT" for role in roles}
    for name, table in metadata.tables.items():
        for role in roles:
            wanted[name, f"grant to {role}"] = ", ".join(_privileges(table, role))
    assert granted == wanted


def _privileges(table: Table, role: str) -> list[str]:
    """Return what a role may do with a table, as PostgreSQL lists it."""
    rights, columns = rights_of(table).get(role), sorted(table.columns.keys())
    shown = [column for column in columns if column not in SECRET or role == PROGRAM]
    select = "SELECT" if shown == columns else f"SELECT ({', '.join(shown)})"
    if rights is None:
        return [select]
    updates = columns if rights.updates is None else sorted(rights.updates)
    update = [f"UPDATE ({', '.join(updates)})"] if updates else []
    return [*(["DELETE"] if rights.deletes else []), "INSERT", select, *update]


def test_the_program_writes_no_table_of_the_directory_and_the_directorys_login_no_other() -> None:
    writers = {name: set(rights_of(table)) for name, table in metadata.tables.items()}
    alone = {name for name, roles in writers.items() if roles == {DIRECTORY}}
    both = {name for name, roles in writers.items() if roles == {PROGRAM, DIRECTORY}}
    assert alone == {"actors", "directories", "slack_accounts"}
    assert both == {"log_pending", "tenant_leaves", "tenants"}, "by which a load is put on record"
    assert all(roles == {PROGRAM} for name, roles in writers.items() if name not in alone | both)


@pytest.mark.parametrize("name", sorted(metadata.tables))
def test_triggers_guard_what_the_program_has_no_right_to(name: str) -> None:
    table = metadata.tables[name]
    guards = {
        thing.removeprefix("trigger ")
        for of, thing in declared_catalog()
        if of == name and thing.startswith("trigger ")
    }
    each = rights_of(table).values()
    updates = {column for rights in each for column in rights.updates or ()}
    if any(rights.deletes for rights in each):
        assert guards == set(), "a working table has no records to guard"
        return
    assert "no_truncate" in guards
    assert ("insert_only" in guards) == (name in INSERT_ONLY) == (not updates)
    assert ("no_delete" in guards) == bool(updates)
    once = set(table.columns.keys()) - updates
    written = declared_catalog().get((name, "trigger write_once"), "BEFORE UPDATE OF  ON ")
    named = written.partition("BEFORE UPDATE OF ")[2].partition(" ON ")[0].replace('"', "").split(", ")
    assert {column for column in named if column} == (set() if name in INSERT_ONLY else once)


def test_migrating_again_changes_nothing(dsn: str) -> None:
    before = _catalog(dsn)
    migrate(dsn)
    assert _catalog(dsn) == before
    assert versions(dsn) == (NEWEST, NEWEST)
    assert _differences(dsn) == []


CHANGES = {
    "table questions is missing": "DROP TABLE questions",
    "table runs: column outcome is missing": "ALTER TABLE runs DROP COLUMN outcome",
    "table runs: column extra is not declared": "ALTER TABLE runs ADD COLUMN extra TEXT",
    "table circuit_breakers: column failures is bigint not null, and must be integer not null": (
        "ALTER TABLE circuit_breakers ALTER COLUMN failures TYPE BIGINT"
    ),
    "table circuit_breakers: column failures is integer, and must be integer not null": (
        "ALTER TABLE circuit_breakers ALTER COLUMN failures DROP NOT NULL"
    ),
    "table runs: column writes is integer not null default 1, and must be integer not null default 0": (
        "ALTER TABLE runs ALTER COLUMN writes SET DEFAULT 1"
    ),
    "table runs: check ck_runs_finished is missing": "ALTER TABLE runs DROP CONSTRAINT ck_runs_finished",
    "table circuit_breakers: check ck_circuit_breakers_failures is CHECK (failures >= 1), and must be": (
        "ALTER TABLE circuit_breakers DROP CONSTRAINT ck_circuit_breakers_failures,"
        " ADD CONSTRAINT ck_circuit_breakers_failures CHECK (failures >= 1)"
    ),
    "table circuit_breakers: check ck_circuit_breakers_failures is CHECK (failures >= 0) NOT VALID, and": (
        "ALTER TABLE circuit_breakers DROP CONSTRAINT ck_circuit_breakers_failures,"
        " ADD CONSTRAINT ck_circuit_breakers_failures CHECK (failures >= 0) NOT VALID"
    ),
    "table edits: foreign key fk_edits_run_id is missing": "ALTER TABLE edits DROP CONSTRAINT fk_edits_run_id",
    "table signing_keys: unique uq_signing_keys_tenant_key_id is missing": (
        "ALTER TABLE signing_keys DROP CONSTRAINT uq_signing_keys_tenant_key_id"
    ),
    "table receipts: index uq_receipts_success is missing": "DROP INDEX uq_receipts_success",
    "table effects: index uq_effects_claimed_key is not as declared": (
        "DROP INDEX uq_effects_claimed_key;"
        " CREATE UNIQUE INDEX uq_effects_claimed_key ON effects (tenant, idempotency_key) WHERE was_blocked"
    ),
    "table runs: index mine is not declared": "CREATE UNIQUE INDEX mine ON runs (reference)",
    "table receipts: trigger insert_only is missing": "DROP TRIGGER insert_only ON receipts",
    "table votes: trigger write_once is not as declared": "ALTER TABLE votes DISABLE TRIGGER write_once",
    "function refuse_change is SHA-256 ": (
        "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'"
    ),
    "table direct_messages is unlogged, and must be permanent": "ALTER TABLE direct_messages SET UNLOGGED",
    "table votes is permanent with row security, and must be permanent": "ALTER TABLE votes ENABLE ROW LEVEL SECURITY",
    "table runs: grant to countersign_program lacks UPDATE of status": (
        "REVOKE UPDATE (status) ON runs FROM countersign_program"
    ),
    "table votes: grant to countersign_program has DELETE, which is not declared": (
        "GRANT DELETE ON votes TO countersign_program"
    ),
    "table actors: grant to countersign_program has UPDATE of groups, which is not declared": (
        "GRANT UPDATE (groups) ON actors TO countersign_program"
    ),
    "table slack_accounts: grant to countersign_directory lacks DELETE": (
        "REVOKE DELETE ON slack_accounts FROM countersign_directory"
    ),
    "callers of refresh_usergroups is PUBLIC, countersign_directory, countersign_program, and must be": (
        "GRANT EXECUTE ON FUNCTION refresh_usergroups TO PUBLIC"
    ),
    "callers of refresh_usergroups is countersign_directory, and must be countersign_directory, countersign_program": (
        "REVOKE EXECUTE ON FUNCTION refresh_usergroups FROM countersign_program"
    ),
    "function refresh_usergroups is SHA-256 ": "ALTER FUNCTION refresh_usergroups SECURITY INVOKER",
    "function refresh_usergroups is missing": "ALTER FUNCTION refresh_usergroups RENAME TO another",
    "table runs: grant to PUBLIC has SELECT, which is not declared": "GRANT SELECT ON runs TO PUBLIC",
}


@pytest.mark.parametrize("sentence", CHANGES)
def test_what_differs_is_named_in_one_sentence(dsn: str, sentence: str) -> None:
    with psycopg.connect(dsn) as conn:
        conn.execute(CHANGES[sentence].encode())
    [said] = _differences(dsn)
    assert said.startswith(sentence)


@pytest.mark.parametrize(
    "tuning",
    [
        "CREATE INDEX mine ON runs (requested_by)",
        "ALTER TABLE runs SET (fillfactor = 80)",
        "CREATE TABLE mine (id int)",
    ],
)
def test_what_an_operator_tunes_is_no_difference(dsn: str, tuning: str) -> None:
    with psycopg.connect(dsn) as conn:
        conn.execute(tuning.encode())
    assert _differences(dsn) == []


def _stamped(dsn: str, number: str, *changes: str) -> None:
    with psycopg.connect(dsn) as conn:
        for change in changes:
            conn.execute(change.encode())
        conn.execute("UPDATE alembic_version SET version_num = %s", (number,))


OLD = ("DROP TABLE questions", "ALTER TABLE votes ALTER COLUMN reason DROP NOT NULL")
"""What a database has otherwise that was changed by hand."""
NAMED = [
    "table questions is missing",
    "table votes: column reason is text, and must be text not null",
]


async def test_migrate_names_what_differs_and_what_to_do_and_changes_nothing(dsn: str) -> None:
    _stamped(dsn, NEWEST, *OLD, "GRANT DELETE ON runs TO countersign_program")
    before = _catalog(dsn)
    finished = await command("migrate", env={"COUNTERSIGN_DATABASE_URL": dsn})
    assert (finished.code, finished.out) == (1, "")
    first, *rest = finished.err.splitlines()
    says = f"the database does not have the schema of migration {NEWEST}: undo what was changed by hand"
    assert first.startswith(f"countersign: {says}")
    assert first.endswith(". Nothing was changed.")
    assert [line.strip() for line in rest] == NAMED
    assert _catalog(dsn) == before
    assert versions(dsn)[0] == NEWEST


UNRELEASED = [
    ("0001", "ALTER TABLE runs ADD definition_digest TEXT"),
    ("0001", "ALTER TABLE runs ADD evidence_format INTEGER"),
    ("0002", "DROP TABLE questions"),
]
"""What the number and the tables of databases before the first release had otherwise."""


@pytest.mark.parametrize(("number", "change"), UNRELEASED)
async def test_a_database_from_before_the_release_is_refused_by_name_and_left_as_it_was(
    dsn: str, number: str, change: str
) -> None:
    _stamped(dsn, number, change)
    before = _catalog(dsn)
    says = "the database was made before release 0.2.0 and cannot be upgraded"
    env = {"COUNTERSIGN_DATABASE_URL": dsn}
    migrated = await command("migrate", env=env)
    assert (migrated.code, migrated.out) == (1, "")
    assert migrated.err == f"countersign: {says}: make a new one. Nothing was changed.\n"
    started = await command("cancel", "run_0", "--reason", "x", "--as", "omar", env=env)
    assert (started.code, started.err.splitlines()[-1]) == (1, f"countersign: {says}: make a new one")
    [fact] = await check_migrations(Settings(database_url=dsn))
    assert (fact.name, fact.ok, fact.detail, fact.remedy) == ("migrations", False, says, "Make a new one.")
    assert _catalog(dsn) == before


def test_a_database_with_nothing_in_common_is_named_in_few_lines(dsn: str) -> None:
    with psycopg.connect(dsn) as conn:
        for name in metadata.tables:
            conn.execute(f"DROP TABLE {name} CASCADE".encode())
    with pytest.raises(UnfitDatabaseError) as caught:
        migrate(dsn)
    lines = str(caught.value).splitlines()
    assert len(lines) == 22
    assert lines[-1].strip() == f"and {len(metadata.tables) + 6 - 20} more"


async def test_doctor_names_what_differs_and_what_to_do(dsn: str) -> None:
    _stamped(dsn, NEWEST, *OLD)
    facts = await check_migrations(Settings(database_url=dsn))
    assert [(fact.name, fact.ok, fact.detail) for fact in facts] == [
        ("migrations", True, f"at {NEWEST}, newest {NEWEST}"),
        *(("schema", False, sentence) for sentence in NAMED),
    ]
    assert all(fact.remedy.startswith("Undo what was changed") for fact in facts if not fact.ok)


async def test_doctor_has_migrate_run_where_rights_differ(dsn: str) -> None:
    with psycopg.connect(dsn) as conn:
        conn.execute("GRANT DELETE ON votes TO countersign_program")
    _, fact = await check_migrations(Settings(database_url=dsn))
    assert (fact.ok, fact.remedy) == (False, "Run `countersign migrate`.")
    migrate(dsn)
    _, fact = await check_migrations(Settings(database_url=dsn))
    assert (fact.ok, fact.detail) == (True, "as declared")


async def test_a_start_says_what_to_do_about_a_database_of_a_newer_program(dsn: str) -> None:
    _stamped(dsn, "9999")
    finished = await command("cancel", "run_0", "--reason", "x", "--as", "omar", env={"COUNTERSIGN_DATABASE_URL": dsn})
    remedy = "update this program, or point it at another database: a newer program migrated this one\n"
    assert finished.code == 1
    assert finished.err.endswith(f"this program needs {NEWEST}: {remedy}")


def test_a_grant_to_everybody_that_migrating_leaves_is_warned_of(dsn: str, caplog: pytest.LogCaptureFixture) -> None:
    with psycopg.connect(dsn) as conn:
        conn.execute("GRANT SELECT ON runs TO PUBLIC")
    migrate(dsn)
    assert "table runs: grant to PUBLIC has SELECT, which is not declared" in caplog.text


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
        (("INSERT INTO runs (run_id, tenant, trigger_type, trigger_ref, trigger, trigger_digest, definition_name,"
         " definition_version, status, requested_by, requester_kind, submitted_by, requester_accounts, request_id,"
         " salt, audit_hash, created_at, updated_at)"
         " SELECT 'run_2', tenant, trigger_type, trigger_ref, trigger, trigger_digest, definition_name,"
         " definition_version, status, requested_by, requester_kind, submitted_by, requester_accounts, request_id,"
         " salt, audit_hash, created_at, updated_at FROM runs"), "uq_runs_tenant_trigger_type_trigger_ref"),
    ],
)  # fmt: skip
async def test_the_database_refuses_what_must_not_be(bench: Bench, statement: str, constraint: str) -> None:
    await bench.start("bench.file", {"company": "ACME", "text": "r"})
    await bench.settle()
    with pytest.raises(psycopg.IntegrityError, match=constraint):
        await bench.meddle(statement)


async def test_people_are_known_by_the_team_of_each_account_and_an_agents_account_is_nobodys(bench: Bench) -> None:
    for team, user, actor in (("T0SISTER", "UANN", "ben"), (TEAM, "UPORTAL", "portal-bot")):
        await bench.meddle("INSERT INTO slack_accounts VALUES (%s, %s, %s, %s)", TENANT, team, user, actor)
    ann, ben = (Person(one, one.title(), tuple(PEOPLE[one])) for one in ("ann", "ben"))
    assert await bench.desk.people("UANN") == {TEAM: [ann], "T0SISTER": [ben]}
    assert await bench.desk.people("UPORTAL") == {TEAM: []}
    assert await bench.desk.people("UNOBODY") == {}
