"""The clauses that narrow a list to a page; every statement names the approval `a`, the run `r` and the effect `e`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from runtime.model.pages import Edge, Narrowed
from runtime.store.database.pool import Conn

Row = dict[str, Any]

_OF_RUNS = {
    "runbook": "r.definition_name = %(runbook)s",
    "text": """
        strpos(lower(concat_ws(chr(10), r.reference, r.trigger_ref, r.definition_name, r.run_id)), lower(%(text)s)) > 0
    """,
}
_OF_REQUESTS = {
    **_OF_RUNS,
    "tier": "a.tier = %(tier)s",
    "group": "((a.requirement::jsonb -> 'groups') ? %(group)s OR a.joined::jsonb ? %(group)s)",
    "text": """
        strpos(lower(concat_ws(chr(10), r.reference, r.trigger_ref, r.definition_name, e.target, e.operation, a.purpose,
                               a.shown ->> 'title', a.run_id, a.approval_id)), lower(%(text)s)) > 0
    """,
    "is_due_soon": """
        coalesce(a.prolonged_until, a.expires_at) - %(now)s
            < (coalesce(a.prolonged_until, a.expires_at) - a.requested_at) / 4
    """,
    "ids": "a.approval_id = ANY(%(ids)s)",
}


def of_requests(narrowed: Narrowed) -> str:
    """Return the clauses for requests, each after an AND."""
    return _joined(_OF_REQUESTS, narrowed)


def of_runs(narrowed: Narrowed) -> str:
    """Return the clauses for runs: tier and group are no matter of theirs."""
    return _joined(_OF_RUNS, narrowed)


def _joined(clauses: dict[str, str], narrowed: Narrowed) -> str:
    wanted = vars(narrowed)
    return "".join(f" AND {clause}" for name, clause in clauses.items() if wanted[name] not in ("", False, None))


def page_of(at: str, key: str, edge: Edge | None, limit: str = "%(limit)s", *, newest_first: bool) -> str:
    """Return what narrows to a page by its keys, orders it and bounds it; one that goes back is turned."""
    falls = newest_first != (edge is not None and edge.back)
    begins = f" AND ({at}, {key}) {'<' if falls else '>'} (%(edge_at)s, %(edge_id)s)" if edge is not None else ""
    way = "DESC" if falls else "ASC"
    return f"{begins} ORDER BY {at} {way}, {key} {way} LIMIT {limit}"


def values_of(narrowed: Narrowed, edge: Edge | None) -> Row:
    """Return the values of the clauses."""
    ids = None if narrowed.ids is None else list(narrowed.ids)
    keys = {"edge_at": edge.at, "edge_id": edge.id} if edge else {}
    return {**vars(narrowed), **keys, "ids": ids}


@asynccontextmanager
async def along_the_index(conn: Conn) -> AsyncIterator[None]:
    """Have a page read along the index of its order, to its end and no further.

    How many rows fit is no matter of statistics here, and PostgreSQL takes it for so few that it would rather read and
    sort everything that is open.
    """
    async with conn.transaction():
        await conn.execute(
            "SELECT set_config('enable_sort', 'off', true), set_config('enable_bitmapscan', 'off', true)"
        )
        yield
