"""How a passage through the gate ends: receipt, effect's new status and run's next move, in one transaction."""

from datetime import timedelta
from typing import Any

from runtime.approvals import requests
from runtime.definitions.model import Retry
from runtime.handlers import JsonObject
from runtime.model.effect import AttemptOutcome, OnDoubt
from runtime.model.states import STEP, EffectStatus, StepStatus, WaitStatus, is_final
from runtime.outbox import retry
from runtime.planning.passage import Passage
from runtime.planning.planner import ParamsError, fits
from runtime.store import steps, waits

HELD_BACKOFF = Retry(1, "exponential", timedelta(seconds=2), timedelta(seconds=30))
"""How long what somebody has to mend is left alone; only the effect's deadline ends it."""


async def succeed(passage: Passage, result: JsonObject) -> None:
    """It happened: receipt, effect dispatched, step succeeded, or parked if its answer is still to come."""
    await passage.settle(EffectStatus.DISPATCHED)
    await passage.write_receipt(AttemptOutcome.SUCCESS, response=result)
    passage.count_write()
    await passage.say_on_card(passage.attempt.approval_id, "performed")
    await _complete_step(passage, result)


async def repeat(passage: Passage, response: Any) -> None:
    """The key has a success already: its response is this effect's too, and nothing acts a second time."""
    if passage.effect.correlation_key:  # the answer to the first start went to the run that made it
        await fail(passage, "its idempotency key started it for another run already; no answer will come")
        return
    await passage.settle(EffectStatus.DISPATCHED)
    passage.note("effect.repeated", {"idempotency_key": passage.effect.idempotency_key})
    await passage.say_on_card(passage.attempt.approval_id, "performed before, under the same idempotency key")
    await _complete_step(passage, response)


async def _complete_step(passage: Passage, result: JsonObject) -> None:
    verb = await passage.verb()
    if verb is None:
        return
    if passage.effect.correlation_key:
        await passage.move_step(StepStatus.PARKED)
        return
    try:
        fits(verb.output_schema, result, "result")
    except ParamsError as error:
        await passage.move_step(StepStatus.FAILED_TERMINAL, error=str(error))
    else:
        await passage.move_step(StepStatus.SUCCEEDED, result)


async def confirm(passage: Passage, statement: JsonObject) -> None:
    """A person looked and says that the side effect happened: that is its receipt, and the step's result."""
    await passage.write_receipt(AttemptOutcome.SUCCESS, response=statement)
    passage.count_write()
    await passage.say_on_card(passage.attempt.approval_id, "performed, as a person confirmed")
    parked = bool(passage.effect.correlation_key)
    await passage.move_step(StepStatus.PARKED if parked else StepStatus.SUCCEEDED, statement)


async def settle_if_step_ended(passage: Passage) -> bool:
    """Settle an effect whose step has ended meanwhile; False if it is still wanted. The passage holds the run's row."""
    if passage.effect.is_message:
        return False
    status = await steps.step_status(passage.tx.conn, passage.tx.run_id, passage.effect.step)
    if not is_final(STEP, status):
        return False
    if passage.attempt.is_doubtful and status is StepStatus.SUCCEEDED:  # its completion came: so its start happened
        await succeed(passage, {"completed": True})
    else:
        await reject(passage, f"the step has ended: {status}")
    return True


async def reject(passage: Passage, reason: str) -> None:
    """Policy, people or a broken promise say no: nothing was done, and nothing will be."""
    if passage.attempt.is_doubtful:
        await doubt(passage, reason, ask=True)
        return
    await passage.settle(EffectStatus.REJECTED, error=reason)
    await passage.write_receipt(AttemptOutcome.REFUSAL, error=reason)
    await _fail_step(passage, reason)


async def void_approval(passage: Passage, approval_id: str) -> None:
    """The action was changed after people approved it: refused, and it goes on without that approval, if at all."""
    reason = "the action was changed after it was approved; the approval is void"
    approval = passage.attempt.facts.approval
    passage.note("approval.voided", {"approved": approval and approval.digest, "found": passage.attempt.action.digest})
    await passage.write_receipt(AttemptOutcome.REFUSAL, error=reason)
    await passage.say_on_card(approval_id, f"not performed: {reason}")


async def fail(passage: Passage, reason: str) -> None:
    """It will not be done: the other side refused, or there is no try left."""
    if passage.attempt.is_doubtful:
        await doubt(passage, reason, ask=True)
        return
    await passage.settle(EffectStatus.FAILED, error=reason)
    await passage.write_receipt(AttemptOutcome.FAILURE, error=reason)
    await _fail_step(passage, reason)


