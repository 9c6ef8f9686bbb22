"""What the commands share: their settings, their log, and how their work is run. Imports nothing large by itself."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from rich.console import Console

if TYPE_CHECKING:
    from countersign.config.settings import Settings

T = TypeVar("T")

out = Console(highlight=False, markup=False, soft_wrap=True)


def own_settings(*, json_log: bool = False) -> "Settings":
    """Return the settings of a command that runs a system, or starts one, and turn its log on."""
    from countersign.config.logs import JsonLines, log_to_stderr
    from countersign.config.settings import read_settings

    settings = read_settings()
    plain = logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s")
    log_to_stderr(settings.log_level, JsonLines() if json_log else plain)
    return settings


def shared_settings() -> "Settings":
    """Return the settings of a command that works beside a system: those of a running `countersign up`, if any."""
    from countersign.embedded.attach import attach

    attach()
    return own_settings()


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's work; a database that goes away meanwhile is a foreseen error."""
    import psycopg

    from countersign.compose.storage import DatabaseError
    from runtime.model.json_limits import first_line

    try:
        return asyncio.run(work)
    except psycopg.OperationalError as error:
        raise DatabaseError(f"the database cannot be used: {first_line(error)}") from error
