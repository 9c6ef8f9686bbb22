"""How lists are shown: a page of rows, and how the next one is asked for."""

from collections.abc import Callable, Sequence

from countersign.cli.command import Row, out, show_json, show_rows
from countersign.cli.options import Between, Page
from countersign.foreseen_errors import OperateError

Key = Callable[[Row], str]


def keyed(column: str) -> Key:
    """Return what tells a row by this column."""
    return lambda row: str(row[column])


def within(rows: Sequence[Row], period: Between, column: str) -> Sequence[Row]:
    """Return the rows of a short list whose moment in a column is of the period."""
    since, until = period.since, period.until
    return [row for row in rows if (not since or row[column] >= since) and (not until or row[column] < until)]


def show_list(
    name: str,
    rows: Sequence[Row],
    page: Page,
    key: Key,
    print_rows: Callable[[Sequence[Row]], None],
    *,
    as_json: bool,
) -> None:
    """Print a page of a list, whose rows were read one beyond it, and whether there are more.

    As JSON it is an object: the rows by the list's name, and as `next` what goes into --after, null on the last page.
    """
    shown = rows[: page.limit]
    last = key(shown[-1]) if len(rows) > page.limit else None
    if as_json:
        show_json({name: list(shown), "next": last})
        return
    print_rows(shown)
    if last is not None:
        out.print(f"There are more: --after {last}")


def show_whole(
    name: str,
    rows: Sequence[Row],
    page: Page,
    key: Key,
    print_rows: Callable[[Sequence[Row]], None],
    *,
    as_json: bool,
) -> None:
    """Print a page of a list that was read whole; raise OperateError where its first row would follow on none."""
    if page.after is not None:
        keys = [key(row) for row in rows]
        if page.after not in keys:
            raise OperateError(f"there is no {page.after} in this list to continue behind")
        rows = rows[keys.index(page.after) + 1 :]
    show_list(name, rows, page, key, print_rows, as_json=as_json)


def table(*columns: str) -> Callable[[Sequence[Row]], None]:
    """Return what prints rows as a table of these columns."""
    return lambda rows: show_rows(rows, columns)
