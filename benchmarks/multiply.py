"""Makes many runs out of one, by SQL: each row of the one is written again with fresh identities. Pure.

A million runs that were parked by running them would take hours; to the database the rows are the same.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

Row = Mapping[str, str | None]


@dataclass(frozen=True)
class Identity:
    """A text that has to differ in each copy, and the SQL of what stands there instead, given the copy's number `n`."""

    text: str
    fresh: str


def random_identity(text: str, place: int) -> Identity:
    """Return an identity such as ``run_3f9c…`` or a digest: its prefix stays, and so does its length."""
    prefix, _, rest = text.rpartition("_")
    head = f"{prefix}_" if prefix else ""
    seed = f"'{place}:' || n"
    return Identity(text, f"{quoted(head)} || left(md5({seed}) || md5({seed} || 'x'), {len(rest)})")


def insertion(table: str, types: Mapping[str, str], rows: Iterable[Row], identities: Sequence[Identity]) -> list[str]:
    """Return statements that write each row `first` to `last` times; both are left to be filled in."""
    columns = ", ".join(types)
    return [
        f"INSERT INTO {table} ({columns}) SELECT {_values(types, row, identities)}"  # noqa: S608 - of quoted parts
        " FROM generate_series({first}, {last}) n"
        for row in rows
    ]


def _values(types: Mapping[str, str], row: Row, identities: Sequence[Identity]) -> str:
    return ", ".join(f"({expression(row[name], identities)})::{kind}" for name, kind in types.items())


def expression(text: str | None, identities: Sequence[Identity]) -> str:
    """Return SQL that gives the text with its identities made fresh."""
    if text is None:
        return "NULL"
    fresh = {identity.text: identity.fresh for identity in identities}
    pattern = "|".join(re.escape(known) for known in sorted(fresh, key=len, reverse=True))
    parts = re.split(f"({pattern})", text) if pattern else [text]
    return " || ".join(fresh.get(part) or quoted(part) for part in parts if part) or "''"


def quoted(text: str) -> str:
    """Return a literal; braces are doubled, since the statement is filled in once more."""
    return "'" + text.replace("'", "''").replace("{", "{{").replace("}", "}}") + "'"
