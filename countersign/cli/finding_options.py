"""What the commands for auditors share: days, and the form of a table."""

import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from typing import Annotated, Any, TypeVar

import typer

from countersign.cli.tables import show_json
from evidence.export.period import Period, PeriodError, day, end_of, period

T = TypeVar("T")

AsCsv = Annotated[bool, typer.Option("--csv", help="Print CSV for a spreadsheet.")]
From = Annotated[str, typer.Option("--from", metavar="DAY", help="The first day, in UTC: 2026-01-01.")]
To = Annotated[str, typer.Option("--to", metavar="DAY", help="The last day, which is included.")]
Since = Annotated[str | None, typer.Option("--from", metavar="DAY", help="Triggered on this day (UTC) or later.")]
Until = Annotated[str | None, typer.Option("--to", metavar="DAY", help="Triggered on this day or earlier.")]


QuickVote = Annotated[
    str, typer.Option(metavar="DURATION", help="A vote this soon after opening the request is an exception.")
]


def quick_of(text: str) -> timedelta:
    """Return the duration that --quick-vote names."""
    from runtime.definitions.durations import parse_duration

    try:
        return parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--quick-vote") from error


def days(first: str, last: str) -> Period:
    """Return the period that both options name."""
    one, other = a_day(first, "--from"), a_day(last, "--to")
    return _given(lambda: period(str(one), str(other)), "--from")


def a_day(text: str, option: str) -> date:
    """Return the day that an option names, one that another follows."""
    found = _given(lambda: day(text), option)
    _given(lambda: end_of(found), option)
    return found


def show(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], *, as_json: bool, as_csv: bool) -> bool:
    """Print rows for programs or spreadsheets; return whether that was wanted."""
    if as_json and as_csv:
        raise typer.BadParameter("give only one of them", param_hint="--json, --csv")
    if as_json:
        show_json(list(rows))
    if as_csv:
        from evidence.export.sheets import csv_of

        sys.stdout.buffer.write(csv_of(columns, rows))
    return as_json or as_csv


def _given(read: Callable[[], T], option: str) -> T:
    try:
        return read()
    except PeriodError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error
