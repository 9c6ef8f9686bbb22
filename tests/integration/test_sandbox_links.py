"""The sandbox's links, OAuth and user groups.

Links of the app's own in the sandbox: whom it is told of them, and what it may have shown, as Slack has it.

OAuth in the sandbox refuses and grants as Slack does.

User groups in the sandbox, with Slack's errors; the app hears of changes as Slack tells them.
"""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.core import Sandbox
from sandbox.delivery import Ack
from sandbox.harness import EXAMPLE, HandClock, SandboxError, SandboxUser, served
from sandbox.people import People
from sandbox.server import SANDBOX, create_app
from sandbox.slack_errors import WorkspaceError
from sandbox.state import Code
from sandbox.workspace import UserGroup, Workspace, load_workspace, parse_workspace
from tests.integration.test_sandbox_http import Desk, anna, desk
from tests.integration.test_sandbox_web_api import refusal, slack

__all__ = ["anna", "desk"]


ROOM, ELSEWHERE = "C0APPROVALS", "C0GENERAL"
OURS = "https://countersign.example/requests/apr_1"
BLOCKS = [{"type": "section", "text": {"type": "plain_text", "text": "what it leads to"}}]
Json = dict[str, Any]


def workspace(**app: Any) -> Workspace:
    document = load_workspace(EXAMPLE).model_dump()
    registered = {**document["app"], "unfurl_domains": ["countersign.example"], **app}
    return parse_workspace({**document, "app": registered}, "the test")


@dataclass
class Heard:
    """A courier that keeps what it should bring."""

    events: list[Json] = field(default_factory=list)

    async def send(self, kind: str, payload: Json) -> Ack:
        assert kind == "events_api"
        self.events.append(payload["event"])
        return Ack("test")


@dataclass
class Stage:
    """A workspace whose app hears everything, and people who act there."""

    sandbox: Sandbox
    people: People
    heard: Heard
    slack: AsyncWebClient
    url: str

    async def say(self, text: str, channel: str = ROOM, user: str = "U0ANNA", thread: str = "") -> Json:
        found = self.sandbox.workspace.user(user)
        assert found
        await self.people.say(found, channel, text, thread)
        return self.sandbox.store.data.messages[channel][-1]

    async def write(self, text: str) -> None:
        found = self.sandbox.workspace.user("U0ANNA")
        assert found
        await self.people.write(found, text)


async def staged(world: Workspace) -> AsyncIterator[Stage]:
    clock, heard = HandClock(), Heard()
    app = create_app(world, clock=clock, sleep=clock.sleep)
    async with served(app) as url:
        slack = AsyncWebClient(token=world.app.bot_token, base_url=f"{url}/api/", retry_handlers=[])
        yield Stage(app[SANDBOX], People(app[SANDBOX], heard), heard, slack, url)


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async for one in staged(workspace()):
        yield one


async def refused(stage: Stage, **given: Any) -> str:
    with pytest.raises(SlackApiError) as caught:
        await stage.slack.chat_unfurl(**given)
    return str(caught.value.response["error"])


async def test_the_app_is_told_of_links_of_its_domains_wherever_they_are_posted(stage: Stage) -> None:
    deeper = "https://deep.countersign.example/x?a=1&b=2"
    others = "https://evil.example/countersign.example https://notcountersign.example/x"
    message = await stage.say(f"look: {OURS} and {deeper}, {OURS} {others}", ELSEWHERE)
    (event,) = stage.heard.events
    assert event["links"] == [
        {"domain": "countersign.example", "url": OURS},
        {"domain": "countersign.example", "url": deeper},
    ]
    assert (event["type"], event["source"], event["channel"]) == ("link_shared", "conversations_history", ELSEWHERE)
    assert (event["message_ts"], event["user"], event["is_bot_user_member"]) == (message["ts"], "U0ANNA", False)
    await stage.say(OURS, ROOM, thread=(await stage.say("a thread"))["ts"])
    assert stage.heard.events[-1]["is_bot_user_member"] is True
    assert "thread_ts" in stage.heard.events[-1]


async def test_the_app_is_told_of_nothing_without_a_domain_the_scope_or_a_person(stage: Stage) -> None:
    await stage.say("no link, and https://evil.example")
    await stage.slack.chat_postMessage(channel=ROOM, text=OURS)  # its own messages
    assert not stage.heard.events
    for world in (workspace(scopes=["chat:write"]), workspace(unfurl_domains=[])):
        async for other in staged(world):
            await other.say(OURS)
            assert not other.heard.events


