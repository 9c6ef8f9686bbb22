"""Asks for what a run did to be taken back: reads what that was, and claims the run that undoes it."""

from collections.abc import Sequence

from receipts.canonical import digest
from receipts.chain import Actor
from runtime.definitions.model import Definition
from runtime.engine import Engine
from runtime.model.states import EffectStatus, StepStatus
from runtime.model.undo import UNDO, Item, Standing
from runtime.planning.triggers import Claim, Trigger, claim_in
from runtime.planning.undo_acts import Acted, Done
from runtime.planning.undo_by_hand import BY_HAND
from runtime.planning.undo_making import name_of, payload_of, refs_of, undo_definition
from runtime.store.database.pool import Conn
from runtime.store.definitions import keep_definition
from runtime.store.undo_acts import Named, Undoing, effects_of, supplied_in, undoings_of


async def read_done(conn: Conn, tenant: str, run_id: str, definition: Definition) -> Done:
    """Return what a run did, with what undoes it already."""
    undoings = await find_undoings(conn, tenant, run_id)
    at_it = {receipt: undoing.run_id for undoing in undoings if not undoing.is_over for receipt in undoing.receipts}
    by_hand = {receipt: undoing.run_id for undoing in undoings if undoing.by_hand for receipt in undoing.receipts}
    rows = await effects_of(conn, run_id)
    holds = any(node.holds for node in definition.steps.values())
    supplied = await supplied_in(conn, run_id) if holds else {}
    return Done(run_id, tenant, definition, [_acted(row, at_it, by_hand) for row in rows], supplied)


async def find_undoings(conn: Conn, tenant: str, run_id: str) -> list[Undoing]:
    """Return the runs that undo a run, by their numbers."""
    return await undoings_of(conn, tenant, Named(UNDO, name_of(run_id), refs_of(run_id), BY_HAND))


def _acted(row: dict[str, object], at_it: dict[str, str], by_hand: dict[str, str]) -> Acted:
    document = row["document"] if isinstance(row["document"], dict) else {}
    receipt_id = None if row["receipt_id"] is None else str(row["receipt_id"])
    return Acted(
        step=str(row["step"]),
        step_status=StepStatus(str(row["step_status"])),
        connector=str(row["connector"]),
        operation=str(row["operation"]),
        target=str(row["target"]),
        status=EffectStatus(str(row["status"])),
        has_begun=bool(row["has_begun"]),
        receipt_id=receipt_id,
        digest=digest(document) if receipt_id else "",
        request=document.get("request"),
        response=document.get("response"),
        before=row["before"],
        undone_in=None if row["undone_in"] is None else str(row["undone_in"]),
        being_undone_in=at_it.get(receipt_id or ""),
        by_hand_in=by_hand.get(receipt_id or ""),
        is_last=bool(row["is_last"]),
    )


async def ask_for_undo(
    engine: Engine, conn: Conn, done: Done, items: Sequence[Item], by: Actor, request_id: str, submitted_by: str = ""
) -> Claim:
    """Start the run that undoes these (possible) items, on behalf of `by`, in the caller's transaction.

    `submitted_by` is the caller that brought the wish, "" where nobody did.

    The caller has locked the run, so that each receipt is asked for once.
    """
    undoings = await find_undoings(conn, done.tenant, done.run_id)
    number = undoings[-1].number + 1 if undoings else 1
    definition = undo_definition(done.definition, done.run_id, number, items, engine.routing.doubt_groups)
    await keep_definition(conn, done.tenant, definition, engine.clock())
    trigger = Trigger(
        tenant=done.tenant,
        type=UNDO,
        ref=f"{refs_of(done.run_id)}{number}",
        payload=payload_of(done.run_id, items),
        requested_by=by,
        submitted_by=submitted_by or by.id,
        request_id=request_id,
    )
    claimed = await claim_in(engine, conn, definition, trigger)
    conn.on_commit(engine.wakeup.poke)
    return claimed


def possible(items: Sequence[Item]) -> list[Item]:
    """Return the items that can be undone."""
    return [item for item in items if item.standing is Standing.POSSIBLE]
