"""Copies of rows: a database that is full of what one run has left in it."""

import json
from typing import Any

from tests.bench import Bench

_COPY = """
    INSERT INTO {table} SELECT copy.* FROM (SELECT * FROM {table} LIMIT 1) one, generate_series(1, {count}) n,
           LATERAL jsonb_populate_record(NULL::{table}, to_jsonb(one) || '{said}' || jsonb_build_object({fresh})) copy
"""


async def copy_row(bench: Bench, table: str, count: int, *fresh: str, **said: Any) -> None:
    """Have so many copies of a table's first row, each with texts of its own in `fresh`: x1, x2 and on."""
    names = ", ".join(f"'{name}', 'x' || n" for name in fresh)
    await bench.meddle(_COPY.format(table=table, count=count, said=json.dumps(said), fresh=names))
