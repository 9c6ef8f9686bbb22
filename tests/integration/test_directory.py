"""The directory in the database: its role, its versions, and Slack's user groups.

The program reads the directory and writes none of it; who is in Slack's user groups it says through one function.

The directory has a version: what a newer one took away, an older file does not give back.
"""

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import connect, errors
from psycopg.rows import dict_row

from countersign.directory import DirectoryError
from countersign.doctor.database import database as check_database
from countersign.doctor.database import file as check_file
from countersign.embedded.opa import OpaChild
from countersign.loaded_files import load_people
from countersign.settings import Settings
from receipts.canonical import digest
from runtime.clock import utc_now
from runtime.model.person import Sources
from runtime.store.audit import tenant_rows
from runtime.store.database.migration import make_login
from runtime.store.directory import Edition, replace_directory
from runtime.store.schema.role_names import DIRECTORY
from runtime.store.schema.tables import metadata, rights_of
from tests.bench import TEAM, TENANT, Bench
from tests.integration.program_stage import command, environment, program, rows, serving, settings_of
from tests.logins import as_directory, as_program, loading

SOURCES = Sources({"desk": "S0DESK", "board": "S0BOARD"}, {"ben@acme.example": "ben"})
GROUPS = {"ann": ["compliance", "operators"], "ben": [], "omar": ["operators"]}
ACCOUNTS = [(TEAM, "UANN", "ann"), (TEAM, "UOMAR", "omar")]
REFRESH = "SELECT refresh_usergroups(%s, %s, %s, now())"


@pytest.fixture
async def people(bench: Bench) -> Bench:
    """A directory in which Slack fills two groups, and an address tells whose account is Ben's."""
    actors = [{"id": one, "kind": "person", "name": one, "groups": own, "grants": {}} for one, own in GROUPS.items()]
    async with loading(bench.superuser) as conn:
        edition = Edition(2, "2" * 64)
        await replace_directory(conn, TENANT, edition, actors, ACCOUNTS, bench.clock(), sources=SOURCES)
    return bench


async def _refresh(bench: Bench, heard: dict[str, list[str]], *told: tuple[str, str]) -> None:
    """Say as the program who is in which group, and which accounts of the team are whose."""
    accounts = [{"team": TEAM, "account": user, "actor_id": person} for user, person in told]
    await bench.rows(REFRESH, TENANT, json.dumps(heard), json.dumps(accounts))


async def _groups(bench: Bench) -> dict[str, list[str]]:
    return {row["actor_id"]: row["groups"] for row in await bench.rows("SELECT actor_id, groups FROM actors")}


async def _accounts(bench: Bench) -> list[tuple[Any, ...]]:
    found = await bench.rows("SELECT account, actor_id, linked FROM slack_accounts ORDER BY account, actor_id")
    return [tuple(row.values()) for row in found]


@pytest.mark.parametrize(
    "order",
    [
        "INSERT INTO actors SELECT tenant, 'eve', kind, name, groups, grants, notices FROM actors LIMIT 1",
        "UPDATE actors SET groups = '[\"compliance\"]'",
        "UPDATE actors SET grants = '{}' WHERE false",
        "DELETE FROM actors",
        "TRUNCATE actors CASCADE",
        "INSERT INTO slack_accounts SELECT tenant, team, 'UEVE', actor_id, linked FROM slack_accounts LIMIT 1",
        "UPDATE slack_accounts SET actor_id = 'eve'",
        "UPDATE slack_accounts SET account = 'UEVE' WHERE false",
        "DELETE FROM slack_accounts",
        "INSERT INTO directories (tenant, version, digest, loaded_at) VALUES ('other', 1, '', now())",
        "UPDATE directories SET version = 9",
        "UPDATE directories SET usergroups = '{}'",
        f"SET ROLE {DIRECTORY}",
    ],
)
def test_the_program_writes_none_of_the_directory(dsn: str, order: str) -> None:
    with psycopg.connect(as_program(dsn)) as conn, pytest.raises(errors.InsufficientPrivilege):
        conn.execute(order.encode())


