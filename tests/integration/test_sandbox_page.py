"""The page of the stand-in Slack as people see it: on a phone, in the dark, and in another time zone."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect
from slack_sdk.web.async_client import AsyncWebClient

from runtime.clock import utc_now
from sandbox.harness import EXAMPLE, served
from sandbox.server import create_app
from sandbox.workspace import load_workspace
from tests.browser import chromium

WORKSPACE = load_workspace(EXAMPLE)
ROOM = "C0APPROVALS"


@pytest.fixture
async def url() -> AsyncIterator[str]:
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


async def test_on_a_phone_the_list_of_conversations_is_a_drawer(url: str, browser: Browser) -> None:
    page = await _opened(browser, url, viewport={"width": 390, "height": 844})
    room = page.get_by_role("button", name="general")
    await expect(room).to_be_hidden()
    await page.get_by_role("button", name="Open the list of conversations").click()
    await room.click()
    await expect(page.get_by_role("heading", name="general")).to_be_visible()
    await expect(room).to_be_hidden()
    assert await page.evaluate("document.documentElement.scrollWidth") == 390


async def test_on_a_desk_the_list_of_conversations_stands_beside_the_messages(url: str, browser: Browser) -> None:
    page = await _opened(browser, url, viewport={"width": 1440, "height": 900})
    await expect(page.get_by_role("button", name="general")).to_be_visible()
    await expect(page.get_by_role("button", name="Open the list of conversations")).to_be_hidden()


@pytest.mark.parametrize(("scheme", "paper"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(26, 29, 33)")])
async def test_the_page_is_dark_for_whoever_wants_it_dark(url: str, browser: Browser, scheme: Any, paper: str) -> None:
    page = await _opened(browser, url, color_scheme=scheme)
    assert await page.evaluate("getComputedStyle(document.body).backgroundColor") == paper


@pytest.mark.parametrize(("zone", "time"), [("Asia/Tokyo", "1:30 AM"), ("America/New_York", "11:30 AM")])
async def test_a_moment_stands_in_the_readers_own_time(url: str, browser: Browser, zone: str, time: str) -> None:
    web = AsyncWebClient(token=WORKSPACE.app.bot_token, base_url=f"{url}/api/")
    await web.chat_postMessage(
        channel=ROOM, text="Until <!date^1772469000^{date_short} at {time}|2026-03-02 16:30 UTC>"
    )
    page = await _opened(browser, url, timezone_id=zone, locale="en-US")
    moment = page.locator("time.run")
    await expect(moment).to_contain_text(time)
    await expect(moment).to_have_attribute("title", "2026-03-02 16:30 UTC")


@pytest.mark.parametrize(
    ("zone", "time"), [("Asia/Tokyo", "2026-03-03T01:30"), ("America/New_York", "2026-03-02T11:30")]
)
async def test_a_field_for_a_moment_begins_with_the_moment_it_is_given(
    url: str, browser: Browser, zone: str, time: str
) -> None:
    web = AsyncWebClient(token=WORKSPACE.app.bot_token, base_url=f"{url}/api/")
    element = {"type": "datetimepicker", "action_id": "since", "initial_date_time": 1772469000}
    field = {"type": "input", "block_id": "since", "label": {"type": "plain_text", "text": "From"}, "element": element}
    await web.views_publish(user_id="U0ANNA", view={"type": "home", "blocks": [field]})
    page = await browser.new_page(timezone_id=zone)
    await page.goto(f"{url}/?user=U0ANNA&view=home&still")
    await expect(page.locator("input[type=datetime-local]")).to_have_value(time)


async def test_each_list_to_choose_from_has_a_name(url: str, browser: Browser) -> None:
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
    slack = AsyncWebClient(token=WORKSPACE.app.bot_token, base_url=f"{url}/api/")
    await slack.chat_postMessage(channel=ROOM, text="choose", blocks=blocks)
    page = await _opened(browser, url)
    await expect(page.get_by_role("combobox", name="Runbook")).to_be_visible()
    await expect(page.get_by_role("combobox", name="Choose", exact=True)).to_be_visible()


async def test_headings_begin_with_the_page_and_skip_no_level(url: str, browser: Browser) -> None:
    client = AsyncWebClient(token=WORKSPACE.app.bot_token, base_url=f"{url}/api/")
    header = {"type": "header", "text": {"type": "plain_text", "text": "Pay a supplier"}}
    await client.chat_postMessage(channel=ROOM, text="Pay a supplier", blocks=[header])
    page = await _opened(browser, url)
    await expect(page.get_by_role("heading", name="Pay a supplier")).to_be_visible()
    levels = await page.eval_on_selector_all("h1, h2, h3, h4", "all => all.map((one) => Number(one.tagName[1]))")
    assert levels == [1, 2]
    for name in ("Channels", "Apps"):
        await expect(page.get_by_role("navigation").get_by_role("list", name=name)).to_be_visible()
