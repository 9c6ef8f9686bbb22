"""Migration: brings a database to the newest step, makes its roles, and grants what each needs.

Four roles, as which nobody logs in. `countersign_owner` owns the tables and migrates. `countersign_program` can do what
a state change needs: add records, and update the columns that change; what it may delete is no record.
`countersign_directory` loads the directory, which the program only reads. The declaration of each table says who writes
it. `countersign_reader` can look. Logins are members of one of them. SQLAlchemy is used here alone, not while serving.
"""

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import psycopg
from alembic import command
from alembic.config import Config
from psycopg.errors import DuplicateObject, InsufficientPrivilege, UniqueViolation
from sqlalchemy import Engine, Table, create_engine, text
from sqlalchemy.engine import Connection, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from runtime.store.database.schema_state import (
    BEFORE_RELEASE,
    NEWEST,
    RESTORE,
    VERSIONS,
    Differences,
    current_version,
    differences,
    misfit,
)
from runtime.store.schema.role_names import CALLERS, OWNER, PROGRAM, ROLES
from runtime.store.schema.tables import metadata, rights_of


def open_engine(dsn: str) -> Engine:
    """Return an engine whose connections are made as the DSN says, each for one use.

    libpq reads the DSN itself, so whatever it takes is taken here. Nothing is prepared: a pooler may stand in between.
    """
    return create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(dsn, prepare_threshold=None), poolclass=NullPool
    )


_SECRET = {"salt", "token"}
"""Columns that let their reader try what stands behind the commitments of redacted values, or answer for a wait.

The program alone reads them.
"""

_FOREIGN = """
    SELECT count(*) FROM pg_class WHERE oid = ANY(CAST(:tables AS regclass[]))
       AND NOT pg_has_role(current_user, relowner, 'USAGE')
"""
_FUNCTIONS = """
    SELECT p.oid::regprocedure::text FROM pg_proc p
     WHERE (p.pronamespace = current_schema()::regnamespace AND p.proname = ANY(:called) OR EXISTS (
           SELECT FROM pg_trigger t
            WHERE t.tgfoid = p.oid AND NOT t.tgisinternal AND t.tgrelid = ANY(CAST(:tables AS regclass[]))))
       AND p.proowner <> CAST(:owner AS regrole)
"""


def apply_roles(connection: Connection) -> list[str]:
    """Make the roles where they are missing, and grant what each needs; return what could not be done, and why.

    Safe to run again: whatever else these roles were granted on our tables is taken from them.
    """
    me = connection.execute(text("SELECT current_user")).scalar_one()
    tables = [*metadata.tables, VERSIONS]
    if connection.execute(text(_FOREIGN), {"tables": tables}).scalar_one():
        return [f"{me} does not own the tables, so rights stay as they are: migrate as a member of {OWNER}"]
    notices = list(_make_roles(connection, me))
    if _exists(connection, OWNER):
        notices += _own(connection, me, tables)
    for role in ROLES:
        if role != OWNER and _exists(connection, role):
            _grant_role(connection, role, tables)
    return notices


def make_login(dsn: str, name: str, role: str = PROGRAM) -> str:
    """Make a login without a password where there is none by that name, give it the role; return the DSN with it."""
    with open_engine(dsn).begin() as connection:
        if not _exists(connection, name):
            _try(connection, f"CREATE ROLE {name} LOGIN")
        _try(connection, f"GRANT {role} TO {name}")
    return make_url(dsn).set(username=name).render_as_string(hide_password=False)


def _make_roles(connection: Connection, me: str) -> Iterator[str]:
    """Make what is missing; yield one notice if that is not allowed here."""
    missing = [role for role in ROLES if not _exists(connection, role)]
    for role in missing:
        _try(connection, f"CREATE ROLE {role} NOLOGIN")
    if OWNER in missing and _exists(connection, OWNER):
        _try(connection, f"GRANT {OWNER} TO CURRENT_USER")
    if absent := [role for role in missing if not _exists(connection, role)]:
        made = "; ".join(f"CREATE ROLE {role} NOLOGIN" for role in absent)
        yield f"{me} may not make roles, and rights stay as they are: have `{made}` run, and migrate again"


def _own(connection: Connection, me: str, tables: list[str]) -> Iterator[str]:
    """Give tables and functions to their owner; yield a notice if that is not allowed here."""
    owned = text("SELECT relowner = CAST(:owner AS regrole) FROM pg_class WHERE oid = CAST(:name AS regclass)")
    foreign = [t for t in tables if not connection.execute(owned, {"owner": OWNER, "name": t}).scalar_one()]
    wanted = {"tables": tables, "called": [*CALLERS], "owner": OWNER}
    functions = connection.execute(text(_FUNCTIONS), wanted).scalars().all()
    if not foreign and not functions:
        return
    _try(connection, f"GRANT CREATE, USAGE ON SCHEMA {_schema(connection)} TO {OWNER}")
    orders = [f"ALTER TABLE {name} OWNER TO {OWNER}" for name in foreign]
    orders += [f"ALTER FUNCTION {name} OWNER TO {OWNER}" for name in functions]
    if not _try(connection, "; ".join(orders)):
        yield f"the tables stay {me}'s own: have `GRANT {OWNER} TO {me}` run, and migrate again"


def _grant_role(connection: Connection, role: str, tables: list[str]) -> None:
    """Grant a role what the tables declare, and take all else from it."""
    _grant(connection, f"REVOKE ALL ON {', '.join(tables)} FROM {role}")
    _grant(connection, f"GRANT SELECT ON {VERSIONS} TO {role}")
    for name, table in metadata.tables.items():
        _grant(connection, f"GRANT {', '.join(_granted(table, role))} ON {name} TO {role}")
    for function, callers in CALLERS.items():
        order = "GRANT EXECUTE ON FUNCTION {} TO {}" if role in callers else "REVOKE ALL ON FUNCTION {} FROM {}"
        _grant(connection, order.format(function, role))


def _granted(table: Table, role: str) -> Iterator[str]:
    """Yield the privileges on a table that a role has."""
    columns = table.columns.keys()
    shown = [column for column in columns if column not in _SECRET or role == PROGRAM]
    yield "SELECT" if shown == columns else f"SELECT ({', '.join(_quoted(shown))})"
    rights = rights_of(table).get(role)
    if rights is None:
        return
    yield "INSERT"
    if rights.deletes:
        yield "DELETE"
    if updates := columns if rights.updates is None else rights.updates:
        yield f"UPDATE ({', '.join(_quoted(updates))})"


def _quoted(columns: Iterable[str]) -> list[str]:
    return [f'"{column}"' for column in columns]


def _grant(connection: Connection, order: str) -> None:
    connection.execute(text(order))


def _exists(connection: Connection, role: str) -> bool:
    found = connection.execute(text("SELECT count(*) FROM pg_roles WHERE rolname = :role"), {"role": role})
    return bool(found.scalar_one())


def _schema(connection: Connection) -> str:
    return str(connection.execute(text("SELECT quote_ident(current_schema())")).scalar_one())


def _try(connection: Connection, order: str) -> bool:
    """Carry out an order, or leave everything as it was where it is not allowed; return whether it was."""
    try:
        with connection.begin_nested():
            connection.execute(text(order))
        return True
    except DBAPIError as error:
        # a role may be made for another database of this server at the same moment
        if isinstance(error.orig, InsufficientPrivilege | DuplicateObject | UniqueViolation):
            return False
        raise


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
    if current == BEFORE_RELEASE:
        raise UnfitDatabaseError(_listed(misfit(current), []))


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
