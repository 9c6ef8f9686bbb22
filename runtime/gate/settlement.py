"""How a passage through the gate ends: receipt, effect's new status and run's next move, in one transaction."""

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from runtime.approvals import requests
from runtime.engine import Engine
from runtime.handlers import JsonObject
from runtime.model.approval import Result, ResultCode
from runtime.model.effect import AttemptOutcome, OnDoubt
from runtime.model.messages import Blocked
from runtime.model.states import EffectStatus, StepStatus, WaitStatus, has_stopped
from runtime.model.steps import ErrorCode, ParamsError
from runtime.outbox import messages, retry
from runtime.planning.effect_tx import EffectTx
from runtime.planning.step_params import fits
from runtime.store import approvals, steps, waits
from runtime.store.run_tx import RunTx

log = logging.getLogger(__name__)


async def succeed(passage: EffectTx, result: JsonObject) -> None:
    """It happened: receipt, effect dispatched, step succeeded, or parked if its answer is still to come."""
    await passage.settle(EffectStatus.DISPATCHED)
    await passage.write_receipt(AttemptOutcome.SUCCESS, response=result)
    passage.count_write()
    await passage.say_on_card(passage.attempt.approval_id, Result(ResultCode.PERFORMED))
    await _complete_step(passage, result)


async def repeat(passage: EffectTx, response: Any) -> None:
    """The key has a success already: its response is this effect's too, and nothing acts a second time."""
    if passage.effect.correlation_key:  # the answer to the first start went to the run that made it
        reason = "its idempotency key started it for another run already; no answer will come"
        await fail(passage, reason, ErrorCode.KEY_IN_USE)
        return
    await passage.settle(EffectStatus.DISPATCHED)
    passage.note("effect.repeated", {"idempotency_key": passage.effect.idempotency_key})
    await passage.say_on_card(passage.attempt.approval_id, Result(ResultCode.PERFORMED_BEFORE))
    await _complete_step(passage, response)


async def _complete_step(passage: EffectTx, result: JsonObject) -> None:
    verb = await passage.verb()
    if verb is None:
        return
    if passage.effect.correlation_key:
        await passage.move_step(StepStatus.PARKED)
        return
    try:
        fits(verb.output_schema, result, "result")
    except ParamsError as error:
        await passage.move_step(StepStatus.FAILED_TERMINAL, error=str(error), error_code=ErrorCode.RESULT)
    else:
        await passage.move_step(StepStatus.SUCCEEDED, result)


async def confirm(passage: EffectTx, statement: JsonObject) -> None:
    """A person looked and says that the side effect happened: that is its receipt, and the step's result."""
    await passage.write_receipt(AttemptOutcome.SUCCESS, response=statement)
    passage.count_write()
    await passage.say_on_card(passage.attempt.approval_id, Result(ResultCode.CONFIRMED))
    parked = bool(passage.effect.correlation_key)
    await passage.move_step(StepStatus.PARKED if parked else StepStatus.SUCCEEDED, statement)


async def start_proven(passage: EffectTx, result: JsonObject | None) -> None:
    """A completion proves that its request was made, though no reply to that came.

    `result` is what the target, read back, says of the request. Where it says nothing, the receipt names the ids that
    the completion carries, and that it knows them from there.
    """
    if result is None:
        completion = await steps.step_result(passage.tx.conn, passage.tx.run_id, passage.effect.step)
        ids = completion if isinstance(completion, dict) else {}
        named = {name: value for name, value in ids.items() if name == "id" or name.endswith("_id")}
        result = {"known_from": "the completion of the step", "ids": named}
    await succeed(passage, result)


async def settle_if_step_ended(passage: EffectTx) -> bool:
    """Settle an effect whose step has ended meanwhile; False if it is still wanted. The passage holds the run's row."""
    if passage.effect.is_message:
        return False
    status = await _step_status(passage)
    if not has_stopped(status):
        return False
    if not (passage.attempt.is_doubtful and await _look_for_answer(passage)):
        await reject(passage, f"the step has ended: {status}")
    return True


