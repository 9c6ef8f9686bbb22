"""Reads: what a worker does that has no side effect."""

import asyncio
import logging
from dataclasses import dataclass, replace
from datetime import timedelta

from runtime.definitions.model import Verb
from runtime.engine import Engine
from runtime.failpoints import Point, at
from runtime.gate import breakers
from runtime.gate.settlement import tell_held
from runtime.handlers import Call, HandlerError, HeldError, JsonObject, NotTakenError, RefusedError, TransientError
from runtime.model.json_limits import error_text, fault
from runtime.model.run import ReadLease
from runtime.model.states import StepStatus
from runtime.outbox import retry
from runtime.planning.advance import advance
from runtime.planning.planner import ParamsError, StepMoved, fits
from runtime.store import steps
from runtime.store.transactions.run_tx import RunTx

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReadEnd:
    """How a read ended: the step's move, the pause before the next try if there is one, and what that try costs.

    What was not even `taken` uses up no attempt; for what is `held` somebody has to mend something.
    """

    moved: StepMoved
    pause: timedelta | None = None
    taken: bool = True
    held: bool = False


async def do_read(engine: Engine, lease: ReadLease) -> None:
    """Do a leased read and move its run with the result; a lost lease writes nothing."""
    async with engine.pool.connection() as conn:
        definition = await engine.definitions.get(conn, lease.definition_name, lease.definition_version)
        verb = definition.verb_of(lease.path)
    result = await _read(engine, verb, lease)
    await breakers.report(engine, verb.handler.partition("::")[0], "", result)
    now = engine.clock()
    gives_up = now - (lease.started_at or now) >= engine.timing.read_deadline
    end = after_read(verb, lease, result, engine.jitter(), gives_up=gives_up)
    async with engine.run_tx(lease.run_id) as tx:
        if await steps.holds_read(tx.conn, lease, engine.worker):
            await _write(engine, tx, lease, end)
            at(Point.READ_ENDING)
    at(Point.READ_ENDED)


async def _write(engine: Engine, tx: RunTx, lease: ReadLease, end: ReadEnd) -> None:
    if end.moved.error:
        error = error_text((await tx.privacy()).text(end.moved.error))
        end = replace(end, moved=replace(end.moved, error=error))
    if end.held and not lease.held:
        log.warning("read %s of run %s is held: %s", lease.path, lease.run_id, end.moved.error)
        tx.leaf("read.held", {"error": end.moved.error}, step=lease.path)
        await tell_held(engine, tx, lease.path, end.moved.error, f"{lease.path}:{lease.attempt}")
    await advance(engine, tx, end.moved)
    if end.pause is not None:
        await steps.postpone_read(tx.conn, lease, tx.now + end.pause, taken=end.taken, held=end.held)


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
            at(Point.READ_CALLING)
            result = await handler.run(call)
            at(Point.READ_CALLED)
        if wrong := fault(result):
            raise ParamsError(f"result: {wrong}")
        fits(verb.output_schema, result, "result")
    except Exception as error:  # noqa: BLE001 - a read has no side effect: whatever it raises is its outcome
        return error
    return result


def after_read(
    verb: Verb, lease: ReadLease, result: JsonObject | Exception, jitter: float, *, gives_up: bool
) -> ReadEnd:
    """Return how the read ends; `gives_up` says that its deadline has passed."""
    if not isinstance(result, Exception):
        return ReadEnd(StepMoved(lease.path, StepStatus.SUCCEEDED, result))
    known = isinstance(result, HandlerError | ParamsError)
    error = str(result) if known else f"{type(result).__name__}: {result}"
    again = StepMoved(lease.path, StepStatus.FAILED_RETRYABLE, error=error)
    counted = lease.attempt - lease.waited
    if isinstance(result, HeldError) and not gives_up:
        return ReadEnd(again, retry.delay(retry.HELD_BACKOFF, lease.waited + 1, jitter), taken=False, held=True)
    if isinstance(result, NotTakenError) and not gives_up:
        pause = retry.pause(verb.retry, lease.waited + 1, jitter, result.retry_after)
        return ReadEnd(again, pause, taken=False)
    if isinstance(result, TransientError | TimeoutError) and counted < verb.retry.max_attempts and not gives_up:
        after = result.retry_after if isinstance(result, TransientError) else None
        return ReadEnd(again, retry.pause(verb.retry, counted, jitter, after))
    return ReadEnd(StepMoved(lease.path, StepStatus.FAILED_TERMINAL, error=error))