async def test_what_the_app_gives_is_shown_under_the_message_and_changed_by_another_call(stage: Stage) -> None:
    message = await stage.say(f"look: {OURS}")
    for text in ("first", "second"):
        blocks = [{"type": "section", "text": {"type": "plain_text", "text": text}}]
        await stage.slack.chat_unfurl(channel=ROOM, ts=message["ts"], unfurls={OURS: {"blocks": blocks}})
    async with SandboxUser(stage.url, "U0BORIS") as boris:
        seen = await boris.find_card(lambda one: one["ts"] == message["ts"])
    (shown,) = seen["attachments"]
    assert (shown["app_unfurl_url"], shown["is_app_unfurl"], shown["id"]) == (OURS, True, 1)
    assert shown["blocks"][0]["text"]["text"] == "second"


async def test_a_message_is_named_by_its_place_or_by_what_the_event_said(stage: Stage) -> None:
    message = await stage.say(OURS)
    named = {"unfurl_id": stage.heard.events[0]["unfurl_id"], "source": "conversations_history"}
    await stage.slack.chat_unfurl(**named, unfurls={OURS: {"blocks": BLOCKS}})
    assert message["attachments"][0]["from_url"] == OURS


async def test_what_is_being_written_has_no_place_and_a_preview_for_who_writes_it(stage: Stage) -> None:
    await stage.write(f"see {OURS}")
    (event,) = stage.heard.events
    assert (event["channel"], event["source"], event["message_ts"]) == ("COMPOSER", "composer", event["unfurl_id"])
    named = {"unfurl_id": event["unfurl_id"], "source": "composer"}
    await stage.slack.chat_unfurl(**named, unfurls={OURS: {"blocks": BLOCKS}})
    async with SandboxUser(stage.url, "U0ANNA") as anna, SandboxUser(stage.url, "U0BORIS") as boris:
        assert (await anna.see())["draft"]["attachments"]
        assert not (await boris.see())["draft"]
        message = await stage.say(f"see {OURS}")
        assert not (await anna.see())["draft"]
    assert "attachments" not in message
    assert stage.heard.events[-1]["source"] == "conversations_history"


async def test_on_enterprise_grid_nobody_is_told_of_what_is_being_written() -> None:
    document = workspace().model_dump()
    grid = parse_workspace({**document, "team": {**document["team"], "enterprise_id": "E0GRID"}}, "the test")
    async for stage in staged(grid):
        await stage.write(OURS)
        assert not stage.heard.events


async def test_what_cannot_be_unfurled_is_refused_in_slacks_words(stage: Stage) -> None:
    message = await stage.say(f"{OURS} https://evil.example/x")
    place: Json = {"channel": ROOM, "ts": message["ts"]}
    ours: Json = {OURS: {"blocks": BLOCKS}}
    assert await refused(stage, unfurls=ours, ts="1.0") == "missing_channel"
    assert await refused(stage, unfurls=ours, channel=ROOM) == "missing_ts"
    assert await refused(stage, unfurls=ours, channel="C0NONE", ts="1.0") == "cannot_find_channel"
    assert await refused(stage, unfurls=ours, channel=ROOM, ts="1.0") == "cannot_find_message"
    assert await refused(stage, unfurls=ours, unfurl_id="x", source="composer") == "cannot_find_message"
    assert await refused(stage, unfurls=ours, unfurl_id="x", source="elsewhere") == "invalid_arguments"
    assert await refused(stage, **place) == "missing_unfurls"
    assert await refused(stage, **place, unfurls=[]) == "invalid_unfurls_format"
    assert await refused(stage, **place, unfurls={"https://evil.example/x": {"blocks": BLOCKS}}) == "cannot_unfurl_url"
    gone = {f"{OURS}2": {"blocks": BLOCKS}}
    assert await refused(stage, **place, unfurls=gone) == "cannot_unfurl_message"
    assert await refused(stage, **place, unfurls={OURS: {"text": "x"}}) == "cannot_parse_attachment"
    assert await refused(stage, **place, unfurls={OURS: {"blocks": [{"type": "none"}]}}) == "invalid_blocks"
    assert "attachments" not in message


def test_no_more_than_five_domains_are_registered() -> None:
    with pytest.raises(WorkspaceError, match="unfurl_domains"):
        workspace(unfurl_domains=[f"d{number}.example" for number in range(6)])


BACK = "https://app.example/back"
CLIENT = {"client_id": "1.1", "client_secret": "secret"}
APP = load_workspace(EXAMPLE).app.model_copy(
    update={"client_secret": "secret", "redirect_uris": [BACK], "token_rotation": True}
)
WORKSPACE = load_workspace(EXAMPLE).model_copy(update={"app": APP})


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def url(clock: HandClock) -> AsyncIterator[str]:
    app = create_app(WORKSPACE, clock=clock, sleep=clock.sleep)
    app[SANDBOX].store.data.codes["code"] = Code(user="U0ANNA", redirect_uri=BACK, issued=clock().timestamp())
    async with served(app) as address:
        yield address