async def _step_status(passage: EffectTx) -> StepStatus:
    return await steps.step_status(passage.tx.conn, passage.tx.run_id, passage.effect.step)


async def _look_for_answer(passage: EffectTx) -> bool:
    """Let what is in doubt be proven next time by the answer that its ended step has had; False if it had none."""
    tx, effect = passage.tx, passage.effect
    if not await waits.is_answered(tx.conn, tx.run_id, effect.step):
        return False
    await passage.settle(EffectStatus.IN_DOUBT, error=effect.error, next_try_at=tx.now)
    return True


async def reject(passage: EffectTx, reason: str, code: ErrorCode = ErrorCode.DENIED) -> None:
    """Policy, people or a broken promise say no: nothing was done, and nothing will be."""
    if passage.attempt.is_doubtful:
        await doubt(passage, reason, ask=True)
        return
    await passage.settle(EffectStatus.REJECTED, error=reason)
    await passage.write_receipt(AttemptOutcome.REFUSAL, error=reason)
    await _fail_step(passage, reason, code)


async def void_approval(passage: EffectTx, approval_id: str, reason: str) -> None:
    """People's approval does not count any more: refused, and it goes on without that approval, if at all."""
    approval = passage.attempt.facts.approval
    found = {"approved": approval and approval.digest, "found": passage.attempt.action.digest, "reason": reason}
    passage.note("approval.voided", found)
    await passage.write_receipt(AttemptOutcome.REFUSAL, error=reason)
    await passage.say_on_card(approval_id, Result(ResultCode.NOT_PERFORMED, (reason,)))


async def fail(passage: EffectTx, reason: str, code: ErrorCode) -> None:
    """It will not be done: the other side refused, or there is no try left."""
    if passage.attempt.is_doubtful:
        await doubt(passage, reason, ask=True)
        return
    await passage.settle(EffectStatus.FAILED, error=reason)
    await passage.write_receipt(AttemptOutcome.FAILURE, error=reason)
    await _fail_step(passage, reason, code)


async def _fail_step(passage: EffectTx, reason: str, code: ErrorCode) -> None:
    await passage.say_on_card(passage.attempt.approval_id, Result(ResultCode.NOT_PERFORMED, (reason,)))
    if not passage.effect.is_message:
        await _close_wait(passage)
        await passage.move_step(StepStatus.FAILED_TERMINAL, error=reason, error_code=code)


async def _close_wait(passage: EffectTx) -> None:
    tx = passage.tx
    await waits.close_step_wait(tx.conn, tx.run_id, passage.effect.step, WaitStatus.CANCELED, tx.now)


async def try_later(passage: EffectTx, reason: str, retry_after: float | None) -> None:
    """Nothing was done this time: the effect is pending again after a pause, or fails when there is no try left."""
    attempt, tx = passage.attempt, passage.tx
    if attempt.is_doubtful:
        await _still_in_doubt(passage, reason, retry_after, counted=True)
    elif tx.now >= passage.effect.give_up_at or attempt.is_spent:
        of = retry.of_document(passage.effect.retry).max_attempts
        await fail(passage, f"{reason} (attempt {attempt.tries} of {of})", ErrorCode.UNAVAILABLE)
    else:
        pause = _pause(passage, counted=True, retry_after=retry_after)
        await _nothing_done(passage, ErrorCode.UNAVAILABLE, reason, pause)


async def wait_until_taken(passage: EffectTx, reason: str, retry_after: float | None) -> None:
    """The request was not even taken: it is waited out until the deadline, and uses up no try."""
    if passage.attempt.is_doubtful:
        await _still_in_doubt(passage, reason, retry_after, counted=False)
    elif passage.tx.now >= passage.effect.give_up_at:
        await fail(passage, reason, ErrorCode.NOT_TAKEN)
    else:
        pause = _pause(passage, counted=False, retry_after=retry_after)
        await _nothing_done(passage, ErrorCode.NOT_TAKEN, reason, pause)


