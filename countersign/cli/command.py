"""What the commands share: their settings, their log, how their work is run, and how they show what they found.

Nothing large is imported before it is used. People get tables, or blocks of a few lines, as narrow as their screen may
be; programs get JSON.
"""

import asyncio
import gc
import json
import logging
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from countersign.embedded.home import Attached
    from countersign.parts import Role
    from countersign.settings import Settings


T = TypeVar("T")

LOOKED_FOR_AFTER = 20_000
"""So many objects more than before make a look for garbage worth it. Steps leave hardly any behind, and by Python's own
700 the looking took a fourteenth of a worker's CPU, and a tenth of a list's."""

out = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)


@contextmanager
def importing() -> Iterator[None]:
    """Import much without looking for garbage: hardly any comes of it, and the looking is a third of a start."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def own_settings(*, serving: bool = False) -> "Settings":
    """Return the settings of a command, and turn its log on: that of a serving process tells state changes too."""
    from countersign.logs import STATE, log_to_stderr
    from countersign.setting_secrets import make_privacy
    from countersign.settings import read_settings

    settings = read_settings()
    wished, for_machines = settings.log_format, serving and not sys.stderr.isatty()
    style = ("json" if for_machines else "text") if wished == "auto" else wished
    log_to_stderr(settings.log_level, style, make_privacy(settings))
    if not serving:
        logging.getLogger(STATE).setLevel(logging.WARNING)
    return settings


def shared_settings(*needed: str) -> "Settings":
    """Return the settings of a command that works beside a system: those of a running `countersign up`, if any.

    Where nothing runs and what is needed is not set either, that is said, and not what it would have been needed for.
    """
    return attached_settings(*needed)[0]


def attached_settings(*needed: str) -> "tuple[Settings, Attached | None]":
    """Return the same settings, and what else the running system tells."""
    from countersign.embedded.home import attach
    from countersign.foreseen_errors import NothingRunsError
    from countersign.settings import variable

    attached = attach()
    settings = own_settings()
    missing = [variable(name) for name in needed if not getattr(settings, name)]
    if missing and attached is None:
        raise NothingRunsError(
            f"nothing runs here, in {settings.home}: start `countersign up`, or set {' and '.join(missing)}"
        )
    return settings, attached


def roles_of(names: list[str] | None) -> "frozenset[Role]":
    """Return the roles by these names, and all of them where none is named."""
    from countersign.parts import Role

    if unknown := sorted(set(names or ()) - set(Role)):
        raise typer.BadParameter(f"no role {', '.join(unknown)}; there are {', '.join(Role)}")
    return frozenset(Role(name) for name in names or Role)


def run(work: Coroutine[Any, Any, T], loop: Callable[[], asyncio.AbstractEventLoop] | None = None) -> T:
    """Run a command's work, on a loop of its own; a database that is not as it must be is a foreseen error."""
    with using_database(), asyncio.Runner(loop_factory=loop) as runner:
        return runner.run(work)


@contextmanager
def using_database() -> Iterator[None]:
    """Say in a sentence what is wrong with a database that is away, or not as it must be: raise DatabaseError."""
    import psycopg

    from countersign.connection import DatabaseError
    from runtime.model.limits import first_line

    try:
        yield
    except psycopg.OperationalError as error:
        raise DatabaseError(f"the database cannot be used: {first_line(error)}") from error
    except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn) as error:
        raise DatabaseError(
            f"the database is not at the migration that this program needs ({first_line(error)}):"
            " run `countersign migrate`"
        ) from error


Row = Mapping[str, Any]


def show_rows(rows: Sequence[Row], columns: Sequence[str]) -> None:
    """Print rows, in a table with these columns, or that there are none."""
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
    tables = {name: value for name, value in row.items() if isinstance(value, list) and not _are_words(value)}
    for name, value in row.items():
        if name not in tables:
            out.print(f"{name:<20} {_cell(value)}".rstrip())
    for name, value in tables.items():
        out.print(f"\n{name}")
        show_rows(value, [column for column in value[0] if column not in row])


def show_facts(facts: Row, *lines: str, as_json: bool) -> None:
    """Print what a command has done or found: in lines, or as one JSON object."""
    if as_json:
        show_json(facts)
        return
    for line in lines:
        out.print(line)


def show_json(value: Row) -> None:
    """Print one JSON object, as every command does for programs; moments in UTC, in ISO 8601."""
    sys.stdout.write(f"{json.dumps(value, default=_plain, ensure_ascii=False, indent=2)}\n")


_WIDE = 1000
"""Characters of a line that goes to a file or a pipe: nothing is folded."""
_ID = 29
"""Characters of the longest id that we make."""


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return moment_text(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if _are_words(value):
        return ", ".join(value)
    return json.dumps(value, default=_plain) if isinstance(value, dict | list) else str(value)


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return str(value)


BlockRow = Mapping[str, Any]

_MARK = "\N{REPLACEMENT CHARACTER}"


def run_block(row: BlockRow) -> str:
    """Return a run: which, how it ended, how it stands with its evidence, and its digest or why there is none."""
    evidence = f"sha256 {row['sha256']}" if row["sha256"] else row["why"]
    lines = (
        f"{row['reference']}  {row['outcome']}, {row['state']}",
        f"{row['definition']} v{row['definition_version']}",
        f"requested by {row['requester_name']} on {moment_text(row['created_at'])}",
        evidence,
        row["run_id"],
    )
    return _block(lines)


def vote_block(row: BlockRow) -> str:
    """Return a vote: who said what when, on what, why, by which rule, and what it changed."""
    reason = f"“{' '.join(row['reason'].split())}”" if row["reason"] else "no reason given"
    lines = (
        f"{moment_text(row['at'])}  {row['name']} {row['decision']}: {row['verb']}",
        f"which means: {row['name']} {row['meaning']}",
        f"on:      {row['reference']}",
        f"why:     {reason}",
        f"rule:    {row['rule']} ({row['required']})",
        f"change:  {row['change']}",
        f"id:      {row['run_id']}",
    )
    return _block(lines)


def exception_block(row: BlockRow) -> str:
    """Return an exception: when, who, of which kind, what, and where it is on record."""
    from evidence.reading.exceptions import LABELS

    at = moment_text(datetime.fromisoformat(row["at"])) if row["at"] else ""
    label = LABELS[row["kind"]].lower() if row["kind"] in LABELS else "opening not recorded"
    leaf = f", leaf {row['leaf']}" if row["leaf"] else ""
    run = f"on:      {row['reference']}, {row['definition']}" if row["definition"] else ""  # "" outside runs
    lines = (
        f"{at}  {row['name']}: {label}" if row["name"] else f"{at}  {label}",
        row["what"],
        *filter(None, [run]),
        f"id:      {row['run_id']}{leaf}",
    )
    return _block(lines)


def _block(lines: Sequence[str]) -> str:
    """Return lines under the first; what is no print, such as an escape of the terminal, is shown as a mark."""
    return "\n  ".join("".join(one if one.isprintable() else _MARK for one in line) for line in lines)


def moment_text(at: datetime) -> str:
    """Return a moment for people: in UTC, to the second."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def find(look: Callable[..., Awaitable[T]], *what: Any) -> T:
    """Return what a look into the rows of the running system finds; raise OperateError where it names what is not."""
    from countersign.connection import looked_up

    return run(looked_up(shared_settings("database_url"), look, *what))


def find_one(named: str, look: Callable[..., Awaitable[T | None]], *what: Any) -> T:
    """Return the one thing that is named, or raise OperateError."""
    from countersign.connection import expected

    return expected(find(look, *what), named)
