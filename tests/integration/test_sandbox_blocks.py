"""The sandbox's Block Kit limits and mrkdwn.

Every limit of Block Kit that the sandbox enforces, at the limit and one beyond it.

mrkdwn is read as Slack reads it, and escaped data is only ever text.
"""

import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.harness import EXAMPLE, HandClock, served
from sandbox.mrkdwn import escape, parse, parse_plain, walk
from sandbox.server import create_app
from sandbox.slack_errors import Limits
from sandbox.workspace import load_workspace

WORKSPACE = load_workspace(EXAMPLE)
ROOM = "C0APPROVALS"
Block = dict[str, Any]


@pytest.fixture
async def client() -> AsyncIterator[AsyncWebClient]:
    clock = HandClock()
    async with served(create_app(WORKSPACE, clock=clock, sleep=clock.sleep, limits=Limits(channel_burst=1000))) as url:
        yield AsyncWebClient(token=WORKSPACE.app.bot_token, base_url=f"{url}/api/", retry_handlers=[])


def plain(length: int) -> Block:
    return {"type": "plain_text", "text": "x" * length}


def mrkdwn(length: int) -> Block:
    return {"type": "mrkdwn", "text": "x" * length}


def section(**members: Any) -> list[Block]:
    return [{"type": "section", **members}]


def button(**members: Any) -> Block:
    return {"type": "button", "text": plain(4), **members}


def actions(*elements: Block) -> list[Block]:
    return [{"type": "actions", "elements": list(elements)}]


def confirm(**members: Any) -> Block:
    return {"title": plain(1), "text": plain(1), "confirm": plain(1), "deny": plain(1), **members}


def option(number: int) -> Block:
    return {"text": plain(3), "value": str(number)}


def chooser(kind: str, count: int) -> list[Block]:
    return actions({"type": kind, "options": [option(number) for number in range(count)]})


def rich(text: Any) -> list[Block]:
    line = {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": text}]}
    return [{"type": "rich_text", "elements": [line]}]


LIMITS = [
    pytest.param(section(text=mrkdwn(3000)), section(text=mrkdwn(3001)), "/blocks/0/text/text", id="section text 3000"),
    pytest.param(
        section(fields=[mrkdwn(1)] * 10), section(fields=[mrkdwn(1)] * 11), "/blocks/0/fields", id="10 fields"
    ),
    pytest.param(
        section(fields=[mrkdwn(2000)]), section(fields=[mrkdwn(2001)]), "/blocks/0/fields/0/text", id="field text 2000"
    ),
    pytest.param(
        [{"type": "header", "text": plain(150)}],
        [{"type": "header", "text": plain(151)}],
        "/blocks/0/text/text",
        id="header 150",
    ),
    pytest.param(
        [{"type": "context", "elements": [mrkdwn(1)] * 10}],
        [{"type": "context", "elements": [mrkdwn(1)] * 11}],
        "/blocks/0/elements",
        id="10 context elements",
    ),
    pytest.param(actions(*[button()] * 25), actions(*[button()] * 26), "/blocks/0/elements", id="25 actions"),
    pytest.param(actions(button(text=plain(75))), actions(button(text=plain(76))), "/text/text", id="button text 75"),
    pytest.param(
        actions(button(action_id="a" * 255)), actions(button(action_id="a" * 256)), "/action_id", id="action_id 255"
    ),
    pytest.param(actions(button(value="a" * 2000)), actions(button(value="a" * 2001)), "/value", id="value 2000"),
    pytest.param(
        actions(button(url="https://x.example/" + "a" * 2982)),
        actions(button(url="https://x.example/" + "a" * 2983)),
        "/url",
        id="url 3000",
    ),
    pytest.param(
        actions(button(accessibility_label="a" * 75)),
        actions(button(accessibility_label="a" * 76)),
        "/accessibility_label",
        id="accessibility label 75",
    ),
    pytest.param(
        actions(button(confirm=confirm(title=plain(100)))),
        actions(button(confirm=confirm(title=plain(101)))),
        "/confirm/title/text",
        id="confirm title 100",
    ),
    pytest.param(
        [{"type": "divider", "block_id": "b" * 255}],
        [{"type": "divider", "block_id": "b" * 256}],
        "/blocks/0/block_id",
        id="block_id 255",
    ),
    pytest.param(chooser("static_select", 100), chooser("static_select", 101), "/options", id="100 options"),
    pytest.param(chooser("radio_buttons", 10), chooser("radio_buttons", 11), "/options", id="10 radio buttons"),
    pytest.param(chooser("overflow", 5), chooser("overflow", 6), "/options", id="5 entries of a menu"),
    pytest.param(chooser("checkboxes", 10), chooser("checkboxes", 11), "/options", id="10 checkboxes"),
    pytest.param([{"type": "divider"}] * 50, [{"type": "divider"}] * 51, "/blocks]", id="50 blocks"),
]


async def refused(client: AsyncWebClient, blocks: Any) -> dict[str, Any]:
    with pytest.raises(SlackApiError) as caught:
        await client.chat_postMessage(channel=ROOM, text="x", blocks=blocks)
    body: dict[str, Any] = caught.value.response.data
    return body


@pytest.mark.parametrize(("fits", "exceeds", "path"), LIMITS)
async def test_a_block_at_the_limit_passes_and_one_beyond_is_named(
    client: AsyncWebClient, fits: list[Block], exceeds: list[Block], path: str
) -> None:
    assert (await client.chat_postMessage(channel=ROOM, text="x", blocks=fits))["ok"] is True
    body = await refused(client, exceeds)
    assert body["error"] == "invalid_blocks"
    assert [path in message for message in body["response_metadata"]["messages"]] == [True]
    assert body["response_metadata"]["messages"][0].startswith("[ERROR] ")


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([{"type": "video"}], "unsupported type: video [json-pointer:/blocks/0/type]"),
        ([{}], "missing required field: type [json-pointer:/blocks/0]"),
        (section(), "missing required field: text or fields [json-pointer:/blocks/0]"),
        (section(text=mrkdwn(0)), "must be more than 0 characters [json-pointer:/blocks/0/text/text]"),
        (section(text="bare"), "missing required field: type [json-pointer:/blocks/0/text]"),
        (section(text=mrkdwn(1), colour="red"), "invalid additional property: colour [json-pointer:/blocks/0]"),
        ([{"type": "header", "text": mrkdwn(1)}], "unsupported type: mrkdwn [json-pointer:/blocks/0/text/type]"),
        (actions(), "must provide at least 1 items [json-pointer:/blocks/0/elements]"),
        (
            actions(button(style="loud")),
            "value must be one of: primary, danger [json-pointer:/blocks/0/elements/0/style]",
        ),
        (actions(button(url="javascript:1")), "invalid url [json-pointer:/blocks/0/elements/0/url]"),
        (actions(button(value=7)), "must be a string [json-pointer:/blocks/0/elements/0/value]"),
        (section(text={**plain(1), "emoji": 1}), "must be a boolean [json-pointer:/blocks/0/text/emoji]"),
        (section(text=mrkdwn(1), fields={}), "must be an array [json-pointer:/blocks/0/fields]"),
        (actions(button(confirm="sure?")), "must be an object [json-pointer:/blocks/0/elements/0/confirm]"),
        (rich(7), "must be a string [json-pointer:/blocks/0/elements/0/elements/0/text]"),
        (
            actions(button(action_id="a"), button(action_id="a")),
            "action_id must be unique within a block [json-pointer:/blocks/0/elements]",
        ),
        (
            [{"type": "divider", "block_id": "b"}, {"type": "divider", "block_id": "b"}],
            "block_id already exists: b [json-pointer:/blocks/1/block_id]",
        ),
        ([{"type": "header"}], "missing required field: text [json-pointer:/blocks/0]"),
    ],
)
async def test_a_malformed_block_is_refused_with_its_place(
    client: AsyncWebClient, blocks: list[Block], message: str
) -> None:
    body = await refused(client, blocks)
    assert body["error"] == "invalid_blocks"
    assert message in body["errors"]


