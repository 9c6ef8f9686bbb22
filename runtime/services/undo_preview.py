"""What people see before they have a run undone, or several canceled. Reads only."""

from collections.abc import Sequence
from typing import Any

from runtime.definitions.canonical import from_canonical
from runtime.model.undo import Item, Standing
from runtime.planning.undo_asking import read_done
from runtime.planning.undo_items import items_of
from runtime.store import listings
from runtime.store.cancel_selection import Chosen, choose_runs
from runtime.store.database.pool import Conn
from runtime.store.definitions import canonical_definition

__all__ = ["MOST_CANCELED", "Chosen", "Item", "Standing", "TooManyError", "preview_cancel", "preview_undo"]

MOST_CANCELED = 1000
"""Runs that are canceled together: a person looks at the list before."""


class TooManyError(Exception):
    """More runs are meant than anybody looks through."""


async def preview_undo(conn: Conn, tenant: str, run_id: str, step: str | None) -> list[Item] | None:
    """Return what of a run, or of one step, can be undone, in its order, and what not and why; None: no such run.

    It is as things are now; when the undo is asked for, they are looked at again.
    """
    run = await listings.find_run(conn, tenant, run_id)
    if run is None:
        return None
    name, version = run["definition_name"], run["definition_version"]
    definition = from_canonical(await canonical_definition(conn, name, version))
    return items_of(await read_done(conn, tenant, run_id, definition), step)


async def preview_cancel(conn: Conn, tenant: str, chosen: Chosen) -> Sequence[dict[str, Any]]:
    """Return the runs that are meant and go on, the oldest first; raise TooManyError."""
    found = await choose_runs(conn, tenant, chosen, MOST_CANCELED + 1)
    if len(found) > MOST_CANCELED:
        raise TooManyError(f"more than {MOST_CANCELED} runs are meant: narrow it down")
    return found
