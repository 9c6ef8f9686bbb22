"""Undo: what would be undone and what not, the wish to have it done, and what became of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runtime.definitions.canonical import from_canonical
from runtime.engine import Engine
from runtime.inbox import inbox
from runtime.model.commands import UndoPayload
from runtime.model.limits import error_text
from runtime.model.undo import Item, Standing
from runtime.planning.undo import items_of, read_done
from runtime.services.clicks import record_said
from runtime.store import approvals, operator_lists
from runtime.store.database.pool import Conn
from runtime.store.definitions import canonical_definition
from runtime.store.runs import Chosen, find_runs_to_cancel

__all__ = [
    "Chosen",
    "Item",
    "Standing",
]


@dataclass(frozen=True)
class UndoView:
    """What the step behind a card did, as far as it can be undone now."""

    approval_id: str
    run_id: str
    step: str
    items: Sequence[Item]

    @property
    def is_possible(self) -> bool:
        """Return whether anything can be undone."""
        return any(item.standing is Standing.POSSIBLE for item in self.items)


@dataclass(frozen=True)
class UndoWish:
    """A person's wish, verified. `dedupe_key` is equal for deliveries of the same one."""

    dedupe_key: str
    run_id: str
    step: str
    reason: str
    person_id: str
    request_id: str


@dataclass(frozen=True)
class UndoOutcome:
    """The run that undoes; None where there is none, and then why."""

    undone_in: str | None
    reason: str


MOST_CANCELED = 1000
"""Runs that are canceled together: a person looks at the list before."""


class TooManyError(Exception):
    """More runs are meant than anybody looks through."""


async def preview_undo(conn: Conn, tenant: str, run_id: str, step: str | None) -> list[Item] | None:
    """Return what of a run, or of one step, can be undone, in its order, and what not and why; None: no such run.

    It is as things are now; when the undo is asked for, they are looked at again.
    """
    run = await operator_lists.find_run(conn, tenant, run_id)
    if run is None:
        return None
    name, version = run["definition_name"], run["definition_version"]
    definition = from_canonical(await canonical_definition(conn, name, version))
    return items_of(await read_done(conn, tenant, run_id, definition), step)


async def preview_cancel(conn: Conn, tenant: str, chosen: Chosen) -> Sequence[dict[str, Any]]:
    """Return the runs that are meant and go on, the oldest first; raise TooManyError."""
    found = await find_runs_to_cancel(conn, tenant, chosen, MOST_CANCELED + 1)
    if len(found) > MOST_CANCELED:
        raise TooManyError(f"more than {MOST_CANCELED} runs are meant: narrow it down")
    return found


class CompensationService:
    """Undoes what a card asked about, for people of one tenant."""

    def __init__(self, engine: Engine, tenant: str) -> None:
        self.engine = engine
        self.tenant = tenant

    async def undo_view(self, approval_id: str) -> UndoView | None:
        """Return what the step behind a card did, or None where there is no such card."""
        async with self.engine.pool.connection() as conn:
            approval = await approvals.get_approval(conn, approval_id)
            if approval is None:
                return None
            items = await preview_undo(conn, self.tenant, approval.run_id, approval.step)
        return None if items is None else UndoView(approval_id, approval.run_id, approval.step, items)

    async def ask_undo(self, wish: UndoWish) -> str:
        """Write the wish into the inbox, durably; return the notification's id. Repeats return the first's."""
        payload = UndoPayload(run_id=wish.run_id, step=wish.step, reason=error_text(wish.reason), version=None)
        return await record_said(
            self.engine,
            payload,
            by=wish.person_id,
            about=wish.run_id,
            key=f"undo:{wish.dedupe_key}",
            request_id=wish.request_id,
        )

    async def apply_undo(self, notification_id: str) -> UndoOutcome:
        """Apply a recorded wish, at most once; a repeat returns the same outcome."""
        facts = await inbox.apply(self.engine, notification_id)
        return UndoOutcome(facts.get("undone_in"), str(facts.get("reason", "")))