async def test_blocks_that_are_no_list_of_objects_are_refused(client: AsyncWebClient) -> None:
    assert (await refused(client, {"type": "divider"}))["error"] == "invalid_blocks_format"
    assert (await refused(client, ["divider"]))["error"] == "invalid_blocks_format"


async def test_blocks_together_may_not_exceed_what_slack_takes(client: AsyncWebClient) -> None:
    fits = [*section(text=mrkdwn(3000)) * 4, *section(text=mrkdwn(1200))]
    assert (await client.chat_postMessage(channel=ROOM, text="x", blocks=fits))["ok"] is True
    assert (await refused(client, [*fits, *section(text=mrkdwn(1))]))["error"] == "msg_blocks_too_long"


async def test_ids_are_made_up_where_they_are_missing(client: AsyncWebClient) -> None:
    blocks = [{"type": "divider"}, *actions(button(), button())]
    posted = (await client.chat_postMessage(channel=ROOM, text="x", blocks=blocks))["message"]["blocks"]
    assert len({block["block_id"] for block in posted}) == 2
    assert len({one["action_id"] for one in posted[1]["elements"]}) == 2


async def test_text_comes_back_as_slack_stores_it(client: AsyncWebClient) -> None:
    blocks = section(
        text={"type": "plain_text", "text": "a & b < c &amp; d"}, fields=[{"type": "mrkdwn", "text": "a & <@U0ANNA>"}]
    )
    stored = (await client.chat_postMessage(channel=ROOM, text="a & b", blocks=blocks))["message"]
    assert stored["text"] == "a &amp; b"
    [block] = stored["blocks"]
    assert block["text"] == {"type": "plain_text", "text": "a &amp; b &lt; c &amp; d", "emoji": True}
    assert block["fields"] == [{"type": "mrkdwn", "text": "a &amp; <@U0ANNA>", "verbatim": False}]


NAMES = {"U1": "Anna Berg", "C1": "approvals"}


