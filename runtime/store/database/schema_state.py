"""Schema state: at which migration a database stands, and how its schema differs from the declared one.

`runtime/store/schema/schema.txt` is the declared schema in the words of PostgreSQL's catalog, so like is compared
with like, and no second database is needed. Each difference is named in a sentence. A test keeps the file equal to the
declared tables and to what the migrations make. What only tunes a table is not compared: storage parameters, and
indexes beyond the declared that are not unique. The library that migrates is not needed here.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from runtime.store.schema.role_names import CALLERS, ROLES

FILE = Path(__file__).parents[1] / "schema/schema.txt"

_HEADER = """\
# The schema that this program declares, in the words of PostgreSQL's catalog: doctor and migrate compare a database
# with it. `python -m tools.schema` writes this file.
"""
_TABLES = """
    WITH t AS (
        SELECT * FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
           AND relname = ANY(%(tables)s))
"""
_OBJECTS = """
    SELECT relname, 0, '', CASE relpersistence WHEN 'p' THEN 'permanent' ELSE 'unlogged' END
           || CASE WHEN relrowsecurity THEN ' with row security' ELSE '' END
      FROM t
    UNION ALL
    SELECT relname, 1, 'column ' || attname, format_type(atttypid, atttypmod)
           || CASE WHEN attnotnull THEN ' not null' ELSE '' END
           || coalesce(' default ' || pg_get_expr(adbin, adrelid, true), '')
      FROM t JOIN pg_attribute a ON attrelid = t.oid AND attnum > 0 AND NOT attisdropped
             LEFT JOIN pg_attrdef d ON (adrelid, adnum) = (attrelid, attnum)
    UNION ALL
    SELECT relname, 2, CASE contype WHEN 'p' THEN 'primary key ' WHEN 'u' THEN 'unique ' WHEN 'f' THEN 'foreign key '
                                    WHEN 'c' THEN 'check ' ELSE 'constraint ' END || conname,
           pg_get_constraintdef(c.oid, true)
      FROM t JOIN pg_constraint c ON conrelid = t.oid AND contype NOT IN ('n', 't')
    UNION ALL
    SELECT t.relname, 3, 'index ' || indexrelid::regclass::text, pg_get_indexdef(indexrelid, 0, true)
           || CASE WHEN indisvalid THEN '' ELSE ' INVALID' END
      FROM t JOIN pg_index ON indrelid = t.oid
     WHERE NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND contype IN ('p', 'u', 'x'))
    UNION ALL
    SELECT relname, 4, 'trigger ' || tgname, pg_get_triggerdef(g.oid, true)
           || CASE WHEN tgenabled IN ('O', 'A') THEN '' ELSE ' DISABLED' END
      FROM t JOIN pg_trigger g ON tgrelid = t.oid AND NOT tgisinternal
    UNION ALL
    SELECT DISTINCT '', 5, 'function ' || proname,
           'SHA-256 ' || left(encode(sha256(convert_to(prosrc, 'UTF8')), 'hex'), 16)
      FROM t JOIN pg_trigger g ON tgrelid = t.oid AND NOT tgisinternal JOIN pg_proc p ON p.oid = tgfoid
    UNION ALL
    SELECT '', 5, 'function ' || proname,
           'SHA-256 ' || left(encode(sha256(convert_to(prosrc, 'UTF8')), 'hex'), 16)
           || CASE WHEN prosecdef THEN ' with the rights of its owner' ELSE '' END
           || CASE WHEN proconfig = ARRAY['search_path=' || quote_ident(current_schema()) || ', pg_temp']
                   THEN ' on our tables' ELSE '' END
      FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND proname = ANY(%(functions)s)
    UNION ALL
    SELECT '', 5, 'callers of ' || proname,
           string_agg(coalesce(rolname, 'PUBLIC'), ', ' ORDER BY rolname COLLATE "C" NULLS FIRST)
      FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner))) LEFT JOIN pg_roles r ON r.oid = grantee
     WHERE pronamespace = current_schema()::regnamespace AND proname = ANY(%(functions)s) AND grantee <> proowner
     GROUP BY proname
    UNION ALL
    SELECT '', 6, 'role ' || rolname, 'present' FROM pg_roles WHERE rolname = ANY(%(roles)s)
