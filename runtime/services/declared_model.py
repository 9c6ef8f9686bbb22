"""What a declared card says of one request, as it was when people were asked.

Its labels are the author's; all else is data.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class DeclaredField:
    """A labelled value, and how it is written: text, date, number, percent or code."""

    label: str
    value: Any
    format: str


@dataclass(frozen=True)
class DeclaredTable:
    """A table: columns of (label, format), the first of its lines, and how many there are in all."""

    title: str
    columns: tuple[tuple[str, str], ...]
    lines: tuple[tuple[Any, ...], ...]
    count: int


@dataclass(frozen=True)
class Declared:
    """What is declared and could be evaluated; "" and nothing stand for what was not."""

    title: str = ""
    summary: str = ""
    fields: tuple[DeclaredField, ...] = ()
    tables: tuple[DeclaredTable, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    hide: frozenset[str] = frozenset()
    approve: str = ""  # what each choice leads to
    reject: str = ""

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Declared":
        """Return it from the form in which it is stored."""
        return cls(
            title=document.get("title", ""),
            summary=document.get("summary", ""),
            approve=document.get("approve", ""),
            reject=document.get("reject", ""),
            fields=tuple(DeclaredField(**field) for field in document["fields"]),
            tables=tuple(_table(table) for table in document["tables"]),
            links=tuple((link["label"], link["url"]) for link in document["links"]),
            hide=frozenset(document["hide"]),
        )


NOTHING = Declared()
"""Where nothing is declared."""


def _table(document: Mapping[str, Any]) -> DeclaredTable:
    return DeclaredTable(
        title=document["title"],
        columns=tuple((column["label"], column["format"]) for column in document["columns"]),
        lines=tuple(map(tuple, document["lines"])),
        count=document["count"],
    )
