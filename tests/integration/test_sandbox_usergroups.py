"""User groups in the sandbox, with Slack's errors; the app hears of changes as Slack tells them."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.harness import EXAMPLE, HandClock, SandboxError, SandboxUser, served
from sandbox.server import create_app
from sandbox.slack_errors import WorkspaceError
from sandbox.workspace import UserGroup, load_workspace, parse_workspace
from tests.integration.test_sandbox_http import Desk, anna, desk

__all__ = ["anna", "desk"]
GONE = UserGroup(id="S0GONE", handle="gone", name="Gone", users=["U0ANNA"], is_disabled=True)
MIXED = UserGroup(id="S0MIXED", handle="mixed", name="Mixed", users=["U0ANNA", "U0GONE"])
EXAMPLES = load_workspace(EXAMPLE)
WORKSPACE = EXAMPLES.model_copy(update={"usergroups": [*EXAMPLES.usergroups, GONE, MIXED]})


@pytest.fixture
async def client() -> AsyncIterator[AsyncWebClient]:
    clock = HandClock()
    async with served(create_app(WORKSPACE, clock=clock, sleep=clock.sleep)) as url:
        yield AsyncWebClient(token=WORKSPACE.app.bot_token, base_url=f"{url}/api/", retry_handlers=[])


async def _refusal(call: Any) -> str:
    with pytest.raises(SlackApiError) as caught:
        await call
    return str(caught.value.response["error"])


async def test_user_groups_are_listed_disabled_ones_where_they_are_asked_for(client: AsyncWebClient) -> None:
    listed = (await client.usergroups_list())["usergroups"]
    assert [(one["id"], one["handle"], one["user_count"]) for one in listed] == [
        ("S0COMPLIANCE", "compliance", 2),
        ("S0MIXED", "mixed", 1),
    ]
    assert "users" not in listed[0]
    every = (await client.usergroups_list(include_disabled=True, include_users=True))["usergroups"]
    assert [(one["id"], bool(one["date_delete"])) for one in every][1] == ("S0GONE", True)
    assert every[0]["users"] == ["U0ANNA", "U0BORIS"]


async def test_who_is_deactivated_is_in_no_user_group(client: AsyncWebClient) -> None:
    assert (await client.usergroups_users_list(usergroup="S0MIXED"))["users"] == ["U0ANNA"]


@pytest.mark.parametrize("usergroup", ["S0NONE", "S0GONE"])
async def test_a_user_group_that_is_not_there_or_disabled_is_refused(client: AsyncWebClient, usergroup: str) -> None:
    assert await _refusal(client.usergroups_users_list(usergroup=usergroup)) == "no_such_subteam"


async def test_user_groups_want_their_scope() -> None:
    app = WORKSPACE.app.model_copy(update={"scopes": ["chat:write"]})
    clock = HandClock()
    async with served(create_app(WORKSPACE.model_copy(update={"app": app}), clock=clock, sleep=clock.sleep)) as url:
        client = AsyncWebClient(token=app.bot_token, base_url=f"{url}/api/", retry_handlers=[])
        assert await _refusal(client.usergroups_list()) == "missing_scope"


def test_a_user_group_of_unknown_people_is_refused() -> None:
    document = json.loads(WORKSPACE.model_dump_json())
    document["usergroups"][0]["users"] = ["U0NOBODY"]
    with pytest.raises(WorkspaceError, match="user group S0COMPLIANCE has unknown members: U0NOBODY"):
        parse_workspace(document, "here")


async def test_the_app_hears_who_has_left_or_joined_as_slack_tells_it(desk: Desk, anna: SandboxUser) -> None:
    for has_left in (True, False):
        await anna.regroup("S0COMPLIANCE")
        changed, updated = (json.loads(body)["event"] for _, body in desk.requests[-2:])
        kept = {name: changed[name] for name in ("type", "subteam_id", "team_id", "added_users", "removed_users")}
        assert kept == {
            "type": "subteam_members_changed",
            "subteam_id": "S0COMPLIANCE",
            "team_id": "T0HOST",
            "added_users": [] if has_left else ["U0ANNA"],
            "removed_users": ["U0ANNA"] if has_left else [],
        }
        assert updated["type"] == "subteam_updated"
        assert updated["subteam"]["users"] == (["U0BORIS"] if has_left else ["U0BORIS", "U0ANNA"])
        shown = (await anna.see())["usergroups"]
        assert [(one["handle"], one["users"]) for one in shown] == [("compliance", updated["subteam"]["users"])]


async def test_nobody_of_elsewhere_comes_into_a_user_group(desk: Desk) -> None:
    async with SandboxUser(desk.url, "U0EXT") as eve:
        with pytest.raises(SandboxError, match="cannot be in a user group"):
            await eve.regroup("S0COMPLIANCE")
        with pytest.raises(SandboxError, match="there is no user group"):
            await eve.regroup("S0NONE")
