"""Rows, tables and changes as blocks, with as much of the data as there is room for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bot.views.blocks import Block, bold, context, heading, plain_text, rows_of, table
from bot.views.changes import ABSENT, Change
from bot.views.text import Shown, render, short
from bot.views.values import Grid, Piece, Row, cell, in_line, label

# Values up to this length stand side by side in one line.
_BESIDE = 48
_IN_TABLE = 32
_CELL, _COLUMNS = 40, 20
"""Characters of a cell of Slack's table, and columns of one."""


@dataclass(frozen=True)
class Level:
    """How much is shown: characters and lines of a value, and how many facts, changes, lines of tables, and others."""

    chars: int
    lines: int
    facts: int
    changes: int
    grid: int
    others: int

    def value(self, value: Any) -> Shown:
        """Return a value as text, cut to this level; the cut is said."""
        return short(render(value), self.chars, self.lines)

    def cell(self, value: Any) -> Block:
        """Return a value alone in a cell."""
        return cell(value, self.chars, self.lines)


def left_out(count: int, what: str) -> list[Block]:
    """Return the words that say how much is not shown here."""
    return [context(bold(f"… {count:,} more {what}{'s' if count > 1 else ''} — Show all"))] if count > 0 else []


def fact_rows(facts: Sequence[Row], level: Level) -> list[Block]:
    """Return labelled rows."""
    return rows_of([(plain_text(label(fact.path)), level.cell(fact.value)) for fact in facts])


def grid_blocks(grid: Grid, title: Block, level: Level) -> list[Block]:
    """Return a table of two columns: the first member of each line, and all the others."""
    head, *rest = grid.columns
    names = (plain_text(label((head,))), plain_text(Shown(" · ".join(label((name,)) for name in rest) or "—")))
    lines = grid.lines[: level.grid]
    body = [(level.cell(line[0]), _rest(line[1:], level)) for line in lines]
    return [{"type": "section", "text": title}, *rows_of([names, *body])]


def message_grid(grid: Grid, title: Block, level: Level) -> list[Block]:
    """Return a table as Slack's own, for a message that has no other; what is left out is counted."""
    names = grid.columns[:_COLUMNS]
    lines = [line[: len(names)] for line in grid.lines[: level.grid]]
    body = [[in_line(value, _CELL) for value in line] for line in lines]
    right = {at for at, column in enumerate(zip(*lines, strict=True)) if all(map(_is_number, column))}
    shown = table([[label((name,), _CELL) for name in names], *body], right=right)
    columns = left_out(len(grid.columns) - len(names), "column")
    return [{"type": "section", "text": title}, shown, *columns, *left_out(grid.count - len(lines), "line")]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _rest(values: Sequence[Any], level: Level) -> Block:
    room = max(min(level.chars // max(len(values), 1), _IN_TABLE), 8)
    return plain_text(Shown(" · ".join(in_line(value, room) for value in values) or "—"))


def change_blocks(changes: Sequence[Change], level: Level) -> list[Block]:
    """Return what changes: short values in one line, others side by side."""
    blocks, beside = list[Block](), list[tuple[Block, Block]]()
    for change in changes:
        if (line := _line(change)) is not None:
            beside.append((plain_text(label(change.path)), plain_text(line)))
            continue
        blocks += rows_of(beside)
        beside = []
        blocks.append(_side_by_side(change, level))
    return [*blocks, *rows_of(beside)]


def _line(change: Change) -> Shown | None:
    """Return a change in one line, whose arrow no value has; None where that says too little."""
    if change.after is ABSENT or not all(map(_is_short, _values(change))):
        return None
    now = "" if change.before is ABSENT else f"{in_line(change.before, _BESIDE)} "
    return Shown(f"{now}→ {in_line(change.after, _BESIDE)}")


def change_line(change: Change, room: int) -> Shown:
    """Return a change in one line, whatever its values."""
    now, after = (Shown("not set") if one is ABSENT else in_line(one, room) for one in _values(change))
    return Shown(f"→ {after}" if change.before is ABSENT else f"{now} → {after}")


def _is_short(value: Any) -> bool:
    return not isinstance(value, str) or (len(value) <= _BESIDE and "\n" not in value)


def _values(change: Change) -> tuple[Any, Any]:
    return change.before, change.after


def _side_by_side(change: Change, level: Level) -> Block:
    cells = (bold("not set") if value is ABSENT else level.cell(value) for value in _values(change))
    text = plain_text(label(change.path))
    return {"type": "section", "text": text, "fields": [bold("Now"), bold("→ After"), *cells]}


def group(words: str, blocks: list[Block]) -> list[Block]:
    """Return blocks under a heading of ours, or nothing."""
    return [heading(words), *blocks] if blocks else []


def split(pieces: Sequence[Piece]) -> tuple[list[Row], list[Grid]]:
    """Return the rows and the tables among what is laid out."""
    return [one for one in pieces if isinstance(one, Row)], [one for one in pieces if isinstance(one, Grid)]
