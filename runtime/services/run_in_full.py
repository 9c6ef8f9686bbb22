"""A run in full: with all that belongs to it, over one connection. Nothing secret is shown."""

from typing import Any

from runtime.model.steps import class_of
from runtime.store import operator_lists
from runtime.store.database.pool import Conn
from runtime.store.operator_lists import Wanted, list_effects, list_waits
from runtime.store.records import costs_of_run
from runtime.store.undo import undoings_of

_ALL_OF_A_RUN = 1000


async def find_run(conn: Conn, tenant: str, run_id: str, most: int | None = None) -> dict[str, Any] | None:
    """Return a run with its steps and costs, and with its waits and effects, newest first; or None.

    Where `most` is given, it has no more steps than that, those first that have not ended well, and no more runs.
    `reviews` are those of break-glass that nobody has closed; `runs` are those that its steps started, and then those
    that undo it.
    """
    run = await operator_lists.find_run(conn, tenant, run_id)
    if run is None:
        return None
    own = Wanted(run_id=run_id, limit=_ALL_OF_A_RUN)
    return {
        **run,
        "steps": [
            {**step, "error_class": class_of(step["error_code"])}
            for step in await operator_lists.find_steps(conn, run_id, most)
        ],
        "costs": await costs_of_run(conn, run_id),
        "waits": await list_waits(conn, tenant, own),
        "effects": await list_effects(conn, tenant, own),
        "reviews": await operator_lists.open_reviews(conn, run_id),
        "questions": await operator_lists.questions_in(conn, run_id),
        "runs": await _runs_of(conn, tenant, run_id, most),
    }


async def _runs_of(conn: Conn, tenant: str, run_id: str, most: int | None) -> list[dict[str, Any]]:
    undo = [undoing.run_id for undoing in await undoings_of(conn, tenant, run_id)]
    started = await operator_lists.find_started(conn, run_id, most)
    return [*started, *await operator_lists.find_named(conn, tenant, undo)]
