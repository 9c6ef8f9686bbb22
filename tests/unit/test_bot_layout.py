"""JSON is laid out for people, and what changes is told down to the nested fields; no value passes for structure."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.views.blocks import bold
from bot.views.value_blocks import Level, change_blocks, grid_blocks
from bot.views.values import ABSENT, MISSING, Change, Diff, Grid, Path, Row, cell, diff, label, laid_out, line_of
from tests.unit.bot_samples import HOSTILE, read_cell

TEXTS = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=["Cs"]), max_size=80))
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.sampled_from(["", "a", "b", "·", "→", "1"]))
JSON = st.recursive(
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


@given(JSON)
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


@given(JSON, JSON)
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
@given(TEXTS)
def test_no_value_adds_a_part_to_a_line_of_ours(text: str) -> None:
    assert [_parts(line) for line in lines_of(text)] == [_parts(line) for line in lines_of("x")]


def _parts(line: str) -> tuple[int, int, int]:
    return line.count("·"), line.count("→"), line.count("\n")


@settings(deadline=None)
@given(st.one_of(TEXTS, SCALARS, st.just([]), st.just({})))
def test_a_value_alone_in_a_cell_passes_for_no_other(value: Any) -> None:
    shown = cell(value, 1_000_000, 1_000_000)
    assert repr(read_cell(shown)) == repr(value)
    assert (shown["type"] == "plain_text") == (isinstance(value, str) and value != "")
