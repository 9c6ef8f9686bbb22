"""Reviews of broken glass that are late: who is asked, and who watches over it, hear of it again and again."""

from typing import Any

from receipts.fields import timestamp
from runtime.engine import Engine
from runtime.model.figures import Mark
from runtime.model.messages import ReviewLate
from runtime.model.states import ApprovalStatus
from runtime.outbox import messages
from runtime.store.approval_marks import put_mark
from runtime.store.glass import late_reviews
from runtime.store.run_tx import RunTx

BATCH = 64
"""Reviews that one sweep takes on."""


async def press_for_reviews(engine: Engine) -> int:
    """Tell of each review whose time is over, once each time that it has passed; return of how many."""
    async with engine.pool.connection() as conn:
        late = await late_reviews(conn, engine.tenant, engine.clock(), BATCH)
    for one in late:
        async with engine.run_tx(one["run_id"]) as tx:
            await _press(engine, tx, one)
    if late:
        engine.wakeup.poke()
    return len(late)


async def _press(engine: Engine, tx: RunTx, late: dict[str, Any]) -> None:
    approval = await tx.loads.approval(late["approval_id"])
    if approval is None or approval.status is not ApprovalStatus.REQUESTED:
        return
    if not await put_mark(tx.conn, approval.approval_id, Mark.REMINDED, f"late:{late['nth']}", tx.now):
        return  # somebody else has just told of it
    asked = list(approval.requirement.groups)
    said = ReviewLate(
        run=await messages.run_name(tx), step=approval.step, groups=asked, until=timestamp(approval.expires_at)
    )
    name = f"late:{approval.approval_id}:{late['nth']}"
    await messages.tell_thread(engine, tx, approval.approval_id, name, said)
    await messages.tell_groups(engine, tx, sorted({*asked, *late["tell"]}), name, said, approval.approval_id)