"""
_GRANTS = """
    SELECT t.relname, coalesce(rolname, 'PUBLIC'), privilege_type, columns
      FROM t, LATERAL (
           SELECT grantee, privilege_type, NULL AS columns FROM aclexplode(relacl)
           UNION ALL
           SELECT grantee, privilege_type, string_agg(attname, ', ' ORDER BY attname COLLATE "C")
             FROM pg_attribute, aclexplode(attacl) WHERE attrelid = t.oid AND NOT attisdropped GROUP BY 1, 2
           ) g LEFT JOIN pg_roles r ON r.oid = grantee
     WHERE grantee = 0 OR rolname = ANY(%(granted)s)
"""

_GRANT, _ROLE, _CALLERS = "grant to ", "role ", "callers of "
_LEGIBLE = 200
"""Characters of two definitions that are shown beside each other."""

RESTORE = "undo what was changed by hand, or restore a backup"
"""What to do about a database whose schema differs."""

Catalog = dict[tuple[str, str], str]
"""Definitions by (table, object): "" is the object of a table itself, and the table of functions and roles."""


class Differences(NamedTuple):
    """What a database has otherwise than declared, each in a sentence."""

    schema: list[str]
    rights: list[str]


def catalog_of(conn: psycopg.Connection[Any], tables: Iterable[str]) -> Catalog:
    """Return what a database's catalog says of these tables."""
    wanted = {"tables": [*tables], "functions": [*CALLERS], "roles": [*ROLES], "granted": [*ROLES[1:]]}
    with conn.cursor(row_factory=psycopg.rows.tuple_row) as cursor:
        rows = cursor.execute(_TABLES + _OBJECTS, wanted).fetchall()
        grants = cursor.execute(_TABLES + _GRANTS, wanted).fetchall()
    for (table, role), privileges in groupby(sorted(grants, key=str), key=lambda row: row[:2]):
        said = (name if columns is None else f"{name} ({columns})" for _, _, name, columns in privileges)
        rows.append((table, 5, _GRANT + role, ", ".join(said)))
    ordered = sorted(rows, key=lambda row: (row[0] == "", *row))
    return {(table, thing): " ".join(definition.split()) for table, _, thing, definition in ordered}


def declared_catalog() -> Catalog:
    """Return the declared schema."""
    catalog, table = {}, ""
    for line in FILE.read_text(encoding="utf-8").splitlines():
        name, _, definition = line.strip().partition(": ")
        if line.startswith("table "):
            table, name = name.removeprefix("table "), ""
        if not line.startswith("#"):
            catalog[table if name == "" or line.startswith(" ") else "", name] = definition
    return catalog


def schema_text(catalog: Catalog) -> str:
    """Return the text of the file that declares a schema."""
    lines = (
        f"{'  ' if table else ''}{thing}: {definition}" if thing else f"table {table}: {definition}"
        for (table, thing), definition in catalog.items()
    )
    return _HEADER + "\n".join(lines) + "\n"


def differences(conn: psycopg.Connection[Any]) -> Differences:
    """Return in what a database differs from the declared schema: tables first, then what belongs to them."""
    must = declared_catalog()
    has = catalog_of(conn, {table for table, _ in must} - {""})
    found = Differences([], [])
    for key in sorted({*must, *has}, key=lambda key: (key[1] != "", key[0] == "", key)):
        is_right = key[1].startswith((_GRANT, _ROLE, _CALLERS))
        (found.rights if is_right else found.schema).extend(_difference(key, must, has))
    return found


