"""Links of the app's own in the sandbox: whom it is told of them, and what it may have shown, as Slack has it."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.core import Sandbox
from sandbox.delivery import Ack
from sandbox.harness import EXAMPLE, HandClock, SandboxUser, served
from sandbox.people import People
from sandbox.server import SANDBOX, create_app
from sandbox.slack_errors import WorkspaceError
from sandbox.workspace import Workspace, load_workspace, parse_workspace

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
