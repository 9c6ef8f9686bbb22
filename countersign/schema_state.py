"""Whether a database has the migration and the schema that this program needs, and what to do where it has not."""

from dataclasses import dataclass

import psycopg

from countersign.connection import unusable
from runtime.store.database.catalog import RESTORE, differences
from runtime.store.database.versions import NEWEST, UNRELEASED, current_version, remedy


@dataclass(frozen=True)
class Finding:
    """Something about a database: what it is, whether it is right, and what to do where it is not."""

    ok: bool
    detail: str
    remedy: str


def check_migration_and_schema(dsn: str) -> tuple[Finding, list[Finding]]:
    """Return (its migration, its schema: each difference, or that there is none), or raise DatabaseError.

    Where migrations are missing, the schema is not looked at: they would change it.
    """
    try:
        with psycopg.connect(dsn, prepare_threshold=None) as conn:
            current = current_version(conn)
            found = differences(conn) if current in (NEWEST, *UNRELEASED) else None
    except psycopg.Error as error:
        raise unusable(error) from error
    what_to_do = remedy(current)
    migration = _finding(f"at {current or 'none'}, newest {NEWEST}", what_to_do, ok=current == NEWEST)
    if found is None:
        return migration, []
    if current == NEWEST:
        wrong = [_finding(one, RESTORE) for one in found.schema] + [_finding(one, what_to_do) for one in found.rights]
    else:
        wrong = [_finding(one, what_to_do) for one in found.schema]
    return migration, wrong or [_finding("as declared", "", ok=True)]


def _finding(detail: str, what_to_do: str, *, ok: bool = False) -> Finding:
    """Return a finding, with what to do as a sentence."""
    return Finding(ok, detail, f"{what_to_do[:1].upper()}{what_to_do[1:]}.")
