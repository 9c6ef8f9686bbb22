"""How a passage through the gate ends: receipt, effect's new status and run's next move, in one transaction."""

from datetime import timedelta
from typing import Any

from receipts.model import Receipt, make_receipt
from runtime.approvals import requests
from runtime.engine import Engine
from runtime.handlers import JsonObject
from runtime.model.states import STEP, StepStatus, is_final
from runtime.outbox import messages, retry
from runtime.outbox.attempt import Attempt
from runtime.planning.advance import advance
from runtime.planning.planner import ParamsError, StepMoved, fits
from runtime.store import approvals, effects, records, steps, waits
from runtime.store.run_tx import RunTx

CHAT = "slack"
"""The connector whose effects talk about the work and are not counted as writes."""


def note(tx: RunTx, event: str, attempt: Attempt, data: dict[str, Any]) -> int:
    """Append a leaf about an effect."""
    effect = attempt.effect
    return tx.leaf(event, data, step=effect.step, approval_id=attempt.approval_id, effect_id=effect.effect_id)


async def write_receipt(
    engine: Engine, tx: RunTx, attempt: Attempt, outcome: str, *, response: Any = None, error: str | None = None
) -> None:
    """Write the receipt of an attempt, or of its refusal, and the leaf that names it."""
    effect, action = attempt.effect, attempt.action
    receipt: Receipt = make_receipt(
        request=dict(action.fields),
        response=response,
        pointers=action.redacted,
        started_at=attempt.started_at or tx.now,
        finished_at=tx.now,
        receipt_id=engine.new_id("rcp"),
        tenant=effect.tenant,
        run_id=effect.run_id,
        step=effect.step,
        effect_id=effect.effect_id,
        attempt=0 if outcome == "refusal" else effect.attempt,
        connector=effect.connector,
        operation=effect.operation,
        target=effect.target,
        idempotency_key=effect.idempotency_key,
        fingerprint=action.digest,
        outcome=outcome,
        reversible_by=effect.reversible_by,
        decision_id=(attempt.decision_id if attempt.began else None) or effect.decision_id or attempt.decision_id,
        approval_id=attempt.approval_id,
        error=error,
    )
    digest, document = receipt.digest(), receipt.model_dump(mode="json")
    facts = {"receipt_id": receipt.receipt_id, "digest": digest, "outcome": outcome}
    seq = note(tx, "receipt.written", attempt, facts)
    await records.insert_receipt(tx.conn, seq, document, digest, response, tx.now)


async def succeed(engine: Engine, tx: RunTx, attempt: Attempt, result: JsonObject) -> None:
    """It happened: receipt, effect dispatched, step succeeded, or parked if its answer is still to come."""
    await effects.settle(tx.conn, attempt.effect, "dispatched")
    await write_receipt(engine, tx, attempt, "success", response=result)
    tx.writes += attempt.effect.connector != CHAT
    await _say_on_card(engine, tx, attempt, "performed")
    await _complete_step(engine, tx, attempt, result)


async def repeat(engine: Engine, tx: RunTx, attempt: Attempt) -> None:
    """The key has a success already: its response is this effect's too, and nothing acts a second time."""
    if attempt.effect.correlation_key:  # the answer to the first start went to the run that made it
        await fail(engine, tx, attempt, "its idempotency key started it for another run already; no answer will come")
        return
    await effects.settle(tx.conn, attempt.effect, "dispatched")
    note(tx, "effect.repeated", attempt, {"idempotency_key": attempt.effect.idempotency_key})
    await _say_on_card(engine, tx, attempt, "performed before, under the same idempotency key")
    await _complete_step(engine, tx, attempt, attempt.facts["done_response"])


async def _complete_step(engine: Engine, tx: RunTx, attempt: Attempt, result: JsonObject) -> None:
    effect = attempt.effect
    if not effect.step:
        return
    if effect.correlation_key:
        await advance(engine, tx, StepMoved(effect.step, StepStatus.PARKED))
        return
    row = tx.row
    definition = await engine.definitions.get(tx.conn, row["definition_name"], row["definition_version"])
    try:
        fits(definition.verb_of(effect.step).output_schema, result, "result")
    except ParamsError as error:
        await advance(engine, tx, StepMoved(effect.step, StepStatus.FAILED_TERMINAL, error=str(error)))
    else:
        await advance(engine, tx, StepMoved(effect.step, StepStatus.SUCCEEDED, result))


async def confirmed(engine: Engine, tx: RunTx, attempt: Attempt, said: JsonObject) -> None:
    """A person looked and says that the side effect happened: that is its receipt, and the step's result."""
    await write_receipt(engine, tx, attempt, "success", response=said)
    tx.writes += attempt.effect.connector != CHAT
    await _say_on_card(engine, tx, attempt, "performed, as a person confirmed")
    if attempt.effect.step:
        parked = bool(attempt.effect.correlation_key)
        moved = StepMoved(attempt.effect.step, StepStatus.PARKED if parked else StepStatus.SUCCEEDED, said)
        await advance(engine, tx, moved)


async def too_late(engine: Engine, tx: RunTx, attempt: Attempt) -> bool:
    """Settle an effect whose step has ended meanwhile; False if it is still wanted. The caller holds the run's row."""
    effect = attempt.effect
    if not effect.step:
        return False
    status = await steps.step_status(tx.conn, tx.run_id, effect.step)
    if not is_final(STEP, status):
        return False
    if attempt.is_doubtful and status is StepStatus.SUCCEEDED:  # its completion came: then its start happened
        await succeed(engine, tx, attempt, {"completed": True})
    else:
        await reject(engine, tx, attempt, f"the step has ended: {status}")
    return True


