"""Data is shown exactly, visibly, and without meaning to Slack."""

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.views.text import chunks, clip, legible, mrkdwn, one_line, plain, render, short, units, visible_length
from sandbox.mrkdwn import parse, parse_plain
from tests.unit.bot_samples import HOSTILE, read, value_of

CHARS = st.text(st.characters(), max_size=300)
MARKUP = st.text(st.sampled_from("*_~`:<>@#!|&;ab1 \n/htps.⟨\u202e"), max_size=60)
TEXTS = st.one_of(CHARS, MARKUP, st.sampled_from(HOSTILE))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=10,
)


def nobody(_: str) -> None:
    """Know no names."""


@given(TEXTS)
def test_what_is_shown_reads_back_as_the_original(text: str) -> None:
    assert read(plain(text)) == text
    assert read(mrkdwn(text)) == text


@given(TEXTS)
def test_nothing_shown_is_invisible_or_reorders(text: str) -> None:
    for char in plain(text).replace("\n", " ").replace(" ", ""):
        assert unicodedata.category(char) not in {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"}
        assert char not in "\u034f\u115f\u1160\u2800\u3164\uffa0\ufe0f"


def test_marks_that_pile_up_on_a_letter_are_named_after_the_fourth() -> None:
    piled = "a" + "\u0301" * 7 + "b"
    assert plain(piled) == "a" + "\u0301" * 4 + "⟨U+0301⟩" * 3 + "b"
    assert read(plain(piled)) == piled


@given(TEXTS)
def test_no_mention_link_emoji_or_format_survives_in_a_notification(text: str) -> None:
    nodes = parse(legible(text), nobody)
    assert all(node["t"] == "text" for node in nodes)


def test_a_notification_reads_as_what_it_says() -> None:
    assert legible("at 10:30:15, *urgent*, kyc::file https://a.example") == (
        "at 10∶30:15, ∗urgent∗, kyc::file https∶//a.example"  # noqa: RUF001
    )


@given(TEXTS)
def test_no_mention_link_emoji_or_format_survives_in_mrkdwn(text: str) -> None:
    nodes = parse(mrkdwn(text), nobody)
    assert all(node["t"] == "text" for node in nodes)


@given(TEXTS)
def test_plain_text_is_drawn_as_the_characters_that_were_given(text: str) -> None:
    drawn = "".join(node["v"] for node in parse_plain(plain(text), emoji=False))
    assert re.sub(r"⟨U\+([0-9A-F]{4,6})⟩", lambda match: chr(int(match[1], 16)), drawn) == text


@given(TEXTS, st.integers(min_value=12, max_value=200))
def test_chunks_lose_nothing_and_fit(text: str, limit: int) -> None:
    parts = chunks(text, limit)
    assert "".join(parts) == plain(text)
    assert all(0 < units(part) <= limit for part in parts)


@given(TEXTS, st.integers(min_value=12, max_value=200))
def test_a_chunk_never_ends_inside_an_entity_or_a_token(text: str, limit: int) -> None:
    for part in chunks(text, limit):
        assert not re.search(r"&[a-z]*$|⟨[^⟩]*$", part)


def test_a_chunk_ends_at_white_space_near_its_end() -> None:
    assert chunks("a" * 18 + " bcd", 20) == ["a" * 18 + " ", "bcd"]


def test_a_chunk_does_not_part_a_letter_from_its_accent() -> None:
    assert chunks("aaa" + "e\u0301" * 5, 4)[0] == "aaa"


@given(TEXTS, st.integers(min_value=12, max_value=200), st.integers(min_value=1, max_value=5))
def test_a_cut_counts_every_character_that_it_leaves_out(text: str, limit: int, lines: int) -> None:
    head, hidden = clip(text, limit, lines)
    assert text.startswith(head)
    assert len(head) + hidden == len(text)
    assert units(plain(head)) <= limit
    assert head.count("\n") < lines


@pytest.mark.parametrize(
    ("text", "length"), [("", 0), ("abc", 3), ("é株", 2), ("a😀", 3), ("\ud800", 1), ("\udfff\ud800😀", 4)]
)
def test_a_length_is_counted_in_units_of_utf_16(text: str, length: int) -> None:
    assert units(text) == length


def test_a_cut_is_said() -> None:
    assert short("x" * 10_000, 20) == "x" * 20 + "\n… 9,980 more characters — Show all"
    assert short("x" * 21, 20, lines=1) == "x" * 20 + " … 1 more character — Show all"
    assert short("x" * 20, 20) == "x" * 20


@given(JSON)
@example("5")
@example("")
@example(" padded ")
@example('"quoted"')
def test_a_rendered_value_stands_for_no_other_value(value: object) -> None:
    assert value_of(render(value)) == value
    assert render(value)


@pytest.mark.parametrize(("value", "shown"), [("Ann", "Ann"), ("5", '"5"'), (5, "5"), ("", '""'), (None, "null")])
def test_a_string_stands_bare_unless_it_could_be_mistaken(value: object, shown: str) -> None:
    assert render(value) == shown


def test_padding_cannot_push_text_out_of_sight() -> None:
    assert "\n\n\n" not in plain("a" + "\n" * 50 + "b")
    assert " " * 17 not in plain("a" + " " * 50 + "b")


def test_invisible_characters_do_not_count_as_a_reason() -> None:
    assert visible_length(" \u200b\u202e\u3164\n\u2800") == 0
    assert visible_length("no ☂") == 3


def test_a_name_stands_on_one_line() -> None:
    assert one_line("Anna\n Berg\t(x)") == "Anna Berg (x)"
