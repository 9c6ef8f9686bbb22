"""Puts effects into the outbox: the row and the audit leaf that names its digest, in the caller's transaction."""

from collections.abc import Sequence
from datetime import datetime

from runtime.engine import Engine
from runtime.model.effect import NewEffect
from runtime.store.effects import insert_effect
from runtime.store.run_tx import RunTx


async def propose(engine: Engine, tx: RunTx, effects: Sequence[NewEffect], give_up_at: datetime | None = None) -> None:
    """Propose effects; one that was proposed before (same dedupe key) stays as it is and is not named again."""
    give_up_at = give_up_at or tx.now + engine.timing.effect_deadline
    for effect in effects:
        action = effect.action(tx.row["salt"])
        if await insert_effect(tx.conn, tx.run_id, tx.tenant, effect, action, tx.now, give_up_at):
            proposed = {
                "action": f"{effect.connector}::{effect.operation}",
                "target": effect.target,
                "digest": action.digest,
            }
            tx.leaf("effect.proposed", proposed, step=effect.step, effect_id=effect.effect_id)
