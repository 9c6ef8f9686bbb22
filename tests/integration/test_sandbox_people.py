"""The sandbox's people, and its page.

Acting as people: what each of them sees, what is refused, and what survives a restart.

The page of the stand-in Slack as people see it: on a phone, in the dark, and in another time zone.
"""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from playwright.async_api import Browser, Page, expect
from slack_sdk.web.async_client import AsyncWebClient

from runtime.clock import utc_now
from sandbox.harness import EXAMPLE, HandClock, SandboxError, SandboxUser, messages, served
from sandbox.people_api import STATIC
from sandbox.server import create_app
from sandbox.slack_errors import WorkspaceError
from sandbox.workspace import load_workspace
from tests.browser import chromium

WORKSPACE = load_workspace(EXAMPLE)
ROOM = "C0APPROVALS"
Json = dict[str, Any]


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


CONFIRM = {"title": plain("Sure?"), "text": plain("It is done at once."), "confirm": plain("Yes"), "deny": plain("No")}


def card(value: str = "1") -> list[Json]:
    approve = {"type": "button", "action_id": "approve", "text": plain("Approve"), "value": value, "confirm": CONFIRM}
    return [{"type": "actions", "block_id": f"b{value}", "elements": [approve]}]


@pytest.fixture
async def url() -> AsyncIterator[str]:
    clock = HandClock()
    async with served(create_app(WORKSPACE, clock=clock, sleep=clock.sleep)) as address:
        yield address


@pytest.fixture
async def anna(url: str) -> AsyncIterator[SandboxUser]:
    async with SandboxUser(url, "U0ANNA") as user:
        yield user


def slack(url: str) -> AsyncWebClient:
    return AsyncWebClient(token=WORKSPACE.app.bot_token, base_url=f"{url}/api/", retry_handlers=[])


async def test_people_see_their_own_channels_only(url: str, anna: SandboxUser) -> None:
    assert [channel["id"] for channel in (await anna.see())["channels"]] == [ROOM, "C0GENERAL", "G0AUDIT"]
    async with SandboxUser(url, "U0EXT") as eve:
        assert [channel["id"] for channel in (await eve.see())["channels"]] == [ROOM]


async def test_people_are_shown_with_what_sets_them_apart(anna: SandboxUser) -> None:
    kinds = {user["id"]: user["kinds"] for user in (await anna.see())["users"]}
    assert kinds["U0ANNA"] == []
    assert (kinds["U0GUEST"], kinds["U0EXT"], kinds["U0GONE"]) == (["guest"], ["external"], ["deactivated"])


async def test_what_is_said_is_seen_by_all_as_text(url: str, anna: SandboxUser) -> None:
    await anna.say(ROOM, "<!channel> & *all*")
    [message] = (await slack(url).conversations_history(channel=ROOM))["messages"]
    assert (message["text"], message["user"]) == ("&lt;!channel&gt; &amp; *all*", "U0ANNA")
    seen = await anna.find_card(lambda one: one["user"] == "U0ANNA")
    assert seen["mentions"] == []
    await anna.say(ROOM, "reply", thread_ts=seen["ts"])
    assert (await anna.find_card(lambda one: one["text"] == "reply"))["thread_ts"] == seen["ts"]


async def test_mentions_links_and_unfurls_of_a_message_are_told(url: str, anna: SandboxUser) -> None:
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "<!here> <@U0ANNA> <https://x.example|x>"}}]
    await slack(url).chat_postMessage(channel=ROOM, text="<!channel>", blocks=blocks)
    seen = await anna.find_card(lambda one: bool(one["blocks"]))
    assert (seen["mentions"], seen["links"]) == (["channel", "here", "U0ANNA"], ["https://x.example"])
    assert seen["unfurls"] == seen["links"]
    await slack(url).chat_postMessage(channel=ROOM, text="https://y.example", unfurl_links=False, unfurl_media=False)
    assert (await anna.find_card(lambda one: "y.example" in one["text"]))["unfurls"] == []


