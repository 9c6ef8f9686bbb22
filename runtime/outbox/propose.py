"""Puts effects into the outbox: the row and the audit leaf that names its digest, in the caller's transaction."""

from collections.abc import Sequence
from datetime import datetime

from runtime.engine import Engine
from runtime.model.effect import LeaseSlot, NewEffect, Purpose
from runtime.store.effects import Times, insert_message, insert_step_effect, message_row
from runtime.store.run_tx import RunTx


async def propose(
    engine: Engine,
    tx: RunTx,
    effects: Sequence[NewEffect],
    give_up_at: datetime | None = None,
    not_before: datetime | None = None,
    *,
    is_new: bool = False,
) -> None:
    """Propose effects; a message that was proposed before (same dedupe key) stays as it is and is not named again.

    Set `is_new` where no earlier transaction can have proposed it: that saves the look.
    """
    times = Times(tx.now, give_up_at or tx.now + engine.timing.effect_deadline, not_before)
    for effect in effects:
        action, slot = effect.action(tx.row["salt"]), None
        if effect.purpose is Purpose.STEP:
            slot = _slot_for(engine, tx, effect)
            tx.hides = tx.hides or bool(action.redacted)
            await insert_step_effect(tx.conn, tx.run_id, tx.tenant, effect, action, times, slot)
        else:
            row = message_row(tx.run_id, tx.tenant, effect, action, times)
            if effect.dedupe_key in tx.proposed or not (is_new or await tx.loads.message(row)):
                continue
            if is_new:
                await insert_message(tx.conn, row)
            tx.proposed.add(effect.dedupe_key)
        proposed = {
            "action": f"{effect.connector}::{effect.operation}",
            "target": effect.target,
            "digest": action.digest,
        }
        tx.leaf("effect.proposed", proposed, step=effect.step, effect_id=effect.effect_id)
        if slot is None:
            tx.conn.on_commit(engine.wakeup.poke)


def _slot_for(engine: Engine, tx: RunTx, effect: NewEffect) -> LeaseSlot | None:
    """Return the slot that is free with this commit, if the effect may have it: it fits, and there is no trouble."""
    slot = tx.slot
    if slot is None or slot.chained is not None or not slot.fits(effect):
        return None
    if f"{effect.connector}::{effect.operation}" not in engine.handlers:
        return None
    in_trouble = engine.troubled & {(effect.connector, ""), (effect.connector, effect.target)}
    return None if in_trouble else slot