def _difference(key: tuple[str, str], must: Catalog, has: Catalog) -> Iterator[str]:
    """Yield in what an object differs; nothing where its table or function is missing."""
    table, thing = key
    name = ": ".join(filter(None, (f"table {table}" if table else "", thing)))
    belongs_to = (table, "") if table else ("", f"function {thing.removeprefix(_CALLERS)}")
    if (thing if table else thing.startswith(_CALLERS)) and belongs_to not in has:
        return
    if thing.startswith(_GRANT):
        yield from _grant_difference(key, name, must, has)
    elif key not in has:
        yield f"{name} is missing"
    elif key not in must:
        if not has[key].startswith("CREATE INDEX "):
            yield f"{name} is not declared"
    elif has[key] != must[key]:
        is_short = len(has[key]) + len(must[key]) < _LEGIBLE
        yield f"{name} is {has[key]}, and must be {must[key]}" if is_short else f"{name} is not as declared"


def _grant_difference(key: tuple[str, str], name: str, must: Catalog, has: Catalog) -> Iterator[str]:
    """Yield which privileges are missing, where role and column are there, and which are not declared."""
    table, thing = key
    is_there = ("", _ROLE + thing.removeprefix(_GRANT)) in has
    wanted, granted = _privileges(must.get(key, "")), _privileges(has.get(key, ""))
    columns = {column for _, column in wanted if column and (table, f"column {column}") not in has}
    if lacks := [privilege for privilege in wanted - granted if is_there and privilege[1] not in columns]:
        yield f"{name} lacks {_listed(lacks)}"
    if beyond := granted - wanted:
        yield f"{name} has {_listed(beyond)}, which is not declared"


def _privileges(definition: str) -> set[tuple[str, str]]:
    """Return the privileges of a grant as (name, column); "" is the whole table."""
    found = re.findall(r"(\w+)(?: \(([^)]*)\))?", definition)
    return {(name, column) for name, columns in found for column in columns.split(", ")}


def _listed(privileges: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{name} of {column}" if column else name for name, column in sorted(privileges))


VERSIONS = "alembic_version"
"""The table that has the database's migration."""

NEWEST = "0010"
"""The migration that this program was written for: the last one in `runtime/store/schema/versions/`."""

UNRELEASED = frozenset({"0002"})
"""Migrations that only unreleased versions had. No step ever gets such a number, so it tells their databases."""

BEFORE_RELEASE = "before release 0.2.0"
"""What stands for the migration of a database that an unreleased version made, whatever its number is."""

# Every unreleased version had one of these columns, and no released one ever has.
_MADE = """
    SELECT to_regclass('alembic_version'),
           EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('runs') AND NOT attisdropped
                      AND attname IN ('definition_digest', 'evidence_format'))
"""


def current_version(conn: psycopg.Connection[Any]) -> str | None:
    """Return the migration of the database, None where it has none, BEFORE_RELEASE of what no released one made."""
    with conn.cursor(row_factory=psycopg.rows.tuple_row) as cursor:
        table, is_from_before = cursor.execute(_MADE).fetchone() or (None, False)
        found = cursor.execute("SELECT version_num FROM alembic_version").fetchone() if table else None
    if found is None:
        return None
    return BEFORE_RELEASE if is_from_before or found[0] in UNRELEASED else str(found[0])


def versions(dsn: str) -> tuple[str | None, str]:
    """Return (the database's migration, the newest one)."""
    with psycopg.connect(dsn, prepare_threshold=None) as conn:
        return current_version(conn), NEWEST


def misfit(current: str | None) -> str:
    """Return what is wrong with a database that is not at the newest migration, and what to do."""
    if current == BEFORE_RELEASE:
        return f"the database was made {BEFORE_RELEASE} and cannot be upgraded: {remedy(current)}"
    return f"the database is at migration {current or 'none'} and this program needs {NEWEST}: {remedy(current)}"


def remedy(current: str | None) -> str:
    """Return what to do about a database that is not at the newest migration."""
    if current == BEFORE_RELEASE:
        return "make a new one"
    if current is not None and current > NEWEST:
        return "update this program, or point it at another database: a newer program migrated this one"
    return "run `countersign migrate`"
