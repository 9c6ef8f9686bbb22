"""How commands show what they found: a table for people, JSON for programs."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from countersign.cli.command import out

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

Row = Mapping[str, Any]


def show_rows(rows: Sequence[Row], columns: Sequence[str], *, as_json: bool) -> None:
    """Print rows, in a table with these columns, or that there are none; as JSON, with all that they hold."""
    if as_json:
        show_json(list(rows))
        return
    if not rows:
        out.print("none")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        is_id = column.endswith("_id")  # whole, however narrow the screen is
        table.add_column(column, no_wrap=is_id, min_width=_ID if is_id else None, overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row[column]) for column in columns))
    screen = Console(highlight=False, markup=False, emoji=False)
    (screen if screen.is_terminal else Console(highlight=False, markup=False, emoji=False, width=_WIDE)).print(table)


def show_one(row: Row, *, as_json: bool) -> None:
    """Print one thing with all its members, lists of things as tables below it."""
    if as_json:
        show_json(row)
        return
    for name, value in row.items():
        if not isinstance(value, list):
            out.print(f"{name:<20} {_cell(value)}")
    for name, value in row.items():
        if isinstance(value, list) and value:
            out.print(f"\n{name}")
            show_rows(value, [column for column in value[0] if column not in row], as_json=False)


def show_json(value: Any) -> None:
    """Print JSON; moments in ISO 8601."""
    out.print_json(json.dumps(value, default=_plain))


_WIDE = 1000
"""Characters of a line that goes to a file or a pipe: nothing is folded."""
_ID = 29
"""Characters of the longest id that we make."""


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    return json.dumps(value) if isinstance(value, dict | list) else str(value)


def _plain(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
