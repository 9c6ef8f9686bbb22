"""Opens waits: durable blocks that cost a row, and that a notification or a deadline resolves."""

from collections.abc import Sequence
from datetime import timedelta

from receipts.fields import timestamp
from runtime.engine import Engine
from runtime.model.states import WaitStatus, WaitType
from runtime.model.wait import Correlate, Moment, Wait
from runtime.store import notifications, waits
from runtime.store.run_tx import RunTx


async def open_wait(
    engine: Engine,
    tx: RunTx,
    *,
    step: str,
    kind: WaitType,
    correlation_key: str,
    correlate: Correlate = Correlate.BY_TOKEN,
    lasts: timedelta,
    moments: Sequence[Moment] = (),
    approval_id: str | None = None,
) -> str:
    """Open a step's one active wait in the transaction of `tx`, and return its token.

    Answers that came before it are looked at again when the transaction has ended.
    """
    wait_id = engine.new_id("wait")
    wait = Wait(
        wait_id=wait_id,
        run_id=tx.run_id,
        step=step,
        type=kind,
        correlation_key=correlation_key,
        correlate=correlate,
        token=f"{wait_id}.{engine.new_id('tok')}",
        deadline=tx.now + lasts,
        moments=moments,
        status=WaitStatus.ACTIVE,
        approval_id=approval_id,
    )
    await waits.open_wait(tx.conn, wait, tx.now)
    tx.hides = tx.hides or kind is WaitType.EXTERNAL  # its token
    await notifications.receive_early(tx.conn, tx.tenant, correlation_key)
    tx.leaf(
        "wait.opened",
        {
            "wait_id": wait_id,
            "type": str(kind),
            "correlation_key": correlation_key,
            "deadline": timestamp(wait.deadline),
        },
        step=step,
        approval_id=approval_id,
    )
    return wait.token
