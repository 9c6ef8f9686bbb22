"""Values as blocks: rows, tables and changes, cut to the room on a card, or in full for the pages of "Show all"."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bot.views.blocks import Block, bold, context, heading, plain_text, rows_of, section, table
from bot.views.text import Shown, chunks, plain, render, short, units
from bot.views.values import (
    ABSENT,
    MISSING,
    Change,
    Grid,
    Path,
    Piece,
    Row,
    cell,
    in_line,
    label,
    text_of,
    word_of,
    words,
)

# Values up to this length stand side by side in one line.
_BESIDE = 48
_IN_TABLE = 32
_TABLE_CELL, _COLUMNS = 40, 20
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
    body = [[in_line(value, _TABLE_CELL) for value in line] for line in lines]
    right = {at for at, column in enumerate(zip(*lines, strict=True)) if all(map(_is_number, column))}
    shown = table([[label((name,), _TABLE_CELL) for name in names], *body], right=right)
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
        if (line := _short_change(change)) is not None:
            beside.append((plain_text(label(change.path)), plain_text(line)))
            continue
        blocks += rows_of(beside)
        beside = []
        blocks.append(_side_by_side(change, level))
    return [*blocks, *rows_of(beside)]


def _short_change(change: Change) -> Shown | None:
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


def under_heading(words: str, blocks: list[Block]) -> list[Block]:
    """Return blocks under a heading of ours, or nothing."""
    return [heading(words), *blocks] if blocks else []


def rows_and_grids(pieces: Sequence[Piece]) -> tuple[list[Row], list[Grid]]:
    """Return the rows and the tables among what is laid out."""
    return [one for one in pieces if isinstance(one, Row)], [one for one in pieces if isinstance(one, Grid)]


_CHUNK = 2900
_FULL_CELL = 1800
_FULL_LINE = 900
_WIDEST = 12
"""Units that one character of a text takes at most, with what is put around it."""
_WHOLE = 1_000_000
"""Units that no label and no cell has."""

Unit = list[Block]
"""Blocks that stand on the same page."""


def value_units(name: str | Path, value: Any) -> Iterator[Unit]:
    """Yield a value beside its name, or under it where it is long, in as many parts as it takes.

    A `name` of ours stands in bold; a path is data.
    """
    named = bold(name) if isinstance(name, str) else full_label(name)
    if units(named["text"]) > _FULL_CELL:
        yield from _parts(bold("Name"), " · ".join(words(name)) if isinstance(name, tuple) else name)
        named = bold("Its value")
    text = text_of(value)
    if text is None or units(plain(text)) <= _FULL_CELL:
        shown = bold(word_of(value)) if text is None else plain_text(plain(text))
        yield [{"type": "section", "fields": [named, shown]}]
    else:
        yield from _parts(named, text)


def _parts(named: Block, text: str) -> Iterator[Unit]:
    parts = chunks(text, _CHUNK)
    for number, part in enumerate(parts, 1):
        yield [context(named, bold(f"part {number} of {len(parts)}")), section(part)]


def piece_units(piece: Piece) -> Iterator[Unit]:
    """Yield a row or a table; a list has a row for each of its values, a table that is wide one for each cell."""
    if isinstance(piece, Row):
        yield from _row_units(piece)
    elif (lines := _table_units(piece)) is not None:
        yield from lines
    else:
        for number, line in enumerate(piece.lines, 1):
            for name, value in zip(piece.columns, line, strict=True):
                if value is not MISSING:
                    yield from _row_units(Row((*piece.path, number, name), value))


def _row_units(row: Row) -> Iterator[Unit]:
    if isinstance(row.value, list) and row.value:
        for number, value in enumerate(row.value, 1):
            yield from value_units((*row.path, number), value)
    else:
        yield from value_units(row.path, row.value)


def full_label(path: Path) -> Block:
    """Return the whole path in words."""
    return plain_text(label(path, _WHOLE))


def _table_units(grid: Grid) -> Iterator[Unit] | None:
    """Return a table of two columns under its title, or None where a line is too long for one cell."""
    heads = [label((name,), _WHOLE) for name in grid.columns]
    is_wide = sum(map(units, heads)) > _FULL_LINE or units(label(grid.path, _WHOLE)) > _FULL_LINE
    if is_wide or not all(map(_fits, grid.lines)):
        return None
    return _line_units(grid, heads)


def _line_units(grid: Grid, heads: Sequence[Shown]) -> Iterator[Unit]:
    """Yield the title with the heads, and each line, made when it is asked for."""
    yield [{"type": "section", "text": full_label(grid.path)}, _two_columns(heads)]
    for line in grid.lines:
        yield [_two_columns(_shown(line))]


def _fits(line: Sequence[Any]) -> bool:
    """Tell whether a line stands in one cell; a short one does, whatever its characters are shown as."""
    if sum(len(value) * _WIDEST if isinstance(value, str) else len(str(value)) for value in line) <= _FULL_LINE:
        return True
    return sum(map(units, _shown(line))) <= _FULL_LINE


def _shown(line: Sequence[Any]) -> list[Shown]:
    return [in_line(value, _WHOLE) for value in line]


def _two_columns(parts: Sequence[Shown]) -> Block:
    rest = Shown(" · ".join(parts[1:]) or "—")
    return {"type": "section", "fields": [plain_text(parts[0]), plain_text(rest)]}


def change_units(change: Change) -> Iterator[Unit]:
    """Yield a change: both values side by side, or one under the other where they are long."""
    name = full_label(change.path)
    values = [(change.before, "Now"), (change.after, "→ After")]
    cells = [_change_cell(value) for value, _ in values]
    if units(name["text"]) <= _FULL_CELL and all(units(cell["text"]) <= _FULL_CELL for cell in cells):
        yield [{"type": "section", "text": name, "fields": [bold("Now"), bold("→ After"), *cells]}]
        return
    yield from _parts(bold("What changes"), " · ".join(words(change.path)))
    for value, moment in values:
        if value is not ABSENT:
            yield from value_units(moment, value)


def _change_cell(value: Any) -> Block:
    if value is ABSENT:
        return bold("not set")
    text = text_of(value)
    return bold(word_of(value)) if text is None else plain_text(plain(text))
