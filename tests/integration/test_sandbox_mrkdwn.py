"""mrkdwn is read as Slack reads it, and escaped data is only ever text."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.mrkdwn import escape, parse, parse_plain, walk

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
        read(evil * (40_000 // len(evil)))
