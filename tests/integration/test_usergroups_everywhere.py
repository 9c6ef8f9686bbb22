"""Groups from Slack's user groups where the app is in several workspaces: each is read where it is."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from countersign.doctor.slack import user_groups
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.model.person import Sources
from runtime.store.directory import Edition, replace_directory
from tests.bench import TEAM, TENANT
from tests.integration.conftest import Targets
from tests.integration.test_workspaces_operated import _settings
from tests.integration.workspaces_stage import ACME, BETA, SECOND, Stage, installing
from tests.logins import loading
from tests.patience import MINUTE

PEOPLE: dict[str, list[str]] = {"ann": [], "ben": [], "cat": [], "omar": ["operators"]}
HERE, THERE = "S0HERE", "S0THERE"
SOURCES = Sources({"compliance": THERE, "legal": HERE}, {"cat@acme.example": "cat"})


def with_group(workspace: dict[str, Any], usergroup: str, *users: str) -> dict[str, Any]:
    group = {"id": usergroup, "handle": usergroup.lower(), "name": usergroup, "users": list(users)}
    return {**workspace, "usergroups": [group]}


@pytest.fixture
async def stage(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Stage]:
    here, there = with_group(ACME, HERE, "UANN"), with_group(SECOND, THERE, "UBEN", "UCAT")
    there["users"] = [{**user, "email": f"{user['name'][1:]}@acme.example"} for user in there["users"]]
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, installing(dsn, policy, targets, here, there) as running:
        people = [
            {"id": one, "kind": "person", "name": one.title(), "groups": own, "grants": {}}
            for one, own in PEOPLE.items()
        ]
        accounts = [(TEAM, "UANN", "ann"), (BETA, "UBEN", "ben")]
        edition = Edition(2, "2" * 64)
        async with loading(running.bench.superuser) as conn:
            now = running.bench.clock()
            await replace_directory(conn, TENANT, edition, people, accounts, now, sources=SOURCES)
        yield running


async def groups(stage: Stage) -> dict[str, list[str]]:
    rows = await stage.bench.rows("SELECT actor_id, groups FROM actors ORDER BY actor_id")
    return {row["actor_id"]: row["groups"] for row in rows if row["groups"] and row["actor_id"] != "omar"}


async def test_each_user_group_is_read_in_the_workspace_that_has_it(stage: Stage) -> None:
    for team in (TEAM, BETA):
        await stage.install(team)
    await stage.groups.refresh()
    assert await groups(stage) == {"ann": ["legal"], "ben": ["compliance"], "cat": ["compliance"]}
    linked = await stage.bench.rows("SELECT team, account FROM slack_accounts WHERE actor_id = 'cat'")
    assert linked == [{"team": BETA, "account": "UCAT"}], "whom an address tells has the account of that workspace"


async def test_a_user_group_of_a_workspace_that_has_left_keeps_its_people(stage: Stage) -> None:
    for team in (TEAM, BETA):
        await stage.install(team)
    await stage.groups.refresh()
    before = await groups(stage)
    await (await stage.person("ann", BETA)).uninstall()
    await (await stage.person("ben", TEAM)).regroup(HERE)
    await stage.groups.refresh()
    assert await groups(stage) == {**before, "ben": ["compliance", "legal"]}


async def test_where_the_app_is_installed_nowhere_groups_stay_as_they_are(stage: Stage) -> None:
    await stage.groups.refresh()
    assert await groups(stage) == {}


async def test_the_doctor_looks_for_user_groups_in_each_workspace(
    stage: Stage, dsn: str, opa: OpaChild, tmp_path: Path
) -> None:
    settings = _settings(dsn, opa, tmp_path, slack_api_url=stage.workspaces._client.base_url)
    await stage.install(TEAM)
    facts = {fact.name: fact for fact in await user_groups(settings, stage.bench.clock)}
    assert (facts[f"slack user group {HERE}"].ok, facts[f"slack user group {THERE}"].ok) == (True, False)
    await stage.install(BETA)
    facts = {fact.name: fact for fact in await user_groups(settings, stage.bench.clock)}
    assert (facts[f"slack user group {HERE}"].ok, facts[f"slack user group {THERE}"].ok) == (True, True)
