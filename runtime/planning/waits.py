"""Opens waits: durable blocks that cost a row, and that a notification or a deadline resolves."""

from collections.abc import Sequence
from datetime import timedelta

import isodate

from runtime.engine import Engine
from runtime.model.states import WaitType
from runtime.model.wait import Wait
from runtime.store import waits
from runtime.store.run_tx import RunTx


async def open_wait(
    engine: Engine,
    tx: RunTx,
    *,
    step: str,
    kind: WaitType,
    correlation_key: str,
    lasts: timedelta,
    escalate_after: timedelta | None = None,
    escalate_to: Sequence[str] = (),
    approval_id: str | None = None,
) -> None:
    """Open a step's one active wait in the transaction of `tx`; raise CorrelationInUseError if its key is taken."""
    escalates = escalate_after is not None and bool(escalate_to)
    wait = Wait(
        wait_id=engine.new_id("wait"),
        run_id=tx.run_id,
        step=step,
        type=kind,
        correlation_key=correlation_key,
        token=engine.new_id("tok"),
        deadline=tx.now + lasts,
        escalate_at=tx.now + escalate_after if escalate_after is not None and escalates else None,
        escalate_to=escalate_to,
        status="active",
        approval_id=approval_id,
    )
    await waits.open_wait(tx.conn, wait, tx.now)
    tx.leaf(
        "wait.opened",
        {"type": str(kind), "correlation_key": correlation_key, "lasts": isodate.duration_isoformat(lasts)},
        step=step,
        approval_id=approval_id,
    )
