"""What a request sets and what it changes, as far as there is room on its card."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bot.views.blocks import Block, bold, context, plain_text
from bot.views.changes import Diff, diff
from bot.views.declared import field_blocks, message_table, table_blocks
from bot.views.formats import formatted_part, title_of
from bot.views.shown import (
    Level,
    change_blocks,
    change_line,
    fact_rows,
    grid_blocks,
    group,
    left_out,
    message_grid,
    split,
)
from bot.views.text import Shown
from bot.views.values import Grid, Piece, in_line, is_for_machines, label, laid_out, line_of
from runtime.model.approval import AskKind
from runtime.services.approval_view import ApprovalView

_KEY, _IN_LINE = 120, 60
"""Characters of a key fact, and of one in a line."""


def pieces_of(view: ApprovalView) -> list[Piece]:
    """Return what is set, or looked at, without a value before, and is not hidden by its author."""
    shown = [one for one in view.fields if one.before is None and one.name not in view.declared.hide]
    return [piece for one in shown for piece in laid_out(one.after, (one.name,))]


def diff_of(view: ApprovalView) -> Diff:
    """Return what changes, of the fields whose present value is known."""
    return _together([found for _, found in _diffs(view)])


def _diffs(view: ApprovalView) -> list[tuple[str, Diff]]:
    """Return what changes in each of these fields, beside its name."""
    return [(one.name, diff(one.before, one.after, (one.name,))) for one in view.fields if one.before is not None]


def _together(found: Sequence[Diff]) -> Diff:
    return Diff(tuple(change for one in found for change in one.changes), sum(one.same for one in found))


def key_blocks(view: ApprovalView, level: Level, *, in_message: bool = False) -> list[Block]:
    """Return the facts by which one decides: those that its author wants seen, else what changes, else what is set.

    A message that has no table yet takes a list of objects as one.
    """
    short = replace(level, chars=min(level.chars, _KEY), lines=min(level.lines, 2))
    declared = [*field_blocks(view, short), *table_blocks(view, short)]
    return declared or changing(view, short) or fact_blocks(view, short, in_message=in_message)


def card_blocks(view: ApprovalView, level: Level) -> list[Block]:
    """Return the same for a message, with the first of its tables as Slack's own."""
    found = view.declared.tables
    if not found:
        return key_blocks(view, level, in_message=True)
    rest = key_blocks(replace(view, declared=replace(view.declared, tables=found[1:])), level)
    fields = field_blocks(view, level)
    return [*rest[: len(fields)], *message_table(found[0], level), *rest[len(fields) :]]


def other_blocks(view: ApprovalView, level: Level) -> list[Block]:
    """Return what a request changes and sets, as far as `key_blocks` does not show it."""
    if view.declared.fields or view.declared.tables:
        return changing(view, level)
    return fact_blocks(view, level) if changing(view, level) else []


def key_line(view: ApprovalView) -> Shown:
    """Return the first of these facts in one line, "" where there is none."""
    if view.declared.fields:
        field = view.declared.fields[0]
        return Shown(f"{title_of(field.label)}: {formatted_part(field.value, field.format, _IN_LINE)}")
    if changes := diff_of(view).changes:
        return Shown(f"{label(changes[0].path)}: {change_line(changes[0], _IN_LINE)}")
    facts = sorted(split(pieces_of(view))[0], key=lambda fact: is_for_machines(fact.value))
    return Shown(f"{label(facts[0].path)}: {_in_line(facts[0].value)}") if facts else Shown("")


def _in_line(value: Any) -> Shown:
    return line_of(value, _IN_LINE) if isinstance(value, list) and value else in_line(value, _IN_LINE)


def count_fields(view: ApprovalView) -> int:
    """Return how many values a request sets."""
    return _count(view, {one.name for one in view.fields})


def fact_blocks(view: ApprovalView, level: Level, *, in_message: bool = False) -> list[Block]:
    """Return the first of what is set, and how much there is beside it."""
    facts, grids = split(pieces_of(view))
    # what changes says more than a table of what does not
    seen = 1 if grids and not diff_of(view).changes else 0
    facts.sort(key=lambda fact: is_for_machines(fact.value))
    lay = message_grid if in_message else grid_blocks
    shown = [block for grid in grids[:seen] for block in lay(grid, plain_text(label(grid.path)), level)]
    hidden = len(facts[level.facts :]) + sum(grid.count for grid in grids[seen:])
    hidden += 0 if in_message else sum(_hidden(grid, level) for grid in grids[:seen])
    hidden += _count(view, {one.name for one in view.fields if one.before is None and one.name in view.declared.hide})
    words = "To review" if view.kind is AskKind.TASK else "New values"
    return group(words, [*fact_rows(facts[: level.facts], level), *shown, *left_out(hidden, "value")])


def _count(view: ApprovalView, names: set[str]) -> int:
    """Return how many values there are in these fields."""
    pieces = (piece for one in view.fields if one.name in names for piece in laid_out(one.after, (one.name,)))
    return sum(piece.count for piece in pieces)


def _hidden(grid: Grid, level: Level) -> int:
    return max(grid.count - level.grid, 0)


def changing(view: ApprovalView, level: Level) -> list[Block]:
    """Return what changes, and how much stays."""
    every = _diffs(view)
    found = _together([one for name, one in every if name not in view.declared.hide])
    same = [context(bold(f"{found.same:,} {'value' if found.same == 1 else 'values'} unchanged"))]
    shown = change_blocks(found.changes[: level.changes], level)
    count = sum(len(one.changes) for _, one in every)
    rest = left_out(count - len(found.changes[: level.changes]), "change")
    return group("Changes", [*shown, *rest, *(same if found.same else [])])
