"""Text and values on cards: exact, visible, laid out, and without meaning to Slack.

Data is shown exactly, visibly, and without meaning to Slack.

JSON is laid out for people, and what changes is told down to the nested fields; no value passes for structure.

What Slack shows under a link of ours: how it stands in a line or two, and nothing to decide by or with.
"""

import re
import unicodedata
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.views.blocks import bold
from bot.views.links import card_link, joined_links, link_line, request_unfurl, run_unfurl
from bot.views.text import chunks, clip, legible, mrkdwn, one_line, plain, render, short, units, visible_length
from bot.views.value_blocks import Level, change_blocks, grid_blocks
from bot.views.values import ABSENT, MISSING, Change, Diff, Grid, Path, Row, cell, diff, label, laid_out, line_of
from bot.views.wording import status_words
from runtime.model.states import ApprovalStatus, RunStatus, StepStatus
from runtime.services.approval_view import ApprovalView
from runtime.services.requests import RunView
from sandbox.mrkdwn import parse, parse_plain
from tests.unit.bot_samples import ANNA, HOSTILE, KYC, NOW, read, read_cell, text_objects, value_of

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


LAYOUT_TEXTS = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=["Cs"]), max_size=80))
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.sampled_from(["", "a", "b", "·", "→", "1"]))
LAYOUT_JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_leaves=12,
)
LEVEL = Level(10_000, 100, 9, 9, 9, 9)


def leaves(value: Any, path: Path = ()) -> dict[Path, Any]:
    """Return every value that holds no other, under its path."""
    members: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        members = list(value.items())
    elif isinstance(value, list):
        members = list(enumerate(value, 1))
    if not members:
        return {path: value}
    return {at: leaf for part, member in members for at, leaf in leaves(member, (*path, part)).items()}


@given(LAYOUT_JSON)
def test_every_leaf_of_a_value_is_laid_out_once(value: Any) -> None:
    found: dict[Path, Any] = {}
    for piece in laid_out(value):
        if isinstance(piece, Row):
            found |= leaves(piece.value, piece.path)
        else:
            for number, line in enumerate(piece.lines, 1):
                named = zip(piece.columns, line, strict=True)
                found |= {(*piece.path, number, name): one for name, one in named if one is not MISSING}
    assert found == leaves(value)


@given(LAYOUT_JSON, LAYOUT_JSON)
def test_a_diff_tells_what_changes_and_counts_what_stays(before: Any, after: Any) -> None:
    found = diff(before, after)
    old, new = leaves(before), leaves(after)
    for change in found.changes:
        assert repr(change.before) != repr(change.after)
        assert change.before is ABSENT or any(repr(change.before) == repr(one) for one in [*old.values(), [], {}])
        assert change.after is ABSENT or any(repr(change.after) == repr(one) for one in [*new.values(), [], {}])
    assert found.same <= min(len(old), len(new))
    assert diff(after, after) == Diff((), len(new))


def test_a_diff_goes_down_to_the_nested_fields() -> None:
    before = {"owner": {"name": "Ann", "share": 25}, "tags": ["a", "b"], "old": 1}
    after = {"owner": {"name": "Ann", "share": 51}, "tags": ["x", "a", "b"], "new": {"deep": None}}
    assert diff(before, after) == Diff(
        (
            Change(("owner", "share"), 25, 51),
            Change(("tags", 1), ABSENT, "x"),
            Change(("new", "deep"), ABSENT, None),
            Change(("old",), 1, ABSENT),
        ),
        3,
    )


@pytest.mark.parametrize(("before", "after"), [(1, True), (0, False), ("1", 1), (None, ""), ([], {}), ("", [])])
def test_values_of_another_type_are_a_change(before: Any, after: Any) -> None:
    assert diff({"a": before}, {"a": after}).changes == (Change(("a",), before, after),)


def test_an_object_in_the_place_of_a_text_is_told_in_both_parts() -> None:
    assert diff("x", {"a": 1}, ("f",)).changes == (Change(("f",), "x", ABSENT), Change(("f", "a"), ABSENT, 1))


def test_long_lists_are_compared_place_by_place() -> None:
    before, after = list(range(1000)), [-1, *range(1, 1000)]
    assert diff(before, after) == Diff((Change((1,), 0, -1),), 999)