async def hold(passage: EffectTx, reason: str) -> None:
    """Nothing was done, and somebody has to fix the cause first: tried until the deadline, and shown meanwhile."""
    effect, tx = passage.effect, passage.tx
    pause = retry.delay(retry.BLOCKED_BACKOFF, effect.postponed + 1, passage.engine.jitter())
    too_late = _comes_too_late(passage, pause)
    if not passage.attempt.is_doubtful and (tx.now >= effect.give_up_at or too_late):
        await fail(passage, _why_not_again(passage, reason, pause), ErrorCode.SLA if too_late else ErrorCode.BLOCKED)
        return
    if not effect.was_blocked:
        log.warning("effect %s (%s::%s) is blocked: %s", effect.effect_id, effect.connector, effect.operation, reason)
        passage.note("effect.blocked", {"error": reason})
        if not effect.is_message or effect.operation == "post_card":  # of the chat's words those that ask somebody
            await tell_blocked(passage.engine, tx, effect.step, reason, f"{effect.effect_id}:{effect.attempt}")
    if passage.attempt.is_doubtful:
        await _still_in_doubt(passage, reason, None, counted=False, is_blocked=True)
    else:
        await _nothing_done(passage, ErrorCode.BLOCKED, reason, pause)


async def tell_blocked(engine: Engine, tx: RunTx, step: str, reason: str, name: str) -> None:
    """Tell those who can fix it, once for each `name`; `step` is "" where a card is blocked."""
    said = Blocked(run=await messages.run_name(tx), step=step, why=reason)
    await messages.tell_groups(engine, tx, list(engine.routing.doubt_groups), f"blocked:{name}", said, None)


async def _nothing_done(passage: EffectTx, code: ErrorCode, reason: str, pause: timedelta) -> None:
    """Let the effect be tried again. The attempt is known to have done nothing, so its approval may serve another.

    What the step waits for stays open: the answer may come between two tries. Only the `unavailable` use up a try.
    """
    effect, attempt, tx = passage.effect, passage.attempt, passage.tx
    is_blocked, counted = code is ErrorCode.BLOCKED, code is ErrorCode.UNAVAILABLE
    if _comes_too_late(passage, pause):
        await fail(passage, _why_not_again(passage, reason, pause), ErrorCode.SLA)
        return
    await passage.settle(
        EffectStatus.BLOCKED if is_blocked else EffectStatus.PENDING,
        error=reason,
        next_try_at=min(tx.now + pause, effect.give_up_at),
        postponed=not counted,
        uncounted=attempt.began and not counted,
        is_blocked=is_blocked,
    )
    if attempt.began:
        await passage.write_receipt(AttemptOutcome.FAILURE, error=reason)
        if attempt.approval_id is not None:
            await approvals.give_back(tx.conn, attempt.approval_id)
    await passage.move_step(StepStatus.FAILED_RETRYABLE, error=reason, error_code=code)


def _comes_too_late(passage: EffectTx, pause: timedelta) -> bool:
    """Return whether another try after the pause would come after its run's SLA."""
    until = retry.until(passage.effect.retry)
    return until is not None and passage.tx.now + pause > until


def _why_not_again(passage: EffectTx, reason: str, pause: timedelta) -> str:
    return f"{reason}; {retry.SLA_IS_OVER}" if _comes_too_late(passage, pause) else reason


def _pause(passage: EffectTx, *, counted: bool, retry_after: float | None) -> timedelta:
    """Return the pause that the verb and the other side ask for; what was not taken is paused as the latter says."""
    effect, policy, jitter = passage.effect, retry.of_document(passage.effect.retry), passage.engine.jitter()
    if counted:
        return retry.pause(policy, passage.attempt.tries, jitter, retry_after)
    return retry.wait(policy, effect.postponed + 1, jitter, retry_after)