def read(text: str, *, verbatim: bool = False) -> list[dict[str, Any]]:
    return parse(text, NAMES.get, verbatim=verbatim)


def text(value: str) -> dict[str, str]:
    return {"t": "text", "v": value}


@pytest.mark.parametrize(
    ("source", "nodes"),
    [
        ("*b*", [{"t": "bold", "c": [text("b")]}]),
        ("_i_", [{"t": "italic", "c": [text("i")]}]),
        ("~s~", [{"t": "strike", "c": [text("s")]}]),
        ("*a _b_*", [{"t": "bold", "c": [text("a "), {"t": "italic", "c": [text("b")]}]}]),
        ("`*c*`", [{"t": "code", "v": "*c*"}]),
        ("```\na *b*\n> c\n```", [{"t": "pre", "v": "a *b*\n> c"}]),
        ("&gt; q\n> r\ns", [{"t": "quote", "c": [text("q\nr")]}, text("s")]),
        ("<@U1>", [{"t": "user", "id": "U1", "v": "@Anna Berg"}]),
        ("<@U9|eve>", [{"t": "user", "id": "U9", "v": "@eve"}]),
        ("<#C1>", [{"t": "channel", "id": "C1", "v": "#approvals"}]),
        ("<!channel>", [{"t": "broadcast", "id": "channel", "v": "@channel"}]),
        ("<!subteam^S1|@ops>", [{"t": "broadcast", "id": "subteam^S1", "v": "@ops"}]),
        ("<!date^1^{date}|May 1>", [{"t": "date", "at": 1, "format": "{date}", "v": "May 1"}]),
        (
            "<!date^1^{date} at {time}^https://a.example/|x>",
            [{"t": "date", "at": 1, "format": "{date} at {time}", "v": "x"}],
        ),
        ("<!date^soon^{date}|May 1>", [text("May 1")]),
        ("<!date^1^no format|May 1>", [text("May 1")]),
        ("<https://x.example|ok>", [{"t": "link", "url": "https://x.example", "v": "ok"}]),
        ("<mailto:a@b.example>", [{"t": "link", "url": "mailto:a@b.example", "v": "mailto:a@b.example"}]),
        ("see https://x.example/?a=1&amp;b=2.", None),
        (":x: :nope:", [{"t": "emoji", "v": "❌"}, text(" :nope:")]),
    ],
)
def test_a_form_that_slack_knows_is_read(source: str, nodes: list[dict[str, Any]] | None) -> None:
    link = {"t": "link", "url": "https://x.example/?a=1&b=2", "v": "https://x.example/?a=1&b=2"}
    assert read(source) == (nodes or [text("see "), link, text(".")])


@pytest.mark.parametrize(
    "source",
    [
        "2*3*4",
        "* a *",
        "snake_case_name",
        "*a\nb*",
        "<nonsense>",
        "<javascript:alert(1)|x>",
        "a < b > c",
        "@channel",
        "``",
    ],
)
def test_what_slack_leaves_alone_stays_text(source: str) -> None:
    assert [node["t"] for node in walk(read(source))] == ["text"] * len(read(source))


@pytest.mark.parametrize("source", ["&lt;!channel&gt;", "&lt;@U1&gt;", "&lt;https:|x&gt;", "&amp;lt;!here&amp;gt;"])
def test_escaped_forms_are_text(source: str) -> None:
    assert [node["t"] for node in read(source)] == ["text"]


def test_bare_links_become_links_unless_verbatim() -> None:
    assert [node["t"] for node in read("https://x.example")] == ["link"]
    assert read("https://x.example", verbatim=True) == [text("https://x.example")]


def test_a_bare_link_ends_where_escaped_brackets_begin() -> None:
    assert read("&lt;https://evil.example|ok&gt;")[1]["url"] == "https://evil.example"


@given(st.text(max_size=300))
def test_escaped_data_mentions_nobody_and_loses_nothing(data: str) -> None:
    nodes = list(walk(read(escape(data), verbatim=True)))
    assert not {node["t"] for node in nodes} & {"user", "channel", "broadcast", "link"}


@given(st.text(max_size=300))
def test_plain_text_shows_escaped_data_exactly(data: str) -> None:
    assert "".join(node["v"] for node in parse_plain(escape(data), emoji=False)) == data


@given(st.text(alphabet="*_~`<>|@!:&;>\n ahtps/.", max_size=200))
def test_any_text_can_be_read(data: str) -> None:
    assert all(node.get("v") or node.get("c") or node["t"] == "quote" for node in walk(read(data)))


def test_reading_takes_time_in_proportion_to_the_length() -> None:
    for evil in ("*a ", "<", "`", "_*~", "*<a>", ":a", "https://", "&gt; "):
        some, more = (calls_in_reading(evil * (size // len(evil))) for size in (5_000, 20_000))
        assert more <= 5 * some, evil


def calls_in_reading(text: str) -> int:
    """Return how many functions are called to read a text."""
    count = 0

    def look(_: object, event: str, __: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(look)
    try:
        read(text)
    finally:
        sys.setprofile(None)
    return count
