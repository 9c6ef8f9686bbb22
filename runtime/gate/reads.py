"""Reads: what a worker does that has no side effect."""

import asyncio
from dataclasses import replace
from datetime import timedelta

from runtime.definitions.model import Verb
from runtime.engine import Engine
from runtime.gate import breakers
from runtime.handlers import Call, HandlerError, JsonObject, RefusedError, TransientError
from runtime.model.json_limits import error_text, fault
from runtime.model.states import StepStatus
from runtime.model.step import ReadLease
from runtime.outbox.retry import delay
from runtime.planning.advance import advance
from runtime.planning.planner import ParamsError, StepMoved, fits
from runtime.store import steps


async def do_read(engine: Engine, lease: ReadLease) -> None:
    """Do a leased read and move its run with the result; a lost lease writes nothing."""
    async with engine.pool.connection() as conn:
        definition = await engine.definitions.get(conn, lease.definition_name, lease.definition_version)
        verb = definition.verb_of(lease.path)
    result = await _read(engine, verb, lease)
    await breakers.report(engine, verb.handler.partition("::")[0], "", result)
    moved, pause = after_read(verb, lease, result, engine.jitter())
    async with engine.run_tx(lease.run_id) as tx:
        if await steps.holds_read(tx.conn, lease, engine.worker):
            if moved.error:
                moved = replace(moved, error=error_text((await tx.privacy()).text(moved.error)))
            await advance(engine, tx, moved)
            if pause is not None:
                await steps.postpone_read(tx.conn, lease, tx.now + pause)


async def _read(engine: Engine, verb: Verb, lease: ReadLease) -> JsonObject | Exception:
    """Return the handler's result, or the exception that it ended with."""
    handler = engine.handlers.get(verb.handler)
    if handler is None:
        return LookupError(f"no connector offers {verb.handler}")
    if handler.writes:
        return RefusedError(f"{verb.handler} writes, and a read may not")
    call = Call(lease.tenant, lease.run_id, lease.path, verb.handler.split("::")[1], dict(lease.params))
    try:
        async with asyncio.timeout(verb.timeout.total_seconds()):
            result = await handler.run(call)
        if wrong := fault(result):
            raise ParamsError(f"result: {wrong}")
        fits(verb.output_schema, result, "result")
    except Exception as error:  # noqa: BLE001 - a read has no side effect: whatever it raises is its outcome
        return error
    return result


def after_read(
    verb: Verb, lease: ReadLease, result: JsonObject | Exception, jitter: float
) -> tuple[StepMoved, timedelta | None]:
    """Return how the step moves, and the pause before the next try if there is one."""
    if not isinstance(result, Exception):
        return StepMoved(lease.path, StepStatus.SUCCEEDED, result), None
    known = isinstance(result, HandlerError | ParamsError)
    error = str(result) if known else f"{type(result).__name__}: {result}"
    if not isinstance(result, TransientError | TimeoutError) or lease.attempt >= verb.retry.max_attempts:
        return StepMoved(lease.path, StepStatus.FAILED_TERMINAL, error=error), None
    after = result.retry_after if isinstance(result, TransientError) else None
    pause = max(delay(verb.retry, lease.attempt, jitter), timedelta(seconds=after or 0))
    return StepMoved(lease.path, StepStatus.FAILED_RETRYABLE, error=error), pause
