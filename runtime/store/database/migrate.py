"""Brings a database to the newest migration."""

import logging
from pathlib import Path
from typing import Any, cast

import psycopg
from alembic import command
from alembic.config import Config
from sqlalchemy import text
from sqlalchemy.engine import Connection

from runtime.store.database.alchemy import open_engine
from runtime.store.database.catalog import RESTORE, Differences, differences
from runtime.store.database.roles import apply_roles
from runtime.store.database.versions import NEWEST, UNRELEASED, current_version, remedy

log = logging.getLogger(__name__)

_LOCK = 0x636F756E  # any number of processes may start at once: one migrates, the others wait
_SHOWN = 20
"""Differences that are named; the rest is counted."""


class UnfitDatabaseError(Exception):
    """The migrations did not make this database; the message names what differs, and says what to do."""


def migrate(dsn: str) -> None:
    """Apply every migration that the database lacks, and grant the roles what they need.

    Raise UnfitDatabaseError, and leave the database as it was, where that does not give the declared schema.
    """
    with open_engine(dsn).begin() as connection:
        _lock(connection)
        _expect_released(connection)
        _upgrade(connection)
        if wrong := _differences(connection).schema:
            raise UnfitDatabaseError(
                _listed(f"the database does not have the schema of migration {NEWEST}: {RESTORE}", wrong)
            )
        for notice in apply_roles(connection) or _differences(connection).rights:
            log.warning("%s", notice)


def make_schema(dsn: str) -> None:
    """Apply every migration and the rights to an empty database; nothing is compared with the declared schema."""
    with open_engine(dsn).begin() as connection:
        _upgrade(connection)
        apply_roles(connection)


def _lock(connection: Connection) -> None:
    connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})


def _expect_released(connection: Connection) -> None:
    """Raise UnfitDatabaseError where an unreleased version made the database."""
    current = current_version(_driver(connection))
    if current in UNRELEASED:
        why = f"the database is at migration {current} and this program needs {NEWEST}: {remedy(current)}"
        raise UnfitDatabaseError(_listed(why, _differences(connection).schema))


def _upgrade(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parents[1] / "schema"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _differences(connection: Connection) -> Differences:
    return differences(_driver(connection))


def _driver(connection: Connection) -> psycopg.Connection[Any]:
    """Return psycopg's connection behind SQLAlchemy's: the same transaction."""
    return cast("psycopg.Connection[Any]", connection.connection.driver_connection)


def _listed(why: str, wrong: list[str]) -> str:
    more = [f"and {len(wrong) - _SHOWN} more"] if len(wrong) > _SHOWN else []
    return "\n  ".join([f"{why}. Nothing was changed.", *wrong[:_SHOWN], *more])