async def test_rich_text_is_data_and_its_mentions_are_told(url: str, anna: SandboxUser) -> None:
    elements = [
        {"type": "text", "text": "<!channel> *x* &amp;"},
        {"type": "user", "user_id": "U0ANNA"},
        {"type": "link", "url": "https://x.example"},
        {"type": "emoji", "name": "x"},
        {"type": "channel", "channel_id": ROOM},
        {"type": "broadcast", "range": "here"},
    ]
    blocks = [{"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": elements}]}]
    await slack(url).chat_postMessage(channel=ROOM, text="rich", blocks=blocks)
    seen = await anna.find_card(lambda one: one["text"] == "rich")
    drawn = [one["nodes"][0]["v"] for one in seen["blocks"][0]["elements"][0]["elements"]]
    assert drawn == ["<!channel> *x* &amp;", "@Anna Berg", "https://x.example", "❌", "#approvals", "@here"]
    assert seen["mentions"] == ["U0ANNA", "here"]


async def test_a_button_that_asks_first_is_pressed_only_when_confirmed(url: str, anna: SandboxUser) -> None:
    await slack(url).chat_postMessage(channel=ROOM, text="card", blocks=card())
    message = await anna.find_card(lambda one: one["text"] == "card")
    asked = await anna.click(message, "approve", confirmed=False)
    assert (asked["ok"], asked["ack"], asked["confirm"]["title"]["text"]) == (False, None, "Sure?")
    assert (await anna.click(message, "approve"))["ack"]["error"] == "dispatch_failed"


async def test_an_earlier_edition_of_a_card_can_still_be_clicked(url: str, anna: SandboxUser) -> None:
    ts = (await slack(url).chat_postMessage(channel=ROOM, text="card", blocks=card("1")))["ts"]
    await slack(url).chat_update(channel=ROOM, ts=ts, text="card", blocks=card("2"))
    message = await anna.find_card(lambda one: one["text"] == "card")
    assert (await anna.click(message, "b2/approve"))["ack"] is not None
    with pytest.raises(SandboxError, match="0 elements"):
        await anna.click(message, "b1/approve")
    assert (await anna.click(message, "b1/approve", editions_ago=1))["ack"] is not None
    with pytest.raises(SandboxError, match="only 2 editions"):
        await anna.click(message, "b1/approve", editions_ago=2)


@pytest.mark.parametrize(
    ("act", "problem"),
    [
        ({"user": "U0NOBODY", "action": "close"}, "no user 'U0NOBODY'"),
        ({"user": "U0ANNA", "action": "close"}, "no modal open"),
        ({"user": "U0ANNA", "action": "submit"}, "no modal open"),
        ({"user": "U0ANNA", "action": "dance"}, "dance"),
        ({"user": "U0ANNA", "action": "close", "force": True}, "force"),
        ({"user": "U0FAR", "action": "say", "channel": ROOM, "text": "x"}, "not in C0APPROVALS"),
        ({"user": "U0ANNA", "action": "say", "channel": ROOM, "text": ""}, "text"),
        ({"user": "U0ANNA", "action": "say", "channel": ROOM, "text": "x", "thread_ts": "1.0"}, "no thread"),
        ({"user": "U0FAR", "action": "command", "channel": ROOM, "text": "/countersign"}, "not in C0APPROVALS"),
        ({"user": "U0ANNA", "action": "click", "channel": ROOM, "ts": "1.0", "action_id": "a"}, "no message 1.0"),
        ({"user": "U0ANNA", "action": "click", "view": "home", "action_id": "a"}, "no App Home"),
    ],
)
async def test_an_act_that_cannot_be_done_is_refused_with_its_reason(url: str, act: Json, problem: str) -> None:
    async with aiohttp.ClientSession() as session, session.post(f"{url}/sandbox/act", json=act) as answer:
        assert answer.status == 400
        assert problem in (await answer.json())["problem"]


async def test_acts_from_plain_forms_are_refused(url: str) -> None:
    body = json.dumps({"user": "U0ANNA", "action": "say", "channel": ROOM, "text": "forged"})
    headers = {"Content-Type": "text/plain"}
    async with aiohttp.ClientSession() as session:
        async with session.post(f"{url}/sandbox/act", data=body, headers=headers) as answer:
            assert answer.status == 400
        async with session.get(f"{url}/sandbox/state", params={"user": "U0NOBODY"}) as answer:
            assert answer.status == 400