def lines_of(text: str) -> list[str]:
    """Return every line in which a value stands beside words of ours, or beside another value."""
    flat = " ".join(text.split())[:40]
    grid = Grid((text, "owners"), ("name", text, "basis"), ((1, text, text), (1, None, text)))
    changes = [Change(("a", text), flat, f"{flat}x"), Change((text,), ABSENT, flat)]
    blocks = [*grid_blocks(grid, bold("x"), LEVEL), *change_blocks(changes, LEVEL)]
    cells = [field["text"] for block in blocks for field in block.get("fields", [])]
    return [*cells[1::2], label((text, 1, text)), line_of([text, text], 1_000_000)]


@settings(deadline=None)
@given(LAYOUT_TEXTS)
def test_no_value_adds_a_part_to_a_line_of_ours(text: str) -> None:
    assert [_parts(line) for line in lines_of(text)] == [_parts(line) for line in lines_of("x")]


def _parts(line: str) -> tuple[int, int, int]:
    return line.count("·"), line.count("→"), line.count("\n")


@settings(deadline=None)
@given(st.one_of(LAYOUT_TEXTS, SCALARS, st.just([]), st.just({})))
def test_a_value_alone_in_a_cell_passes_for_no_other(value: Any) -> None:
    shown = cell(value, 1_000_000, 1_000_000)
    assert repr(read_cell(shown)) == repr(value)
    assert (shown["type"] == "plain_text") == (isinstance(value, str) and value != "")


CARD = card_link("https://acme.slack.com/", ("C1", "12.34"))


def shown(blocks: Any) -> str:
    return "\n".join(one["text"] for one in text_objects(blocks))


def of(**changes: Any) -> tuple[ApprovalView, str]:
    view = replace(KYC, **changes)
    return view, shown(request_unfurl(view, CARD, NOW))


def test_what_waits_says_who_is_asked_how_far_it_is_and_until_when() -> None:
    view, words = of(votes=(ANNA,))
    assert words.startswith("🟡 Approval needed: ")
    assert "2 people from compliance · 1 of 2 approvals" in words
    assert f"expires <!date^{int(view.expires_at.timestamp())}^" in words
    assert "<https://acme.slack.com/archives/C1/p1234|Open the card>" in words


def test_what_is_over_says_how_and_when_and_asks_nobody() -> None:
    decided = NOW + timedelta(minutes=5)
    _, words = of(status=ApprovalStatus.REJECTED, votes=(ANNA,), decided_at=decided)
    assert words.startswith("⛔ Rejected: ")
    assert f"decided <!date^{int(decided.timestamp())}^" in words
    assert "people from" not in words


def test_what_has_run_out_of_time_does_not_look_as_if_it_waited() -> None:
    assert of(expires_at=NOW)[1].startswith("⌛ Time is up: ")


def test_it_says_of_when_it_is_and_that_it_is_on_mocks() -> None:
    _, words = of(mocked=True)
    assert words.startswith("On mocks: 🟡 Approval needed: ")
    assert f"as of <!date^{int(NOW.timestamp())}^" in words


def test_no_param_no_reason_and_no_vote_is_shown() -> None:
    view, words = of(votes=(ANNA,))
    told = [str(field.after) for field in view.fields] + [ANNA.reason, ANNA.person_name, *map(str, view.reasons)]
    assert not [one for one in told if one in words]


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        ("waiting_approval", "waits for approval"),
        ("failed_terminal", "failed"),
        ("succeeded", "succeeded"),
        ("timed_out", "timed out"),
    ],
)
def test_a_run_says_how_it_stands_or_ended(ending: str, words: str) -> None:
    run = RunView("run_1", "REF-1", "kyc v2", ending, "an error", "rita", NOW, None, ())
    said = shown(run_unfurl(run, None, NOW))
    assert said.startswith(f"REF-1: {words}\nkyc v2\n")
    assert "an error" not in said
    assert "Open the card" not in said


@pytest.mark.parametrize("status", [*RunStatus, *StepStatus])
def test_no_state_is_told_as_the_database_writes_it(status: str) -> None:
    assert "_" not in status_words(status)
    assert not {"retryable", "terminal", "parked", "pending"} & set(status_words(status).split())


def test_where_there_is_no_link_nothing_is_shown_of_one() -> None:
    assert link_line("") == []
    assert joined_links(None, "") == ""
    assert joined_links(CARD, "") == CARD