async def postpone(passage: EffectTx, reason: str) -> None:
    """Nothing could be begun: look again after a pause that grows; at the effect's deadline it fails."""
    effect, tx = passage.effect, passage.tx
    again = passage.attempt.is_repeat
    pause = retry.delay(retry.POLICY_BACKOFF, effect.postponed + 1, passage.engine.jitter())
    if tx.now >= effect.give_up_at:
        await fail(passage, f"not begun until the deadline: {reason}", ErrorCode.NOT_BEGUN)
        return
    if not again and _comes_too_late(passage, pause):
        await fail(passage, _why_not_again(passage, f"not begun: {reason}", pause), ErrorCode.SLA)
        return
    await passage.settle(
        EffectStatus.IN_DOUBT if again else EffectStatus.PENDING,
        error=effect.error if again else reason,
        next_try_at=tx.now + pause,
        postponed=True,
        is_blocked=effect.was_blocked,
    )


async def doubt(passage: EffectTx, reason: str, *, ask: bool = False, found: Mapping[str, Any] | None = None) -> None:
    """It may have happened. Retry or reconcile after a pause where declared, else ask a person; never just go on.

    A person is asked only once the request can no longer land: before, nobody can say that it did not happen.
    """
    effect, attempt, tx = passage.effect, passage.attempt, passage.tx
    if attempt.began:
        await passage.write_receipt(AttemptOutcome.IN_DOUBT, error=reason)
    spent = attempt.is_spent and effect.on_doubt is OnDoubt.RETRY
    if ask or spent or effect.on_doubt is OnDoubt.ASK or tx.now >= effect.give_up_at:
        await _ask_person(passage, reason, found)
    else:
        await _look_again(passage, reason, tx.now + _doubt_pause(passage))


async def _ask_person(passage: EffectTx, reason: str, found: Mapping[str, Any] | None) -> None:
    attempt, tx = passage.attempt, passage.tx
    if passage.effect.is_message:  # word in the chat whose fate is unknown is not worth a question
        await passage.settle(EffectStatus.FAILED, error=reason)
    elif attempt.settles_at is not None and attempt.may_land(tx.now):
        await _look_again(passage, reason, attempt.settles_at)
    elif not (has_stopped(await _step_status(passage)) and await _look_for_answer(passage)):
        if not attempt.began:
            passage.note("effect.in_doubt", {"error": reason})
        await passage.settle(EffectStatus.IN_DOUBT, error=reason, asked=True)
        await requests.open_question(passage, reason, found)
        await passage.move_step(StepStatus.WAITING_APPROVAL)


async def wait_to_land(passage: EffectTx) -> None:
    """Nothing was found, which says nothing as long as the request may still land: look again then."""
    attempt, tx = passage.attempt, passage.tx
    await _look_again(passage, passage.effect.error, max(attempt.settles_at or tx.now, tx.now))


async def _look_again(passage: EffectTx, reason: str, at: datetime) -> None:
    postponed = not passage.attempt.began
    await passage.settle(EffectStatus.IN_DOUBT, error=reason, next_try_at=at, postponed=postponed)


def _doubt_pause(passage: EffectTx) -> timedelta:
    attempt, jitter = passage.attempt, passage.engine.jitter()
    if attempt.began:
        return retry.delay(retry.of_document(passage.effect.retry), attempt.tries, jitter)
    return retry.delay(retry.POLICY_BACKOFF, passage.effect.postponed + 1, jitter)


async def _still_in_doubt(
    passage: EffectTx, reason: str, retry_after: float | None, *, counted: bool, is_blocked: bool = False
) -> None:
    """This try did nothing, but an earlier one may have."""
    attempt, tx = passage.attempt, passage.tx
    if attempt.began:
        await passage.write_receipt(AttemptOutcome.FAILURE, error=reason)
    if (counted and attempt.is_spent) or tx.now >= passage.effect.give_up_at:
        await _ask_person(passage, reason, None)
        return
    await passage.settle(
        EffectStatus.IN_DOUBT,
        error=reason,
        next_try_at=tx.now + _pause(passage, counted=counted, retry_after=retry_after),
        postponed=not counted,
        uncounted=attempt.began and not counted,
        is_blocked=is_blocked,
    )