async def test_waiting_in_vain_says_what_was_there(url: str, anna: SandboxUser) -> None:
    await slack(url).chat_postMessage(channel=ROOM, text="something else")
    with pytest.raises(SandboxError, match="something else"):
        await anna.find_card(lambda one: one["text"] == "card", timeout=0.05)


async def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    clock = HandClock()

    async with served(create_app(WORKSPACE, clock=clock, sleep=clock.sleep, state=state)) as url:
        ts = (await slack(url).chat_postMessage(channel=ROOM, text="card", blocks=card()))["ts"]
        await slack(url).chat_postMessage(channel=ROOM, text="reply", thread_ts=ts)
        await slack(url).chat_postEphemeral(channel=ROOM, user="U0ANNA", text="psst")
        await slack(url).conversations_open(users="U0ANNA")
        home = {"type": "home", "blocks": [{"type": "divider"}]}
        await slack(url).views_publish(user_id="U0ANNA", view=home)
        async with SandboxUser(url, "U0ANNA") as anna:
            await anna.click(await anna.find_card(lambda one: one["text"] == "card"), "approve")
            before = await anna.see()
    clock = HandClock(clock())
    async with served(create_app(WORKSPACE, clock=clock, sleep=clock.sleep, state=state)) as url:
        async with SandboxUser(url, "U0ANNA") as anna:
            after = await anna.see()
        later = (await slack(url).chat_update(channel=ROOM, ts=ts, text="edited"))["message"]["edited"]["ts"]
    assert {**after, "revision": 0} == {**before, "revision": 0}
    assert after["warnings"]
    assert all(float(later) > float(message["ts"]) for message in messages(before))
    assert os.listdir(tmp_path) == ["state.json"]  # noqa: PTH208 - nothing half written is left


def test_a_state_file_of_something_else_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    state.write_text('{"messages": 7}', encoding="utf-8")
    with pytest.raises(WorkspaceError, match="not a state file"):
        create_app(WORKSPACE, clock=utc_now, sleep=asyncio.sleep, state=state)


async def test_the_page_loads_nothing_from_elsewhere_and_runs_no_inline_code(url: str) -> None:
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        policy = answer.headers["Content-Security-Policy"]
        html = await answer.text()
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        sources = re.findall(r'(?:src|href)="([^"#]+)"', html)
        assert sources
        for source in sources:
            async with session.get(url + source) as part:
                assert (source.startswith("/static/"), part.status) == (True, 200)


@pytest.mark.parametrize("path", sorted(STATIC.iterdir()), ids=lambda path: path.name)
def test_no_part_of_the_page_makes_markup_from_data_or_reaches_out(path: Path) -> None:
    source = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "://", "@import"):
        assert forbidden not in source
    assert len(source.splitlines()) <= 400


@pytest.fixture
async def page_url() -> AsyncIterator[str]:
    async with served(create_app(WORKSPACE, clock=utc_now, sleep=asyncio.sleep)) as found:
        yield found


@pytest.fixture(scope="module")
async def started() -> AsyncIterator[Browser]:
    async with chromium() as found:
        yield found


@pytest.fixture
async def browser(started: Browser) -> AsyncIterator[Browser]:
    """The browser, which closes with each test what that opened: pages share nothing."""
    yield started
    for context in started.contexts:
        await context.close()


async def _opened(browser: Browser, url: str, **how: Any) -> Page:
    page = await browser.new_page(**how)
    await page.goto(f"{url}/?user=U0ANNA&channel={ROOM}&still")
    await expect(page.get_by_role("heading", name="approvals")).to_be_visible()
    return page


async def test_on_a_phone_the_list_of_conversations_is_a_drawer(page_url: str, browser: Browser) -> None:
    page = await _opened(browser, page_url, viewport={"width": 390, "height": 844})
    room = page.get_by_role("button", name="general")
    await expect(room).to_be_hidden()
    await page.get_by_role("button", name="Open the list of conversations").click()
    await room.click()
    await expect(page.get_by_role("heading", name="general")).to_be_visible()
    await expect(room).to_be_hidden()
    assert await page.evaluate("document.documentElement.scrollWidth") == 390


