"""Cursors that count what is sent to PostgreSQL."""

import re
from typing import Any

from psycopg import AsyncCursor
from psycopg.rows import DictRow


class Counting(AsyncCursor[DictRow]):
    """Counts the statements that are sent, but for BEGIN and COMMIT, and those of them that write."""

    sent = 0
    written = 0  # how often a worker looks for work depends on the machine, what it writes does not

    async def execute(self, query: Any, params: Any = None, **kwargs: Any) -> Any:
        if query in ("BEGIN", "COMMIT"):
            return await super().execute(query, params, **kwargs)
        Counting.sent += 1
        Counting.written += bool(re.search(r"\b(INSERT INTO|UPDATE|DELETE FROM)\b", str(query)))
        return await super().execute(query, params, **kwargs)
