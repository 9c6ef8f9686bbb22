"""What the declarations share: the metadata with its naming rule, and short forms of columns and constraints."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    TextClause,
    text,
)

from runtime.store.schema.role_names import PROGRAM

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

RIGHTS = "rights"
"""The member of a table's `info` that has the rights of those who write it."""


@dataclass(frozen=True)
class Rights:
    """What a role that writes a table may do with its rows, beside reading and adding them."""

    updates: tuple[str, ...] | None
    """Columns that it may update; None for all."""
    deletes: bool


_ONLY_ADDS = Rights(updates=(), deletes=False)

Info = dict[str, dict[str, Rights]]
"""The info of a table: who writes it, by role. Other roles read it, or not even that."""


def insert_only(*writers: str) -> Info:
    """Return the info of a table of proof: no row changes or goes away."""
    return {RIGHTS: dict.fromkeys(writers or (PROGRAM,), _ONLY_ADDS)}


def kept(*updates: str, by: tuple[str, ...] = (PROGRAM,)) -> Info:
    """Return the info of a table of records: no row goes away, and only these columns change."""
    return {RIGHTS: dict.fromkeys(by, Rights(updates=updates, deletes=False))}


def working(by: str = PROGRAM, *, added_by: tuple[str, ...] = ()) -> Info:
    """Return the info of a table that holds no records: rows change and go away; others may add some."""
    return {RIGHTS: {by: Rights(updates=None, deletes=True), **dict.fromkeys(added_by, _ONLY_ADDS)}}


def rights_of(table: Table) -> Mapping[str, Rights]:
    """Return the rights of those who write a table, by role; raise KeyError where it declares none."""
    rights: Mapping[str, Rights] = table.info[RIGHTS]
    return rights


def words(name: str, **kw: Any) -> Column[str]:
    """Return a column of text, NOT NULL unless said."""
    return Column(name, Text, nullable=kw.pop("nullable", False), **kw)


def moment(name: str, *, nullable: bool = False) -> Column[Any]:
    """Return a column of a moment, with time zone."""
    return Column(name, DateTime(timezone=True), nullable=nullable)


def document(name: str, *, nullable: bool = False, default: str | None = None) -> Column[Any]:
    """Return a column of JSON whose text is kept as it was written."""
    return Column(name, JSON, nullable=nullable, server_default=default)


def number(name: str, default: int | None = None) -> Column[int]:
    """Return a column of a whole number."""
    return Column(name, Integer, nullable=False, server_default=None if default is None else text(str(default)))


def flag(name: str, *, default: bool = False) -> Column[bool]:
    """Return a column that is false, or true, unless said."""
    return Column(name, Boolean, nullable=False, server_default=text(str(default).lower()))


def one_of(column: str, states: type[StrEnum]) -> CheckConstraint:
    """Return a check that a column holds a state of its machine."""
    values = ", ".join(f"'{state}'" for state in states)
    return CheckConstraint(f"{column} IN ({values})", name=column)


def partial(name: str, *columns: str | TextClause, where: str, unique: bool = False) -> Index:
    """Return an index over the rows for which `where` holds."""
    return Index(name, *columns, unique=unique, postgresql_where=text(where))


def run_id(**kw: Any) -> Column[str]:
    """Return a reference to the run."""
    return Column("run_id", Text, ForeignKey("runs.run_id"), nullable=False, **kw)
