"""The Web API refuses and answers as Slack does, spoken to with slack_sdk over HTTP."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from runtime.clock import utc_now
from sandbox.harness import EXAMPLE, HandClock, served
from sandbox.server import create_app
from sandbox.slack_errors import Limits, WorkspaceError
from sandbox.workspace import Workspace, load_workspace, parse_workspace

WORKSPACE = load_workspace(EXAMPLE)
TOKEN = WORKSPACE.app.bot_token
PEOPLE = WORKSPACE.model_dump()["users"]
ROOM = "C0APPROVALS"


def slack(url: str, token: str = TOKEN) -> AsyncWebClient:
    return AsyncWebClient(token=token, base_url=f"{url}/api/", retry_handlers=[])


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def url(clock: HandClock) -> AsyncIterator[str]:
    async with served(create_app(WORKSPACE, clock=clock, sleep=clock.sleep)) as address:
        yield address


@pytest.fixture
def client(url: str) -> AsyncWebClient:
    return slack(url)


async def refusal(call: Any) -> dict[str, Any]:
    """Return the body of the refusal that the call must meet."""
    with pytest.raises(SlackApiError) as caught:
        await call
    body: dict[str, Any] = caught.value.response.data
    assert caught.value.response.status_code == 200
    return body


async def test_auth_test_names_the_bot_and_its_scopes(client: AsyncWebClient) -> None:
    answer = await client.auth_test()
    assert (answer["team_id"], answer["user_id"], answer["bot_id"]) == ("T0HOST", "U0BOT", "B0COUNTERSIGN")
    assert "chat:write" in answer.headers["x-oauth-scopes"].split(",")


@pytest.mark.parametrize(
    ("token", "code"),
    [("", "not_authed"), ("xoxb-unknown", "invalid_auth"), (WORKSPACE.app.app_token, "not_allowed_token_type")],
)
async def test_a_missing_wrong_or_unfit_token_is_refused(url: str, token: str, code: str) -> None:
    assert (await refusal(slack(url, token).auth_test()))["error"] == code


async def test_a_bot_token_opens_no_socket(client: AsyncWebClient) -> None:
    assert (await refusal(client.apps_connections_open(app_token=TOKEN)))["error"] == "not_allowed_token_type"


async def test_a_scope_the_app_lacks_is_named() -> None:
    app = WORKSPACE.app.model_copy(update={"scopes": ["chat:write"]})
    async with served(create_app(WORKSPACE.model_copy(update={"app": app}), clock=utc_now, sleep=asyncio.sleep)) as url:
        body = await refusal(slack(url).users_info(user="U0ANNA"))
    assert (body["error"], body["needed"], body["provided"]) == ("missing_scope", "users:read", "chat:write")


async def test_an_unknown_method_is_refused(client: AsyncWebClient) -> None:
    assert (await refusal(client.api_call("chat.postTelegram")))["error"] == "unknown_method"


@pytest.mark.parametrize(
    ("body", "content_type", "code"),
    [
        (b"{", "application/json", "invalid_json"),
        (b"[1]", "application/json", "json_not_object"),
        (b"x", "text/csv", "invalid_form_data"),
    ],
)
async def test_a_body_that_is_not_arguments_is_refused(url: str, body: bytes, content_type: str, code: str) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": content_type}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{url}/api/chat.postMessage", data=body, headers=headers) as answer,
    ):
        assert (await answer.json())["error"] == code


async def test_form_json_and_query_arguments_are_one(url: str) -> None:
    wanted = {"token": TOKEN, "channel": ROOM, "text": "hello"}
    async with aiohttp.ClientSession() as session:
        method = f"{url}/api/chat.postMessage"
        requests = (
            session.post(method, data=wanted),
            session.post(method, json=wanted),
            session.get(method, params=wanted),
        )
        for request in requests:
            async with request as answer:
                assert (await answer.json())["ok"] is True


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"channel": "C0NOWHERE", "text": "x"}, "channel_not_found"),
        ({"channel": "G0AUDIT", "text": "x"}, "channel_not_found"),
        ({"channel": "C0GENERAL", "text": "x"}, "not_in_channel"),
        ({"channel": "U0GONE", "text": "x"}, "channel_not_found"),
        ({"channel": "D0ANNA", "text": "x"}, "channel_not_found"),
        ({"channel": ROOM, "text": ""}, "no_text"),
        ({"channel": ROOM, "text": "x" * 40_001}, "msg_too_long"),
        ({"channel": ROOM, "text": "x", "thread_ts": "1.000001"}, "cannot_reply_to_message"),
        ({"channel": ROOM, "text": "x", "blocks": "not json"}, "invalid_blocks_format"),
        ({"channel": ROOM, "text": "x", "metadata": {"event_type": "a"}}, "invalid_metadata_format"),
        ({"channel": "", "text": "x"}, "invalid_arguments"),
    ],
)
async def test_a_message_that_cannot_be_posted_is_refused(
    client: AsyncWebClient, arguments: dict[str, Any], code: str
) -> None:
    assert (await refusal(client.api_call("chat.postMessage", json=arguments)))["error"] == code


async def test_a_text_of_exactly_the_limit_is_posted_whole(client: AsyncWebClient) -> None:
    posted = await client.chat_postMessage(channel=ROOM, text="x" * 40_000)
    assert len(posted["message"]["text"]) == 40_000


async def test_a_channel_may_be_named_and_a_person_written_to(client: AsyncWebClient) -> None:
    assert (await client.chat_postMessage(channel="#approvals", text="x"))["channel"] == ROOM
    assert (await client.chat_postMessage(channel="U0ANNA", text="x"))["channel"] == "D0ANNA"


async def test_timestamps_rise_even_when_the_clock_stands_still(client: AsyncWebClient) -> None:
    stamps = [(await client.chat_postMessage(channel=ROOM, text="x"))["ts"] for _ in range(5)]
    assert stamps == sorted(set(stamps), key=float)


async def test_an_update_keeps_what_it_does_not_name(client: AsyncWebClient) -> None:
    blocks = [{"type": "divider", "block_id": "line"}]
    metadata = {"event_type": "card", "event_payload": {"id": "a1"}}
    ts = (await client.chat_postMessage(channel=ROOM, text="before", blocks=blocks, metadata=metadata))["ts"]
    await client.chat_update(channel=ROOM, ts=ts, text="after")
    message = (await client.conversations_history(channel=ROOM, include_all_metadata=True))["messages"][0]
    assert (message["text"], message["blocks"], message["metadata"]) == ("after", blocks, metadata)
    assert message["edited"]["user"] == "U0BOT"
    await client.chat_update(channel=ROOM, ts=ts, text="bare", blocks=[])
    assert (await client.conversations_history(channel=ROOM))["messages"][0]["blocks"] == []


async def test_an_update_without_content_or_message_is_refused(client: AsyncWebClient) -> None:
    ts = (await client.chat_postMessage(channel=ROOM, text="x"))["ts"]
    assert (await refusal(client.api_call("chat.update", json={"channel": ROOM, "ts": ts})))["error"] == "no_text"
    gone = await refusal(client.chat_update(channel=ROOM, ts="1.000001", text="x"))
    assert gone["error"] == "message_not_found"


async def test_another_persons_message_cannot_be_updated(url: str, client: AsyncWebClient) -> None:
    say = {"user": "U0ANNA", "action": "say", "channel": ROOM, "text": "mine"}
    async with aiohttp.ClientSession() as session, session.post(f"{url}/sandbox/act", json=say) as answer:
        assert answer.status == 200
    ts = (await client.conversations_history(channel=ROOM))["messages"][0]["ts"]
    assert (await refusal(client.chat_update(channel=ROOM, ts=ts, text="x")))["error"] == "cant_update_message"


async def test_metadata_is_given_only_when_asked_for(client: AsyncWebClient) -> None:
    await client.chat_postMessage(channel=ROOM, text="x", metadata={"event_type": "card", "event_payload": {}})
    assert "metadata" not in (await client.conversations_history(channel=ROOM))["messages"][0]


async def test_history_is_newest_first_paged_and_without_replies(client: AsyncWebClient) -> None:
    stamps = [(await client.chat_postMessage(channel=ROOM, text=str(number)))["ts"] for number in range(5)]
    await client.chat_postMessage(channel=ROOM, text="reply", thread_ts=stamps[0])
    first = await client.conversations_history(channel=ROOM, limit=2)
    assert [message["text"] for message in first["messages"]] == ["4", "3"]
    assert first["has_more"] is True
    rest = await client.conversations_history(channel=ROOM, limit=9, cursor=first["response_metadata"]["next_cursor"])
    assert [message["text"] for message in rest["messages"]] == ["2", "1", "0"]
    assert rest["has_more"] is False
    between = await client.conversations_history(channel=ROOM, oldest=stamps[1], latest=stamps[3])
    assert [message["ts"] for message in between["messages"]] == [stamps[2]]
    closed = await client.conversations_history(channel=ROOM, oldest=stamps[1], latest=stamps[3], inclusive=True)
    assert len(closed["messages"]) == 3
    assert (await refusal(client.conversations_history(channel=ROOM, cursor="bogus")))["error"] == "invalid_cursor"


async def test_a_thread_gives_its_parent_then_its_replies(client: AsyncWebClient) -> None:
    ts = (await client.chat_postMessage(channel=ROOM, text="parent"))["ts"]
    for number in range(2):
        await client.chat_postMessage(channel=ROOM, text=f"reply {number}", thread_ts=ts)
    thread = (await client.conversations_replies(channel=ROOM, ts=ts))["messages"]
    assert [message["text"] for message in thread] == ["parent", "reply 0", "reply 1"]
    assert thread[0]["reply_count"] == 2
    reply = await refusal(client.chat_postMessage(channel=ROOM, text="x", thread_ts=thread[1]["ts"]))
    assert reply["error"] == "cannot_reply_to_message"
    assert (await refusal(client.conversations_replies(channel=ROOM, ts="1.000001")))["error"] == "thread_not_found"


async def test_an_ephemeral_message_needs_a_member_and_cannot_be_updated(client: AsyncWebClient) -> None:
    ts = (await client.chat_postEphemeral(channel=ROOM, user="U0ANNA", text="psst"))["message_ts"]
    outside = await refusal(client.chat_postEphemeral(channel=ROOM, user="U0FAR", text="x"))
    assert outside["error"] == "user_not_in_channel"
    assert (await refusal(client.chat_update(channel=ROOM, ts=ts, text="x")))["error"] == "message_not_found"
    assert (await client.conversations_history(channel=ROOM))["messages"] == []


@pytest.mark.parametrize(
    ("user", "code"),
    [
        ("U0NOBODY", "user_not_found"),
        ("U0FAR", "user_not_visible"),
        ("U0GONE", "user_disabled"),
        ("U0BOT", "cannot_dm_bot"),
        ("U0ANNA,U0BORIS", "invalid_user_combination"),
    ],
)
async def test_a_direct_conversation_that_cannot_be_opened_is_refused(
    client: AsyncWebClient, user: str, code: str
) -> None:
    assert (await refusal(client.conversations_open(users=user)))["error"] == code


async def test_a_direct_conversation_is_opened_once_and_updated_by_its_id(client: AsyncWebClient) -> None:
    first, second = [await client.conversations_open(users="U0ANNA") for _ in range(2)]
    assert first["channel"]["id"] == second["channel"]["id"] == "D0ANNA"
    assert second["already_open"] is True
    ts = (await client.chat_postMessage(channel="D0ANNA", text="x"))["ts"]
    assert (await refusal(client.chat_update(channel="U0ANNA", ts=ts, text="y")))["error"] == "channel_not_found"
    assert (await client.chat_update(channel="D0ANNA", ts=ts, text="y"))["ok"] is True
    assert (await client.conversations_info(channel="D0ANNA"))["channel"]["user"] == "U0ANNA"


async def test_channels_are_described_and_private_ones_hidden(client: AsyncWebClient) -> None:
    room = (await client.conversations_info(channel=ROOM))["channel"]
    assert (room["is_ext_shared"], room["is_member"]) == (True, True)
    assert (await client.conversations_info(channel="C0GENERAL"))["channel"]["is_member"] is False
    assert (await refusal(client.conversations_info(channel="G0AUDIT")))["error"] == "channel_not_found"
    listed = (await client.conversations_list(types="public_channel,private_channel"))["channels"]
    assert [channel["id"] for channel in listed] == [ROOM, "C0GENERAL"]
    assert (await refusal(client.conversations_list(types="secret")))["error"] == "invalid_types"


async def test_users_come_with_their_own_team_and_standing(client: AsyncWebClient) -> None:
    async def info(user: str) -> dict[str, Any]:
        found: dict[str, Any] = (await client.users_info(user=user))["user"]
        return found

    assert (await info("U0EXT"))["team_id"] == "T0OTHER"
    assert (await info("U0GUEST"))["is_restricted"] is True
    gone = await info("U0GONE")
    assert gone["deleted"] is True
    assert "is_restricted" not in gone
    assert (await info("U0BOT"))["is_bot"] is True
    assert (await info("U0ANNA"))["profile"]["email"] == "anna@meridian.example"
    assert (await refusal(client.users_info(user="U0NOBODY")))["error"] == "user_not_found"
    assert (await refusal(client.users_info(user="U0FAR")))["error"] == "user_not_visible"


async def test_the_users_list_is_paged_and_leaves_strangers_out(client: AsyncWebClient) -> None:
    first = await client.users_list(limit=5)
    rest = await client.users_list(limit=5, cursor=first["response_metadata"]["next_cursor"])
    ids = [user["id"] for user in first["members"] + rest["members"]]
    assert ids == [user.id for user in WORKSPACE.users if user.id != "U0FAR"]


async def test_team_info_and_api_test_answer(client: AsyncWebClient) -> None:
    assert (await client.team_info())["team"]["domain"] == "meridian"
    assert (await refusal(client.team_info(team="T0OTHER")))["error"] == "team_not_found"
    assert (await client.api_test(foo="bar"))["args"]["foo"] == "bar"


async def test_a_permalink_opens_the_page_at_the_message(url: str, client: AsyncWebClient) -> None:
    ts = (await client.chat_postMessage(channel=ROOM, text="x"))["ts"]
    link = (await client.chat_getPermalink(channel=ROOM, message_ts=ts))["permalink"]
    assert link == f"{url}/archives/{ROOM}/p{ts.replace('.', '')}"
    async with aiohttp.ClientSession() as session, session.get(link) as answer:
        assert answer.status == 200
    missing = await refusal(client.chat_getPermalink(channel=ROOM, message_ts="1.000001"))
    assert missing["error"] == "message_not_found"


async def limited(call: Any) -> int:
    """Return Retry-After of the 429 that the call must meet."""
    with pytest.raises(SlackApiError) as caught:
        await call
    assert (caught.value.response.status_code, caught.value.response["error"]) == (429, "ratelimited")
    return int(caught.value.response.headers["Retry-After"])


async def test_posting_is_one_a_second_and_channel_after_a_burst(clock: HandClock) -> None:
    app = create_app(WORKSPACE, clock=clock, sleep=clock.sleep, limits=Limits(channel_burst=3))
    async with served(app) as url:
        client = slack(url)
        for _ in range(3):
            await client.chat_postMessage(channel=ROOM, text="x")
        assert await limited(client.chat_postMessage(channel=ROOM, text="x")) == 1
        await client.chat_postMessage(channel="U0ANNA", text="another conversation is not held up")
        clock.advance(1)
        await client.chat_postMessage(channel=ROOM, text="x")
        assert await limited(client.chat_postMessage(channel=ROOM, text="x")) == 1


async def test_each_method_has_its_own_allowance_that_grows_back(clock: HandClock) -> None:
    limits = Limits(per_minute={"users.info": 2}, burst=1)
    async with served(create_app(WORKSPACE, clock=clock, sleep=clock.sleep, limits=limits)) as url:
        client = slack(url)
        for _ in range(2):
            await client.users_info(user="U0ANNA")
        assert await limited(client.users_info(user="U0ANNA")) == 30
        await client.auth_test()
        clock.advance(30)
        await client.users_info(user="U0ANNA")
        assert await limited(client.users_info(user="U0ANNA")) == 30


async def test_default_limits_allow_a_short_burst_and_no_more(url: str) -> None:
    client = slack(url)
    for _ in range(10):
        await client.chat_postMessage(channel=ROOM, text="x")
    await limited(client.chat_postMessage(channel=ROOM, text="x"))


def broken(**changes: Any) -> dict[str, Any]:
    return {**WORKSPACE.model_dump(), **changes}


@pytest.mark.parametrize(
    ("document", "named"),
    [
        (broken(colour="red"), "colour"),
        (broken(users=[]), "unknown members"),
        (broken(users=[*PEOPLE, PEOPLE[0]]), "user id repeated: U0ANNA"),
        (broken(team={"id": "host", "name": "x", "domain": "x"}), "team.id"),
        (broken(app={**WORKSPACE.app.model_dump(), "bot_user_id": "U0NOBODY"}), "U0NOBODY"),
        (None, "workspace"),
    ],
)
def test_a_workspace_that_does_not_hold_together_is_refused_by_place(document: Any, named: str) -> None:
    with pytest.raises(WorkspaceError, match=named):
        parse_workspace(document, "file.yaml")


def test_a_workspace_file_that_is_not_yaml_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text("team: [", encoding="utf-8")
    with pytest.raises(WorkspaceError, match=r"broken\.yaml"):
        load_workspace(path)


def test_the_example_workspace_is_valid() -> None:
    assert isinstance(load_workspace(EXAMPLE), Workspace)
