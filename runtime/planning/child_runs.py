"""Child runs, started by steps of other runs: the step that waits hears of their end; the parent's end cancels them."""

from receipts.chain import PROGRAM
from runtime.definitions.model import Definition
from runtime.engine import Engine
from runtime.model.commands import CancelPayload
from runtime.model.payloads import ChildEndedPayload
from runtime.model.states import WaitType
from runtime.model.wait import wait_of_token
from runtime.store import notifications, runs
from runtime.store.run_tx import RunTx


async def tell_parent(engine: Engine, tx: RunTx) -> None:
    """Record for the step that waits for this run that it has ended, in the transaction that ends it.

    The leaf that says so is the last by now: by its hash the other run's evidence names this one.
    """
    parent = tx.row["parent"]
    payload = ChildEndedPayload(
        wait_id=wait_of_token(parent["token"]),
        token=parent["token"],
        child=tx.run_id,
        end=tx.head.hash,
        status=tx.status,
        outcome=tx.row["outcome"],
        output=tx.row["output"],
        error=tx.error,
    )
    await _record(engine, tx, f"child:{tx.run_id}", f"{parent['run_id']}:{parent['step']}", payload)


async def cancel_children(engine: Engine, tx: RunTx) -> None:
    """Ask the runs for whose end a step of this one still waits to stop, in the transaction that ends it."""
    await _stop(engine, tx, None, f"run {tx.run_id}, which started this one, has ended: {tx.status}")


async def cancel_child(engine: Engine, tx: RunTx, definition: Definition, step: str) -> None:
    """Ask the run for whose end a step waits no more to stop, in the transaction that ends or stops it."""
    verb = definition.calls(step)
    if verb is not None and verb.wait_type == WaitType.CHILD_RUN:
        await _stop(engine, tx, step, f"{step} of run {tx.run_id}, which started this one, waits for it no more")


async def _stop(engine: Engine, tx: RunTx, step: str | None, reason: str) -> None:
    for child in await runs.children_under_way(tx.conn, tx.run_id, step):
        await _record(engine, tx, f"orphan:{child}", child, CancelPayload(run_id=child, reason=reason))


async def _record(engine: Engine, tx: RunTx, key: str, about: str, payload: ChildEndedPayload | CancelPayload) -> None:
    word = engine.notification(payload, by=PROGRAM, about=about, key=key, request_id=tx.request_id)
    await notifications.record(tx.conn, word, tx.now)
    tx.conn.on_commit(engine.wakeup.poke)