FREE = {"actors", "slack_accounts"}
"""Tables of which who loads the directory writes everything."""


@pytest.mark.parametrize("name", sorted(metadata.tables))
def test_who_loads_the_directory_writes_nothing_else(dsn: str, name: str) -> None:
    rights = rights_of(metadata.tables[name]).get(DIRECTORY)
    column = metadata.tables[name].columns.keys()[0]
    orders = {
        f"INSERT INTO {name} DEFAULT VALUES": rights is not None,
        f'UPDATE {name} SET "{column}" = NULL': rights is not None
        and (rights.updates is None or column in rights.updates),
        f"DELETE FROM {name}": rights is not None and rights.deletes,
    }
    refused = [order for order, may in orders.items() if not may]
    for order in refused:
        with psycopg.connect(as_directory(dsn)) as conn, pytest.raises(errors.InsufficientPrivilege):
            conn.execute(order.encode())
    assert bool(refused) == (name not in FREE)


async def test_the_program_cannot_put_an_officer_into_a_group_that_slack_does_not_fill(people: Bench) -> None:
    for group in ("operators", "compliance", "nonesuch"):
        with pytest.raises(errors.InsufficientPrivilege, match=f"no Slack user group fills the group {group}"):
            await _refresh(people, {"desk": ["ben"], group: ["ben"]})
    assert await _groups(people) == GROUPS


async def test_the_program_cannot_fill_a_group_of_a_tenant_whose_directory_is_not_loaded(people: Bench) -> None:
    with pytest.raises(errors.InsufficientPrivilege, match="no Slack user group fills the group desk"):
        await people.rows(REFRESH, "other", json.dumps({"desk": ["ben"]}), "[]")


async def test_the_program_cannot_link_an_account_to_somebody_whom_no_address_tells(people: Bench) -> None:
    with pytest.raises(errors.InsufficientPrivilege, match="no address tells the account of ann"):
        await _refresh(people, {"desk": ["ann"]}, ("UEVE", "ann"))
    assert await _accounts(people) == [("UANN", "ann", False), ("UOMAR", "omar", False)]


async def test_an_account_that_the_directory_lists_stays_as_it_lists_it(people: Bench) -> None:
    await _refresh(people, {}, ("UANN", "ben"), ("UBEN", "ben"))
    linked = ("UBEN", "ben", True)
    assert await _accounts(people) == [("UANN", "ann", False), linked, ("UOMAR", "omar", False)]
    await _refresh(people, {})
    assert linked not in await _accounts(people)


async def test_groups_of_their_own_stay_and_those_of_user_groups_follow_in_the_order_of_the_file(people: Bench) -> None:
    await _refresh(people, {"board": ["ann", "ben"], "desk": ["ann"]})
    assert await _groups(people) == {**GROUPS, "ann": ["compliance", "operators", "desk", "board"], "ben": ["board"]}
    await _refresh(people, {"board": ["ann"]})
    assert await _groups(people) == {**GROUPS, "ann": ["compliance", "operators", "board"]}


async def test_an_agent_is_in_no_user_group(people: Bench) -> None:
    await people.meddle("UPDATE actors SET kind = 'agent' WHERE actor_id = 'ben'")
    await _refresh(people, {"desk": ["ben"]})
    assert await _groups(people) == GROUPS


async def test_a_table_that_the_caller_made_is_not_taken_for_the_directory(people: Bench) -> None:
    forged = json.dumps({"groups": {"operators": "S0"}, "emails": {"a": "ann"}})
    with psycopg.connect(as_program(people.superuser)) as conn:
        conn.execute("CREATE TEMP TABLE directories (tenant TEXT, usergroups JSON, refreshed_at TIMESTAMPTZ)")
        conn.execute("INSERT INTO directories VALUES (%s, %s)", (TENANT, forged))
        conn.execute("GRANT ALL ON directories TO PUBLIC")
        with pytest.raises(errors.InsufficientPrivilege, match="no Slack user group fills the group operators"):
            conn.execute(REFRESH, (TENANT, json.dumps({"operators": ["ben"]}), "[]"))
    assert await _groups(people) == GROUPS


