"""Has what a run did taken back, on somebody's word: by a run of its own, which asks for everything anew."""

from collections.abc import Sequence
from typing import Any

from runtime.inbox.matter import Matter
from runtime.model.notification import Applied
from runtime.model.run_payloads import UndoPayload
from runtime.model.states import NotificationStatus
from runtime.model.undo import Item, Standing
from runtime.planning.undo_asking import ask_for_undo, possible, read_done
from runtime.planning.undo_items import items_of


async def apply_undo(matter: Matter, payload: UndoPayload) -> Applied:
    """Start the run that undoes what can be undone; say what that is, and what is left and why.

    A run that goes on may still rely on what it did: of that, one step may be undone, but not all.
    """
    tx = matter.seen_run(payload.run_id, payload.version)
    if isinstance(tx, Applied):
        return tx
    if payload.step is None and not tx.is_over:
        return Applied(NotificationStatus.STALE, {"reason": f"the run goes on: cancel it first ({tx.status})"})
    done = await read_done(tx.conn, tx.tenant, tx.run_id, await tx.definition())
    items = items_of(done, payload.step)
    wanted = possible(items)
    if not wanted:
        return Applied(NotificationStatus.STALE, {"reason": f"nothing of it can be undone{_because(items)}"})
    by, request_id = matter.notification.actor, matter.notification.request_id
    claimed = await ask_for_undo(matter.engine, tx.conn, done, wanted, by, request_id, payload.submitted_by)
    left = [item for item in items if item.standing is not Standing.POSSIBLE]
    facts = {"run_id": tx.run_id, "undone_in": claimed.run_id, "undone": named(wanted), "left": named(left)}
    return Applied(NotificationStatus.APPLIED, facts)


def _because(items: Sequence[Item]) -> str:
    return "".join(f"; {item.step}: {item.why}" for item in items)


def named(items: Sequence[Item]) -> list[dict[str, Any]]:
    """Return the items as people and programs are told of them."""
    return [
        {"step": item.step, "what": item.what, "target": item.target, "standing": item.standing.value, "why": item.why}
        for item in items
    ]
