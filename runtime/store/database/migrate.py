"""Brings a database to the newest migration."""

import logging
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import text
from sqlalchemy.engine import Connection

from runtime.store.database.alchemy import open_engine
from runtime.store.database.roles import apply_roles

log = logging.getLogger(__name__)

_LOCK = 0x636F756E  # any number of processes may start at once: one migrates, the others wait


def migrate(dsn: str) -> None:
    """Apply every migration that the database does not have, and grant the roles what they need."""
    with open_engine(dsn).begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        command.upgrade(_config(connection), "head")
        for notice in apply_roles(connection):
            log.warning("%s", notice)


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parents[1] / "migrations"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config