async def reject(engine: Engine, tx: RunTx, attempt: Attempt, reason: str) -> None:
    """Policy, people or a broken promise say no: nothing was done, and nothing will be."""
    if attempt.is_doubtful:
        await doubt(engine, tx, attempt, reason, ask=True)
        return
    await effects.settle(tx.conn, attempt.effect, "rejected", error=reason)
    await write_receipt(engine, tx, attempt, "refusal", error=reason)
    await _fail_step(engine, tx, attempt, reason)


async def void_approval(engine: Engine, tx: RunTx, attempt: Attempt, approval_id: str) -> None:
    """The action was changed after people approved it: refused, and it goes on without that approval, if at all."""
    reason = "the action was changed after it was approved; the approval is void"
    found = {"approved": attempt.facts["approval_digest"], "found": attempt.action.digest}
    note(tx, "approval.voided", attempt, found)
    await write_receipt(engine, tx, attempt, "refusal", error=reason)
    await _say(engine, tx, approval_id, f"not performed: {reason}")


async def fail(engine: Engine, tx: RunTx, attempt: Attempt, reason: str) -> None:
    """It will not be done: the other side refused, or there is no try left."""
    if attempt.is_doubtful:
        await doubt(engine, tx, attempt, reason, ask=True)
        return
    await effects.settle(tx.conn, attempt.effect, "failed", error=reason)
    await write_receipt(engine, tx, attempt, "failure", error=reason)
    await _fail_step(engine, tx, attempt, reason)


async def _fail_step(engine: Engine, tx: RunTx, attempt: Attempt, reason: str) -> None:
    await _say_on_card(engine, tx, attempt, f"not performed: {reason}")
    if attempt.effect.step:
        await waits.close_step_wait(tx.conn, tx.run_id, attempt.effect.step, "canceled", tx.now)
        await advance(engine, tx, StepMoved(attempt.effect.step, StepStatus.FAILED_TERMINAL, error=reason))


async def try_later(engine: Engine, tx: RunTx, attempt: Attempt, reason: str, retry_after: float | None) -> None:
    """Nothing was done this time: the effect is pending again after a pause, or fails when there is no try left."""
    effect = attempt.effect
    policy = retry.of_document(effect.retry)
    if attempt.is_doubtful:
        await doubt(engine, tx, attempt, reason)
        return
    if attempt.tries >= policy.max_attempts or tx.now >= effect.give_up_at:
        await fail(engine, tx, attempt, f"{reason} (attempt {attempt.tries} of {policy.max_attempts})")
        return
    pause = max(retry.delay(policy, attempt.tries, engine.jitter()), timedelta(seconds=retry_after or 0))
    next_try_at = min(tx.now + pause, effect.give_up_at)
    await effects.settle(tx.conn, effect, "pending", error=reason, next_try_at=next_try_at)
    await write_receipt(engine, tx, attempt, "failure", error=reason)
    if effect.step:
        await waits.close_step_wait(tx.conn, tx.run_id, effect.step, "canceled", tx.now)
        await advance(engine, tx, StepMoved(effect.step, StepStatus.FAILED_RETRYABLE, error=reason))


async def postpone(engine: Engine, tx: RunTx, attempt: Attempt, reason: str) -> None:
    """Nothing could be begun: look again after a pause that grows; at the effect's deadline it fails."""
    effect = attempt.effect
    if tx.now >= effect.give_up_at:
        await fail(engine, tx, attempt, f"not begun until the deadline: {reason}")
        return
    pause = retry.delay(retry.POLICY_BACKOFF, effect.postponed + 1, engine.jitter())
    status = "in_doubt" if attempt.is_doubtful else "pending"
    await effects.settle(tx.conn, effect, status, error=reason, next_try_at=tx.now + pause, postponed=True)


async def doubt(engine: Engine, tx: RunTx, attempt: Attempt, reason: str, *, ask: bool = False) -> None:
    """It may have happened. Retry or reconcile after a pause where declared, else ask a person; never just go on."""
    effect = attempt.effect
    policy = retry.of_document(effect.retry)
    spent = attempt.began and attempt.tries >= policy.max_attempts
    asks = ask or spent or effect.in_doubt == "ask" or tx.now >= effect.give_up_at
    if attempt.began:
        await write_receipt(engine, tx, attempt, "in_doubt", error=reason)
    elif asks:
        note(tx, "effect.in_doubt", attempt, {"error": reason})
    if asks and not effect.step:  # word in the chat whose fate is unknown is not worth a question
        await effects.settle(tx.conn, effect, "failed", error=reason)
        return
    backoff = policy if attempt.began else retry.POLICY_BACKOFF
    pause = retry.delay(backoff, attempt.tries if attempt.began else effect.postponed + 1, engine.jitter())
    await effects.settle(
        tx.conn,
        effect,
        "in_doubt",
        error=reason,
        next_try_at=tx.now + pause,
        postponed=not attempt.began,
        in_doubt="ask" if asks else None,
    )
    if asks:
        await requests.open_question(engine, tx, attempt, reason)
        await advance(engine, tx, StepMoved(effect.step, StepStatus.WAITING_APPROVAL))


async def _say_on_card(engine: Engine, tx: RunTx, attempt: Attempt, result: str) -> None:
    if attempt.approval_id is not None:
        await _say(engine, tx, attempt.approval_id, result)


async def _say(engine: Engine, tx: RunTx, approval_id: str, result: str) -> None:
    await approvals.touch(tx.conn, approval_id, result=result)
    await messages.card_changed(engine, tx, approval_id)
    await messages.tell_thread(engine, tx, approval_id, f"result:{approval_id}", f"Outcome: {result}.")
