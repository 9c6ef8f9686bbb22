"""User groups of Slack: read, counted by, in one workspace and in several.

Groups from Slack's user groups: read when they change, on record, and what votes are counted by.

Groups from Slack's user groups where the app is in several workspaces: each is read where it is.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from countersign.doctor.slack import user_groups
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from receipts.tenant_acts import DirectoryRefreshed
from runtime.model.person import Sources
from runtime.services.audit import audit
from runtime.store.directory import Edition, replace_directory
from tests.bench import TEAM, TENANT
from tests.integration.chat_stage import Chat, chatting
from tests.integration.conftest import Targets
from tests.integration.test_workspaces_installed import _settings
from tests.integration.workspaces_stage import ACME, BETA, SECOND, Stage, installing
from tests.logins import loading
from tests.patience import MINUTE

DESK = Sources({"compliance": "S0DESK"}, {})
ADDRESSES = Sources({"compliance": "S0DESK"}, {"ben@acme.example": "ben"})
GROUPS = {"rita": ["onboarding"], "ann": [], "ben": [], "cat": [], "omar": ["operators"]}


@pytest.fixture
async def chat(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Chat]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, targets) as running:
        yield running


async def _load(chat: Chat, version: int, sources: Sources, *, listed: str = "rita ann ben cat omar") -> None:
    """Load a directory in which compliance is the desk's user group; those who are not listed have no account."""
    people = [
        {"id": one, "kind": "person", "name": one.title(), "groups": groups, "grants": {}}
        for one, groups in GROUPS.items()
    ]
    accounts = [(TEAM, f"U{one.upper()}", one) for one in listed.split()]
    edition = Edition(version, f"{version:064d}")
    async with loading(chat.bench.superuser) as conn:
        await replace_directory(conn, TENANT, edition, people, accounts, chat.bench.clock(), sources=sources)


async def _refresh(chat: Chat) -> None:
    await chat.bot.groups.refresh()


async def _members(chat: Chat) -> set[str]:
    rows = await chat.bench.rows("SELECT actor_id FROM actors WHERE groups::jsonb ? 'compliance'")
    return {row["actor_id"] for row in rows}


async def _acts(chat: Chat) -> list[dict[str, Any]]:
    query = "SELECT leaf FROM tenant_leaves WHERE leaf->>'event' = %s ORDER BY seq"
    return [row["leaf"]["data"] for row in await chat.bench.rows(query, DirectoryRefreshed.event)]


async def test_a_group_has_the_people_of_its_user_group_and_each_change_is_on_record(chat: Chat) -> None:
    await _load(chat, 2, DESK)
    assert await _members(chat) == set()
    await _refresh(chat)
    assert await _members(chat) == {"ann"}
    for name in ("ben", "ann"):
        await (await chat.person(name)).regroup("S0DESK")
        await _refresh(chat)
    assert await _members(chat) == {"ben"}
    changes = [act["groups"] for act in await _acts(chat)]
    assert [(one["group"], one["usergroup"], one["joined"], one["left"]) for [one] in changes] == [
        ("compliance", "S0DESK", ["ann"], []),
        ("compliance", "S0DESK", ["ben"], []),
        ("compliance", "S0DESK", [], ["ann"]),
    ]


async def test_what_has_not_changed_is_not_on_record_again(chat: Chat) -> None:
    await _load(chat, 2, DESK)
    for _ in range(3):
        await _refresh(chat)
    assert len(await _acts(chat)) == 1


async def test_votes_are_counted_by_what_is_on_record_and_not_by_what_slack_says_then(chat: Chat) -> None:
    await _load(chat, 2, DESK)
    await _refresh(chat)
    approval_id = await chat.file()
    await (await chat.person("ann")).regroup("S0DESK")
    await (await chat.person("ben")).regroup("S0DESK")
    assert not (await chat.bench.click("ben", approval_id)).counted
    assert (await chat.bench.click("ann", approval_id)).counted


async def test_slack_says_that_a_user_group_has_changed_and_it_is_read_at_once(chat: Chat) -> None:
    await _load(chat, 2, DESK)
    async with _running(chat):
        await chat.faults.called("usergroups.users.list")
        await (await chat.person("ben")).regroup("S0DESK")
        async with asyncio.timeout(MINUTE):
            while await _members(chat) != {"ann", "ben"}:
                await asyncio.sleep(0.02)


@asynccontextmanager
async def _running(chat: Chat) -> AsyncIterator[None]:
    task = asyncio.create_task(chat.bot.groups.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_a_user_group_that_cannot_be_read_leaves_its_people(chat: Chat) -> None:
    await _load(chat, 2, DESK)
    await _refresh(chat)
    chat.faults.refuse("usergroups.users.list", "no_such_subteam")
    await _refresh(chat)
    assert await _members(chat) == {"ann"}


async def test_a_member_is_told_by_a_confirmed_address_where_that_is_allowed(chat: Chat) -> None:
    await (await chat.person("ben")).regroup("S0DESK")
    await _load(chat, 2, DESK, listed="rita ann cat")
    await _refresh(chat)
    assert await _members(chat) == {"ann"}
    await _load(chat, 3, ADDRESSES, listed="rita ann cat")
    await _refresh(chat)
    assert await _members(chat) == {"ann", "ben"}
    assert (await _acts(chat))[-1]["linked"] == [[TEAM, "UBEN", "ben"]]
    approval_id = await chat.file()
    assert (await chat.bench.click("ben", approval_id)).counted
    await (await chat.person("ben")).regroup("S0DESK")
    await _refresh(chat)
    assert (await _acts(chat))[-1]["unlinked"] == [[TEAM, "UBEN", "ben"]]
    assert await chat.bench.rows("SELECT FROM slack_accounts WHERE account = 'UBEN'") == []


async def test_an_address_that_slack_does_not_vouch_for_tells_nobody(chat: Chat) -> None:
    ben = chat.workspace.user("UBEN")
    assert ben is not None
    object.__setattr__(ben, "is_email_confirmed", False)
    await (await chat.person("ben")).regroup("S0DESK")
    await _load(chat, 2, ADDRESSES, listed="rita ann cat")
    await _refresh(chat)
    assert await _members(chat) == {"ann"}


async def test_another_directory_keeps_who_was_heard_of_as_long_as_the_group_has_the_same_source(chat: Chat) -> None:
    await (await chat.person("ben")).regroup("S0DESK")
    await _load(chat, 2, ADDRESSES, listed="rita ann cat")
    await _refresh(chat)
    await _load(chat, 3, ADDRESSES, listed="rita ann cat")
    assert await _members(chat) == {"ann", "ben"}
    await _refresh(chat)
    assert len(await _acts(chat)) == 1
    await _load(chat, 4, Sources({"compliance": "S0OTHER"}, {}))
    assert await _members(chat) == set()


async def test_who_changes_a_group_behind_the_record_is_found(chat: Chat) -> None:
    await _load(chat, 2, DESK)
    await _refresh(chat)
    assert (await _audited(chat)) == []
    await chat.bench.meddle("UPDATE actors SET groups = '[\"compliance\"]' WHERE actor_id = 'cat'")
    assert any("directory" in fault for fault in await _audited(chat))


async def _audited(chat: Chat) -> list[str]:
    found = await asyncio.to_thread(audit, chat.bench.superuser, TENANT, ())
    return [f"{one.rule} {one.where}" for one in found.findings if "directory" in str(one)]


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