def test_a_login_that_is_there_already_is_given_the_role(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("CREATE ROLE kept LOGIN")
        for _ in range(2):
            login = make_login(dsn, "kept", DIRECTORY)
        with psycopg.connect(login) as mine:
            mine.execute("UPDATE actors SET groups = '[]'")
        conn.execute("DROP ROLE kept")


def test_nobody_calls_the_function_unless_granted(dsn: str) -> None:
    with psycopg.connect(dsn) as conn:
        conn.execute("CREATE ROLE passer_by")
        conn.execute("SET ROLE passer_by")
        with pytest.raises(errors.InsufficientPrivilege, match="permission denied for function"):
            conn.execute(REFRESH, (TENANT, "{}", "[]"))


@pytest.mark.parametrize(
    ("order", "detail"),
    [
        ("GRANT UPDATE (groups) ON actors TO {}", "which may write actors"),
        ("GRANT DELETE ON slack_accounts TO PUBLIC", "which may write slack_accounts"),
        ("GRANT countersign_directory TO {} WITH INHERIT FALSE", "which may write actors, directories, slack_accounts"),
        ("REVOKE SELECT ON actors FROM countersign_program", "which lacks SELECT on actors"),
        (
            "REVOKE EXECUTE ON FUNCTION refresh_usergroups FROM countersign_program",
            "which lacks EXECUTE on refresh_usergroups",
        ),
    ],
)
async def test_the_doctor_names_a_grant_on_the_directory_that_is_missing_or_too_wide(
    dsn: str, order: str, detail: str
) -> None:
    with psycopg.connect(dsn) as conn:
        conn.execute("CREATE ROLE widened LOGIN IN ROLE countersign_program")
        conn.execute(order.format("widened").encode())
    try:
        facts = await check_database(Settings(database_url=dsn.replace("//postgres:@", "//widened:@", 1)), utc_now)
        found = next((fact.ok, fact.detail) for fact in facts if fact.name == "database role")
        assert found == (False, f"widened, {detail}")
    finally:
        with psycopg.connect(dsn) as conn:
            conn.execute("DROP OWNED BY widened; DROP ROLE widened")


class Files:
    """Directory files, of an officer who is in a group or no longer."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, version: int | None, groups: str) -> Path:
        """Write a file; without a version if it is None."""
        path = self._folder / f"{version}-{groups or 'nothing'}.yaml"
        line = "" if version is None else f"version: {version}\n"
        path.write_text(f"{line}people:\n- {{id: anna, name: Anna, groups: [{groups}]}}\n", encoding="utf-8")
        return path


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def groups(dsn: str, tenant: str = "acme") -> list[Any]:
    """Return the groups that Anna is in."""
    return [row["groups"] for row in rows(dsn, "SELECT groups FROM actors WHERE tenant = %s", tenant)]


async def load(dsn: str, file: Path, tenant: str = "acme") -> str:
    """Load a file as `countersign people load` does; return why it is refused, or nothing."""
    try:
        await load_people(Settings(directory_database_url=as_directory(dsn), tenant=tenant), file)
    except DirectoryError as error:
        return str(error)
    return ""


async def test_an_older_directory_does_not_give_back_what_a_newer_one_took_away(dsn: str, files: Files) -> None:
    old, new = files.write(4, "compliance"), files.write(5, "")
    assert (await load(dsn, old), await load(dsn, new)) == ("", "")
    assert await load(dsn, old) == f"{old} is not loaded: it is version 4, and version 5 is loaded"
    assert groups(dsn) == [[]]


async def test_the_command_says_what_it_loaded_or_why_not(dsn: str, files: Files) -> None:
    env = {"COUNTERSIGN_DIRECTORY_DATABASE_URL": as_directory(dsn)}
    done = await command("people", "load", str(files.write(2, "compliance")), "--as", "anna", env=env)
    assert (done.code, done.out) == (0, "version 2: 1 person, 0 agents\n")
    refused = await command("people", "load", str(old := files.write(1, "")), "--as", "anna", env=env)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == f"countersign: {old} is not loaded: it is version 1, and version 2 is loaded\n"


async def test_a_version_means_one_thing(dsn: str, files: Files) -> None:
    first, other = files.write(1, "compliance"), files.write(1, "operators")
    assert (await load(dsn, first), await load(dsn, first)) == ("", "")
    refused = await load(dsn, other)
    assert refused.endswith("it is version 1, which is loaded and says something else: give it version 2")
    assert groups(dsn) == [["compliance"]]


async def test_files_without_a_version_go_on_until_one_has_it(dsn: str, files: Files) -> None:
    for name in ("compliance", "operators"):
        assert await load(dsn, files.write(None, name)) == ""
        assert groups(dsn) == [[name]]
    assert await load(dsn, files.write(1, "")) == ""
    assert (await load(dsn, files.write(None, "compliance"))).endswith("it is version 0, and version 1 is loaded")
    assert groups(dsn) == [[]]


async def test_each_tenant_has_a_version_of_its_own(dsn: str, files: Files) -> None:
    assert await load(dsn, files.write(7, "compliance")) == ""
    assert await load(dsn, files.write(1, "operators"), "globex") == ""
    assert (groups(dsn), groups(dsn, "globex")) == ([["compliance"]], [["operators"]])


async def test_only_the_edge_looks_at_the_file_and_refuses_to_start_on_an_old_one(
    dsn: str, files: Files, opa: OpaChild, tmp_path: Path
) -> None:
    old = files.write(1, "compliance")
    assert await load(dsn, files.write(2, "")) == ""
    env = environment(settings_of(dsn, opa.url, tmp_path, port=0, directory=old))
    async with program("serve", "--role=worker", "--role=sweeps", "--role=bot", env=env) as running:
        await running.said("serving: ")
        running.process.terminate()
        assert await running.ended() == 0
    refused = await command("serve", "--role=edge", env=env)
    assert refused.err.endswith(f"countersign: {old} is not loaded: it is version 1, and version 2 is loaded\n")
    assert groups(dsn) == [[]]


async def test_the_edge_starts_on_the_directory_that_is_loaded_alone_and_loads_none(
    dsn: str, files: Files, opa: OpaChild, tmp_path: Path
) -> None:
    async def refused(file: Path) -> str:
        env = environment(settings_of(dsn, opa.url, tmp_path, port=0, directory=file))
        finished = await command("serve", "--role=edge", env=env)
        assert (finished.code, groups(dsn)) in ((1, []), (1, [["operators"]]))
        return finished.err.splitlines()[-1]

    first, other, second = files.write(1, "operators"), files.write(1, "compliance"), files.write(2, "compliance")
    load_it = "; load it: `countersign people load {} --as PERSON`"
    none_yet = f"countersign: {first} is not loaded: it is version 1, and none is loaded{load_it.format(first)}"
    assert await refused(first) == none_yet
    assert await load(dsn, first) == ""
    later = f"countersign: {second} is not loaded: it is version 2, and version 1 is loaded{load_it.format(second)}"
    assert await refused(second) == later
    assert (await refused(other)).endswith("which is loaded and says something else: give it version 2")
    async with serving(settings_of(dsn, opa.url, tmp_path, port=0, directory=first), "edge") as (running, _):
        running.process.terminate()
        assert await running.ended() == 0


async def test_the_programs_login_loads_no_directory(dsn: str, files: Files) -> None:
    env = {"COUNTERSIGN_DIRECTORY_DATABASE_URL": as_program(dsn)}
    refused = await command("people", "load", str(files.write(1, "compliance")), "--as", "anna", env=env)
    assert (refused.code, refused.out, groups(dsn)) == (1, "", [])
    assert refused.err == (
        "countersign: COUNTERSIGN_DIRECTORY_DATABASE_URL: its login may not load the directory;"
        " log in as a member of countersign_directory (permission denied for table directories)\n"
    )


async def test_a_tenant_on_mocks_stays_that_when_its_directory_is_loaded_first(
    dsn: str, files: Files, tmp_path: Path
) -> None:
    settings = Settings(directory_database_url=as_directory(dsn), overlay=tmp_path / "overlay.yaml")
    await load_people(settings, files.write(1, "compliance"))
    assert rows(dsn, "SELECT mocked FROM tenants WHERE tenant = 'acme'") == [{"mocked": True}]


async def test_the_doctor_says_where_file_and_database_differ(dsn: str, files: Files) -> None:
    async def said(file: Path | None) -> tuple[bool, str]:
        [fact] = await check_file(Settings(database_url=dsn, directory=file))
        return fact.ok, fact.detail

    first, second = files.write(1, "compliance"), files.write(2, "")
    assert await said(first) == (False, "version 1: 1 person, 0 agents; but none is loaded")
    await load(dsn, second)
    assert await said(first) == (False, "version 1: 1 person, 0 agents; but version 2 is loaded")
    assert await said(second) == (True, "version 2: 1 person, 0 agents")
    ok, detail = await said(files.write(2, "operators"))
    assert (ok, detail.partition("; ")[2]) == (False, "but version 2 is loaded and says something else")
    assert await said(None) == (True, "none here; version 2 is loaded")


async def test_how_people_are_told_is_loaded_with_them_and_part_of_what_is_on_record(dsn: str, files: Files) -> None:
    plain = files.write(1, "compliance")
    said = plain.read_text(encoding="utf-8").replace("version: 1", "version: 2")
    hours = "quiet_hours: [{days: [sat, sun]}]"
    notices = f"notices: {{timezone: Europe/Zurich, per_hour: 9, {hours}, remind: {{first: PT4H, at_most: 3}}}}\n"
    told = plain.with_name("told.yaml")
    told.write_text(said + "- {id: ben, name: Ben, timezone: Asia/Tokyo}\n" + notices, encoding="utf-8")
    assert (await load(dsn, plain), await load(dsn, told)) == ("", "")
    found = rows(dsn, "SELECT actor_id, notices FROM actors WHERE tenant = 'acme' ORDER BY actor_id")
    quiet = [{"days": ["sat", "sun"], "from": "00:00", "until": "24:00"}]
    both = {"quiet_hours": quiet, "passes": [], "per_hour": 9}
    assert [row["notices"] for row in found] == [{"timezone": zone, **both} for zone in ("Europe/Zurich", "Asia/Tokyo")]
    [settings] = rows(dsn, "SELECT remind FROM directories WHERE tenant = 'acme'")
    assert settings["remind"] == {"first": 14400, "factor": 1, "at_most": 3}
    leaves = rows(dsn, "SELECT leaf->'data' AS said FROM tenant_leaves WHERE leaf->>'event' = 'directory.loaded'")
    with connect(dsn, row_factory=dict_row) as conn, conn.transaction():
        records = tenant_rows(conn, "acme").records
        assert records["directory"] == digest(leaves[-1]["said"])
        conn.execute("""UPDATE actors SET notices = '{}' WHERE actor_id = 'ben'""")
        assert tenant_rows(conn, "acme").records["directory"] != records["directory"], "an audit finds what was changed"


async def test_what_a_later_program_keeps_of_the_same_file_goes_on_record(dsn: str, files: Files) -> None:
    file = files.write(1, "compliance")
    said = file.read_text(encoding="utf-8")
    file.write_text(f"{said}- {{id: ben, name: Ben, email: ben@b.example}}\n", encoding="utf-8")
    assert await load(dsn, file) == ""
    with connect(dsn) as before:
        before.execute("""UPDATE actors SET sign_in = '{}'""")  # as a program before had it
    assert await load(dsn, file) == ""
    leaves = rows(dsn, "SELECT leaf->'data' AS said FROM tenant_leaves WHERE leaf->>'event' = 'directory.loaded'")
    assert len(leaves) == 2
    with connect(dsn, row_factory=dict_row) as conn, conn.transaction():
        assert tenant_rows(conn, "acme").records["directory"] == digest(leaves[-1]["said"])
