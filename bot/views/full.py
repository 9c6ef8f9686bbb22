"""Values in full, however long: what a page of "Show all" is made of."""

from collections.abc import Iterator, Sequence
from typing import Any

from bot.views.blocks import Block, bold, context, plain_text, section
from bot.views.changes import ABSENT, Change
from bot.views.text import Shown, chunks, plain, units
from bot.views.values import MISSING, Grid, Path, Piece, Row, in_line, label, text_of, word_of, words

_CHUNK = 2900
_CELL = 1800
_LINE = 900
_WIDEST = 12
"""Units that one character of a text takes at most, with what is put around it."""
_WHOLE = 1_000_000
"""Units that no label and no cell has."""

Unit = list[Block]
"""Blocks that stand on the same page."""


def pair(name: str | Path, value: Any) -> Iterator[Unit]:
    """Yield a value beside its name, or under it where it is long, in as many parts as it takes.

    A `name` of ours stands in bold; a path is data.
    """
    named = bold(name) if isinstance(name, str) else label_of(name)
    if units(named["text"]) > _CELL:
        yield from _parts(bold("Name"), " · ".join(words(name)) if isinstance(name, tuple) else name)
        named = bold("Its value")
    text = text_of(value)
    if text is None or units(plain(text)) <= _CELL:
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
    elif (lines := _table(piece)) is not None:
        yield from lines
    else:
        for number, line in enumerate(piece.lines, 1):
            for name, value in zip(piece.columns, line, strict=True):
                if value is not MISSING:
                    yield from _row_units(Row((*piece.path, number, name), value))


def _row_units(row: Row) -> Iterator[Unit]:
    if isinstance(row.value, list) and row.value:
        for number, value in enumerate(row.value, 1):
            yield from pair((*row.path, number), value)
    else:
        yield from pair(row.path, row.value)


def label_of(path: Path) -> Block:
    """Return the whole path in words."""
    return plain_text(label(path, _WHOLE))


def _table(grid: Grid) -> Iterator[Unit] | None:
    """Return a table of two columns under its title, or None where a line is too long for one cell."""
    heads = [label((name,), _WHOLE) for name in grid.columns]
    is_wide = sum(map(units, heads)) > _LINE or units(label(grid.path, _WHOLE)) > _LINE
    if is_wide or not all(map(_fits, grid.lines)):
        return None
    return _lines(grid, heads)


def _lines(grid: Grid, heads: Sequence[Shown]) -> Iterator[Unit]:
    """Yield the title with the heads, and each line, made when it is asked for."""
    yield [{"type": "section", "text": label_of(grid.path)}, _line(heads)]
    for line in grid.lines:
        yield [_line(_shown(line))]


def _fits(line: Sequence[Any]) -> bool:
    """Tell whether a line stands in one cell; a short one does, whatever its characters are shown as."""
    if sum(len(value) * _WIDEST if isinstance(value, str) else len(str(value)) for value in line) <= _LINE:
        return True
    return sum(map(units, _shown(line))) <= _LINE


def _shown(line: Sequence[Any]) -> list[Shown]:
    return [in_line(value, _WHOLE) for value in line]


def _line(parts: Sequence[Shown]) -> Block:
    rest = Shown(" · ".join(parts[1:]) or "—")
    return {"type": "section", "fields": [plain_text(parts[0]), plain_text(rest)]}


def change_units(change: Change) -> Iterator[Unit]:
    """Yield a change: both values side by side, or one under the other where they are long."""
    name = label_of(change.path)
    values = [(change.before, "Now"), (change.after, "→ After")]
    cells = [_cell(value) for value, _ in values]
    if units(name["text"]) <= _CELL and all(units(cell["text"]) <= _CELL for cell in cells):
        yield [{"type": "section", "text": name, "fields": [bold("Now"), bold("→ After"), *cells]}]
        return
    yield from _parts(bold("What changes"), " · ".join(words(change.path)))
    for value, moment in values:
        if value is not ABSENT:
            yield from pair(moment, value)


def _cell(value: Any) -> Block:
    if value is ABSENT:
        return bold("not set")
    text = text_of(value)
    return bold(word_of(value)) if text is None else plain_text(plain(text))
