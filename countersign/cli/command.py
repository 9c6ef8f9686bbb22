"""What the commands share: their settings, their log, and how their work is run. Imports nothing large by itself."""

import asyncio
import gc
import logging
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from rich.console import Console

if TYPE_CHECKING:
    from countersign.embedded.attach import Attached
    from countersign.roles import Role
    from countersign.settings import Settings

T = TypeVar("T")

_LOOKED_FOR_AFTER = 20_000
"""So many objects more than before make a look for garbage worth it. Steps leave hardly any behind, and by Python's own
700 the looking took a fourteenth of a worker's CPU."""

out = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)


@contextmanager
def importing() -> Iterator[None]:
    """Import much without looking for garbage: hardly any comes of it, and the looking is a third of a start.

    From then on it is looked for seldom.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(_LOOKED_FOR_AFTER)
        gc.enable()


def own_settings(*, serving: bool = False) -> "Settings":
    """Return the settings of a command, and turn its log on: that of a serving process tells state changes too."""
    from countersign.logs import STATE, log_to_stderr
    from countersign.privacy import make_privacy
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
    from countersign.embedded.attach import attach
    from countersign.errors import NothingRunsError
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
    from countersign.roles import Role

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
    from runtime.model.json_limits import first_line

    try:
        yield
    except psycopg.OperationalError as error:
        raise DatabaseError(f"the database cannot be used: {first_line(error)}") from error
    except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn) as error:
        raise DatabaseError(
            f"the database is not at the migration that this program needs ({first_line(error)}):"
            " run `countersign migrate`"
        ) from error
