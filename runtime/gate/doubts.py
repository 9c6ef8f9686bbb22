"""Step 9 of the gate: what became of an attempt whose outcome nobody was told.

That it happened may be found out at any time. That it did not counts only once the request can no longer land, which
the verb's `settles_within` says: a target that is slower than our patience acts after we have looked in vain.
"""

from collections.abc import Awaitable, Callable
from functools import partial

from runtime.failpoints import Point, at
from runtime.gate import settlement
from runtime.gate.gate_passage import GatePassage, recordable
from runtime.handlers import BlockedError, Call, Changed, Done, JsonObject, OutcomeUnknownError, Reconciled, Untouched
from runtime.model.effect import OnDoubt
from runtime.model.states import has_stopped
from runtime.model.steps import ErrorCode
from runtime.outbox import retry
from runtime.planning.effect_tx import EffectTx
from runtime.planning.step_errors import describe
from runtime.store import waits

ReadBack = Callable[[Call], Awaitable[Reconciled]]


async def clear_doubt(crossing: GatePassage) -> bool:
    """Return whether another attempt may be thought of; False if this settled the effect, or is for later."""
    attempt, on_doubt, handler = crossing.attempt, crossing.effect.on_doubt, crossing.handler
    has_ended = attempt.facts.step_status is not None and has_stopped(attempt.facts.step_status)
    if has_ended and await _is_answered(crossing):
        await _find_start(crossing)
        return False
    if on_doubt is OnDoubt.RECONCILE and handler is None:
        await crossing.postpone("effect.postponed", "its connector is not here to read the target back")
        return False
    looks_back = on_doubt is OnDoubt.RECONCILE or (on_doubt is OnDoubt.RETRY and has_ended)  # nobody tries that again
    if looks_back and handler is not None and handler.reconcile is not None:
        return await _reconcile(crossing, handler.reconcile)
    if on_doubt is OnDoubt.RETRY and not attempt.is_spent:
        return True
    await crossing.write(lambda passage: settlement.doubt(passage, crossing.effect.error, ask=True))
    return False


async def _reconcile(crossing: GatePassage, read_back: ReadBack) -> bool:
    attempt, effect = crossing.attempt, crossing.effect
    may_land = attempt.may_land(crossing.engine.clock())  # before the look, which may take a while
    try:
        at(Point.LOOKING_BACK)
        found = await crossing.call(read_back, effect.timeout_s)
        at(Point.LOOKED_BACK)
    except BlockedError as error:
        await crossing.finish(error)
        return False
    except Exception as error:  # noqa: BLE001 - the doubt stays, and is looked into again
        await crossing.finish(OutcomeUnknownError(f"not reconciled: {describe(error)}"))
        return False
    if isinstance(found, Done):
        await crossing.finish(recordable(found.result))
        return False
    if not isinstance(found, Untouched | Changed):  # a handler that says something else is not understood
        await crossing.finish(OutcomeUnknownError(f"not reconciled: {type(found).__name__} says nothing"))
        return False
    attempt.cleared = isinstance(found, Untouched) and not may_land
    if attempt.cleared and not attempt.is_spent:
        return True
    await crossing.write(partial(_still_unknown, found, may_land=may_land))
    return False


async def _still_unknown(found: Untouched | Changed, passage: EffectTx, *, may_land: bool) -> None:
    error, attempt = passage.effect.error, passage.attempt
    if attempt.cleared:
        await settlement.fail(passage, f"{error} (attempt {attempt.tries}; nothing was done)", ErrorCode.UNAVAILABLE)
    elif isinstance(found, Changed) and not may_land:
        await settlement.doubt(passage, error, ask=True, found=found.found)
    else:
        await settlement.wait_to_land(passage)


async def _is_answered(crossing: GatePassage) -> bool:
    effect = crossing.effect
    async with crossing.engine.pool.connection() as conn:
        return await waits.is_answered(conn, effect.run_id, effect.step)


async def _find_start(crossing: GatePassage) -> None:
    """The other side gave its answer while its start was in doubt: find what it had said to the start."""
    handler, effect = crossing.handler, crossing.effect
    result: JsonObject | None = None
    if handler is not None and handler.reconcile is not None:
        try:
            found = await crossing.call(handler.reconcile, effect.timeout_s)
        except Exception as error:  # noqa: BLE001 - tried a few times; then the completion has to do
            if effect.postponed + 1 < retry.of_document(effect.retry).max_attempts:
                await crossing.finish(OutcomeUnknownError(f"not read back: {describe(error)}"))
                return
        else:
            result = recordable(found.result) if isinstance(found, Done) else None
    await crossing.write(lambda passage: settlement.start_proven(passage, result))
