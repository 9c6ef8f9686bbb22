"""What the declarations share: the metadata with its naming rule, and short forms of columns and constraints."""

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
"""The member of a table's `info` that has its rights."""


@dataclass(frozen=True)
class Rights:
    """What the program may do with the rows of a table, beside reading and adding them."""

    updates: tuple[str, ...] | None
    """Columns that it may update; None for all."""
    deletes: bool


def insert_only() -> dict[str, Rights]:
    """Return the info of a table of proof: no row changes or goes away."""
    return kept()


def kept(*updates: str) -> dict[str, Rights]:
    """Return the info of a table of records: no row goes away, and only these columns change."""
    return {RIGHTS: Rights(updates=updates, deletes=False)}


def working() -> dict[str, Rights]:
    """Return the info of a table that holds no records: rows change and go away."""
    return {RIGHTS: Rights(updates=None, deletes=True)}


def rights_of(table: Table) -> Rights:
    """Return a table's rights; raise KeyError where it declares none."""
    rights: Rights = table.info[RIGHTS]
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