async def _fail_step(passage: Passage, reason: str) -> None:
    await passage.say_on_card(passage.attempt.approval_id, f"not performed: {reason}")
    if not passage.effect.is_message:
        await _close_wait(passage)
        await passage.move_step(StepStatus.FAILED_TERMINAL, error=reason)


async def _close_wait(passage: Passage) -> None:
    tx = passage.tx
    await waits.close_step_wait(tx.conn, tx.run_id, passage.effect.step, WaitStatus.CANCELED, tx.now)


async def try_later(passage: Passage, reason: str, retry_after: float | None) -> None:
    """Nothing was done this time: the effect is pending again after a pause, or fails when there is no try left."""
    effect, attempt, tx = passage.effect, passage.attempt, passage.tx
    policy = retry.of_document(effect.retry)
    if attempt.is_doubtful:
        await doubt(passage, reason)
        return
    if attempt.tries >= policy.max_attempts or tx.now >= effect.give_up_at:
        await fail(passage, f"{reason} (attempt {attempt.tries} of {policy.max_attempts})")
        return
    pause = max(retry.delay(policy, attempt.tries, passage.engine.jitter()), timedelta(seconds=retry_after or 0))
    next_try_at = min(tx.now + pause, effect.give_up_at)
    await passage.settle(EffectStatus.PENDING, error=reason, next_try_at=next_try_at)
    await passage.write_receipt(AttemptOutcome.FAILURE, error=reason)
    if not effect.is_message:
        await _close_wait(passage)
        await passage.move_step(StepStatus.FAILED_RETRYABLE, error=reason)


async def hold(passage: Passage, reason: str) -> None:
    """Nothing was done, and somebody has to mend something first: tried until the deadline, and shown meanwhile."""
    effect, attempt, tx = passage.effect, passage.attempt, passage.tx
    if attempt.is_doubtful:
        await doubt(passage, reason)
        return
    if tx.now >= effect.give_up_at:
        await fail(passage, reason)
        return
    pause = retry.delay(HELD_BACKOFF, attempt.tries, passage.engine.jitter())
    next_try_at = min(tx.now + pause, effect.give_up_at)
    await passage.settle(EffectStatus.HELD, error=reason, next_try_at=next_try_at)
    await passage.write_receipt(AttemptOutcome.FAILURE, error=reason)
    if effect.status is not EffectStatus.HELD:
        passage.note("effect.held", {"error": reason})
    if not effect.is_message:
        await _close_wait(passage)
        await passage.move_step(StepStatus.FAILED_RETRYABLE, error=reason)


async def postpone(passage: Passage, reason: str) -> None:
    """Nothing could be begun: look again after a pause that grows; at the effect's deadline it fails."""
    effect, tx = passage.effect, passage.tx
    if tx.now >= effect.give_up_at:
        await fail(passage, f"not begun until the deadline: {reason}")
        return
    pause = retry.delay(retry.POLICY_BACKOFF, effect.postponed + 1, passage.engine.jitter())
    status = EffectStatus.IN_DOUBT if passage.attempt.is_doubtful else EffectStatus.PENDING
    await passage.settle(status, error=reason, next_try_at=tx.now + pause, postponed=True)


async def doubt(passage: Passage, reason: str, *, ask: bool = False) -> None:
    """It may have happened. Retry or reconcile after a pause where declared, else ask a person; never just go on."""
    effect, attempt, tx = passage.effect, passage.attempt, passage.tx
    policy = retry.of_document(effect.retry)
    spent = attempt.began and attempt.tries >= policy.max_attempts
    asks = ask or spent or effect.on_doubt is OnDoubt.ASK or tx.now >= effect.give_up_at
    if attempt.began:
        await passage.write_receipt(AttemptOutcome.IN_DOUBT, error=reason)
    elif asks:
        passage.note("effect.in_doubt", {"error": reason})
    if asks and effect.is_message:  # word in the chat whose fate is unknown is not worth a question
        await passage.settle(EffectStatus.FAILED, error=reason)
        return
    backoff = policy if attempt.began else retry.POLICY_BACKOFF
    nth = attempt.tries if attempt.began else effect.postponed + 1
    pause = retry.delay(backoff, nth, passage.engine.jitter())
    await passage.settle(
        EffectStatus.IN_DOUBT,
        error=reason,
        next_try_at=tx.now + pause,
        postponed=not attempt.began,
        on_doubt=OnDoubt.ASK if asks else None,
    )
    if asks:
        await requests.open_question(passage, reason)
        await passage.move_step(StepStatus.WAITING_APPROVAL)
