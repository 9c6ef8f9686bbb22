"""Brings a database to where this program needs it. What serves does not import this: SQL's libraries are large."""

from alembic.util import CommandError
from sqlalchemy.exc import SQLAlchemyError

from countersign.connection import DatabaseError, unusable
from runtime.store.database import migration
from runtime.store.database.migration import make_login
from runtime.store.schema.role_names import DIRECTORY


def migrate_database(dsn: str) -> None:
    """Bring the database to the newest migration, or raise DatabaseError."""
    try:
        migration.migrate(dsn)
    except SQLAlchemyError as error:
        raise unusable(error) from error
    except migration.UnfitDatabaseError as error:
        raise DatabaseError(str(error)) from error
    except CommandError as error:
        raise DatabaseError(f"the database belongs to a newer program; update this one ({error})") from error


def program_login(dsn: str) -> str:
    """Return the DSN of a login that can do no more than the program has to; made on first use, without a password."""
    return make_login(dsn, "countersign")


def directory_login(dsn: str) -> str:
    """Return the DSN of a login that can load the directory; made on first use, without a password."""
    return make_login(dsn, "countersign_people", DIRECTORY)