async def test_on_a_desk_the_list_of_conversations_stands_beside_the_messages(page_url: str, browser: Browser) -> None:
    page = await _opened(browser, page_url, viewport={"width": 1440, "height": 900})
    await expect(page.get_by_role("button", name="general")).to_be_visible()
    await expect(page.get_by_role("button", name="Open the list of conversations")).to_be_hidden()


@pytest.mark.parametrize(("scheme", "paper"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(26, 29, 33)")])
async def test_the_page_is_dark_for_whoever_wants_it_dark(
    page_url: str, browser: Browser, scheme: Any, paper: str
) -> None:
    page = await _opened(browser, page_url, color_scheme=scheme)
    assert await page.evaluate("getComputedStyle(document.body).backgroundColor") == paper


@pytest.mark.parametrize(("zone", "time"), [("Asia/Tokyo", "1:30 AM"), ("America/New_York", "11:30 AM")])
async def test_a_moment_stands_in_the_readers_own_time(page_url: str, browser: Browser, zone: str, time: str) -> None:
    web = AsyncWebClient(token=WORKSPACE.app.bot_token, base_url=f"{page_url}/api/")
    await web.chat_postMessage(
        channel=ROOM, text="Until <!date^1772469000^{date_short} at {time}|2026-03-02 16:30 UTC>"
    )
    page = await _opened(browser, page_url, timezone_id=zone, locale="en-US")
    moment = page.locator("time.run")
    await expect(moment).to_contain_text(time)
    await expect(moment).to_have_attribute("title", "2026-03-02 16:30 UTC")


@pytest.mark.parametrize(
    ("zone", "time"), [("Asia/Tokyo", "2026-03-03T01:30"), ("America/New_York", "2026-03-02T11:30")]
)
async def test_a_field_for_a_moment_begins_with_the_moment_it_is_given(
    page_url: str, browser: Browser, zone: str, time: str
) -> None:
    web = AsyncWebClient(token=WORKSPACE.app.bot_token, base_url=f"{page_url}/api/")
    element = {"type": "datetimepicker", "action_id": "since", "initial_date_time": 1772469000}
    field = {"type": "input", "block_id": "since", "label": {"type": "plain_text", "text": "From"}, "element": element}
    await web.views_publish(user_id="U0ANNA", view={"type": "home", "blocks": [field]})
    page = await browser.new_page(timezone_id=zone)
    await page.goto(f"{page_url}/?user=U0ANNA&view=home&still")
    await expect(page.locator("input[type=datetime-local]")).to_have_value(time)


async def test_each_list_to_choose_from_has_a_name(page_url: str, browser: Browser) -> None:
    options = [{"text": {"type": "plain_text", "text": "One"}, "value": "1"}]
    blocks = [
        {"type": "actions", "elements": [{"type": "static_select", "action_id": "bare", "options": options}]},
        {
            "type": "actions",
            "elements": [
                {
                    "type": "static_select",
                    "action_id": "said",
                    "placeholder": {"type": "plain_text", "text": "Runbook"},
                    "options": options,
                }
            ],
        },
    ]
    slack = AsyncWebClient(token=WORKSPACE.app.bot_token, base_url=f"{page_url}/api/")
    await slack.chat_postMessage(channel=ROOM, text="choose", blocks=blocks)
    page = await _opened(browser, page_url)
    await expect(page.get_by_role("combobox", name="Runbook")).to_be_visible()
    await expect(page.get_by_role("combobox", name="Choose", exact=True)).to_be_visible()


async def test_headings_begin_with_the_page_and_skip_no_level(page_url: str, browser: Browser) -> None:
    client = AsyncWebClient(token=WORKSPACE.app.bot_token, base_url=f"{page_url}/api/")
    header = {"type": "header", "text": {"type": "plain_text", "text": "Pay a supplier"}}
    await client.chat_postMessage(channel=ROOM, text="Pay a supplier", blocks=[header])
    page = await _opened(browser, page_url)
    await expect(page.get_by_role("heading", name="Pay a supplier")).to_be_visible()
    levels = await page.eval_on_selector_all("h1, h2, h3, h4", "all => all.map((one) => Number(one.tagName[1]))")
    assert levels == [1, 2]
    for name in ("Channels", "Apps"):
        await expect(page.get_by_role("navigation").get_by_role("list", name=name)).to_be_visible()