async def access(url: str, **given: str) -> dict[str, Any]:
    answer = await slack(url, "").api_call("oauth.v2.access", data={**CLIENT, **given})
    assert isinstance(answer.data, dict)
    return answer.data


async def test_a_code_gives_tokens_once_and_to_the_app_alone(url: str) -> None:
    for wrong, code in (
        ({"client_id": "9.9"}, "invalid_client_id"),
        ({"client_secret": "x"}, "bad_client_secret"),
        ({"grant_type": "password"}, "invalid_grant_type"),
        ({"code": "other"}, "invalid_code"),
    ):
        body = await refusal(access(url, **{"code": "code", "redirect_uri": BACK, **wrong}))
        assert body["error"] == code
    granted = await access(url, code="code", redirect_uri=BACK)
    assert (granted["token_type"], granted["expires_in"], granted["team"]["id"]) == ("bot", 43_200, "T0HOST")
    assert (await refusal(access(url, code="code", redirect_uri=BACK)))["error"] == "invalid_code"


async def test_a_code_is_good_for_ten_minutes_and_where_it_was_asked_for(url: str, clock: HandClock) -> None:
    assert (await refusal(access(url, code="code", redirect_uri="https://evil.example")))["error"] == "bad_redirect_uri"
    clock.advance(600)
    assert (await refusal(access(url, code="code", redirect_uri=BACK)))["error"] == "invalid_code"


async def test_tokens_expire_and_are_replaced_by_a_refresh_token_that_then_is_good_no_more(
    url: str, clock: HandClock
) -> None:
    first = await access(url, code="code", redirect_uri=BACK)
    assert (await slack(url, first["access_token"]).auth_test())["ok"]
    clock.advance(43_200)
    assert (await refusal(slack(url, first["access_token"]).auth_test()))["error"] == "token_expired"
    again = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"]}
    await access(url, **again)  # an answer that was lost
    second = await access(url, **again)
    assert (await slack(url, second["access_token"]).auth_test())["ok"]
    assert (await refusal(access(url, **again)))["error"] == "invalid_refresh_token"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"client_id": "9.9"}, "invalid_client_id"),
        ({"redirect_uri": "https://evil.example/"}, "bad_redirect_uri"),
        ({"scope": "chat:write,admin"}, "invalid_scope: admin"),
    ],
)
async def test_the_page_asks_only_for_an_app_that_is_known_and_its_own_address(
    url: str, change: dict[str, str], says: str
) -> None:
    asked = {"client_id": "1.1", "redirect_uri": BACK, "scope": "chat:write", "state": "s", **change}
    async with aiohttp.ClientSession() as browser, browser.get(f"{url}/oauth/v2/authorize", params=asked) as page:
        assert page.status == 400
        assert says in await page.text()
    async with aiohttp.ClientSession() as browser, browser.post(f"{url}/oauth/v2/authorize", data=asked) as page:
        assert page.status == 400


GONE = UserGroup(id="S0GONE", handle="gone", name="Gone", users=["U0ANNA"], is_disabled=True)
MIXED = UserGroup(id="S0MIXED", handle="mixed", name="Mixed", users=["U0ANNA", "U0GONE"])
EXAMPLES = load_workspace(EXAMPLE)
GROUP_WORKSPACE = EXAMPLES.model_copy(update={"usergroups": [*EXAMPLES.usergroups, GONE, MIXED]})


@pytest.fixture
async def client() -> AsyncIterator[AsyncWebClient]:
    clock = HandClock()
    async with served(create_app(GROUP_WORKSPACE, clock=clock, sleep=clock.sleep)) as url:
        yield AsyncWebClient(token=GROUP_WORKSPACE.app.bot_token, base_url=f"{url}/api/", retry_handlers=[])


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
    app = GROUP_WORKSPACE.app.model_copy(update={"scopes": ["chat:write"]})
    clock = HandClock()
    async with served(
        create_app(GROUP_WORKSPACE.model_copy(update={"app": app}), clock=clock, sleep=clock.sleep)
    ) as url:
        client = AsyncWebClient(token=app.bot_token, base_url=f"{url}/api/", retry_handlers=[])
        assert await _refusal(client.usergroups_list()) == "missing_scope"


def test_a_user_group_of_unknown_people_is_refused() -> None:
    document = json.loads(GROUP_WORKSPACE.model_dump_json())
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
