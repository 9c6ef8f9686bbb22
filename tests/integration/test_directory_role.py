"""The program reads the directory and writes none of it; who is in Slack's user groups it says through one function."""

import json
from typing import Any

import psycopg
import pytest
from psycopg import errors

from countersign.doctor.database import database as check_database
from countersign.settings import Settings
from runtime.clock import utc_now
from runtime.model.person import Sources
from runtime.store.database.migration import make_login
from runtime.store.directory import Edition, replace_directory
from runtime.store.schema.role_names import DIRECTORY
from runtime.store.schema.tables import metadata, rights_of
from tests.bench import TEAM, TENANT, Bench
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


@pytest.mark.parametrize("name", sorted(metadata.tables))
def test_who_loads_the_directory_writes_nothing_else(dsn: str, name: str) -> None:
    rights = rights_of(metadata.tables[name]).get(DIRECTORY)
    column = metadata.tables[name].columns.keys()[0]
    orders = {
        f"INSERT INTO {name} DEFAULT VALUES": rights is not None,
        f'UPDATE {name} SET "{column}" = NULL': rights is not None and rights.updates is None,
        f"DELETE FROM {name}": rights is not None and rights.deletes,
    }
    for order in (order for order, may in orders.items() if not may and name != "directories"):
        with psycopg.connect(as_directory(dsn)) as conn, pytest.raises(errors.InsufficientPrivilege):
            conn.execute(order.encode())


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
