"""Reads: what a worker does that has no side effect. Each attempt goes on record: what it asked, got, used and cost."""

import asyncio
import logging
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from receipts.canonical import digest_of
from receipts.chain import READ_RECORDED
from receipts.fields import timestamp
from receipts.usage import ReadRecord, measured
from runtime.definitions.model import Verb
from runtime.engine import Engine
from runtime.failpoints import Point, at
from runtime.gate import gate_passage
from runtime.gate.settlement import tell_blocked
from runtime.handlers import (
    Answer,
    BlockedError,
    Call,
    Handler,
    HandlerError,
    JsonObject,
    NotTakenError,
    RefusedError,
    TransientError,
)
from runtime.model.action import commitment
from runtime.model.limits import error_text, json_fault
from runtime.model.run import ReadLease
from runtime.model.states import StepStatus
from runtime.model.steps import ErrorCode, ParamsError, ResultError
from runtime.outbox import retry
from runtime.outbox.attempts import told_in
from runtime.planning.advance import advance
from runtime.planning.step_errors import step_error
from runtime.planning.step_params import fits
from runtime.planning.transition import StepMoved
from runtime.store import records, steps
from runtime.store.run_tx import RunTx


@dataclass(frozen=True)
class ReadAttempt:
    """An attempt at a read that has come back: what it gave, and what was told beside that, if anything."""

    lease: ReadLease
    verb: str
    handler: str
    began: datetime
    result: JsonObject | Exception
    said: Answer | HandlerError | None


async def record_read(engine: Engine, tx: RunTx, attempt: ReadAttempt, error: str) -> None:
    """Write the record of an attempt, and the leaf that names it; `error` may be put on record, "" for none."""
    lease, result, salt = attempt.lease, attempt.result, tx.row["salt"]
    params = dict(lease.params)
    record = ReadRecord(
        read_id=engine.new_id("red"),
        tenant=lease.tenant,
        run_id=lease.run_id,
        step=lease.path,
        verb=attempt.verb,
        handler=attempt.handler,
        attempt=lease.attempt,
        started_at=timestamp(min(attempt.began, tx.now)),
        finished_at=timestamp(tx.now),
        outcome="failure" if isinstance(result, Exception) else "success",
        request=measured(params, commitment(params, salt)),
        response=None if isinstance(result, Exception) else measured(result, commitment(result, salt)),
        told=await told_in(tx, attempt.said),
        error=error or None,
    )
    document = record.document()
    seq = tx.leaf(READ_RECORDED, {"read_id": record.read_id, "digest": digest_of(document)}, step=lease.path)
    await records.insert_read(tx.conn, seq, record, document)


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReadEnd:
    """How a read ended: the step's move, the pause before the next try if there is one, and what that try costs.

    What was not even `taken` uses up no attempt; for what `is_blocked` somebody has to mend something.
    """

    moved: StepMoved
    pause: timedelta | None = None
    taken: bool = True
    is_blocked: bool = False


async def do_read(engine: Engine, lease: ReadLease) -> None:
    """Do a leased read, put it on record and move its run with the result; a lost lease writes nothing."""
    async with engine.pool.connection() as conn:
        definition = await engine.definitions.get(conn, lease.definition_name, lease.definition_version)
        verb = definition.verb_of(lease.path)
    attempt = await _read(engine, definition.node(lease.path).verb, verb, lease)
    await gate_passage.report(engine, verb.handler.partition("::")[0], "", attempt.result)
    now = engine.clock()
    gives_up = now - (lease.started_at or now) >= engine.timing.read_deadline
    end = after_read(verb, lease, attempt.result, engine.jitter(), gives_up=gives_up)
    await engine.evaluating(lambda: _finish(engine, attempt, end))
    at(Point.READ_ENDED)


async def _finish(engine: Engine, attempt: ReadAttempt, end: ReadEnd) -> None:
    async with engine.run_tx(attempt.lease.run_id) as tx:
        if await steps.holds_read(tx.conn, attempt.lease, engine.worker):
            await _write(engine, tx, attempt, end)
            at(Point.READ_ENDING)


async def _write(engine: Engine, tx: RunTx, attempt: ReadAttempt, end: ReadEnd) -> None:
    lease = attempt.lease
    end = within(end, tx.now, retry.ends_at(await tx.definition(), tx.row["created_at"]))
    if end.moved.error:
        error = error_text((await tx.privacy()).text(end.moved.error))
        end = replace(end, moved=replace(end.moved, error=error))
    await record_read(engine, tx, attempt, end.moved.error)
    if end.is_blocked and not lease.was_blocked:
        log.warning("read %s of run %s is blocked: %s", lease.path, lease.run_id, end.moved.error)
        tx.leaf("read.blocked", {"error": end.moved.error}, step=lease.path)
        await tell_blocked(engine, tx, lease.path, end.moved.error, f"{lease.path}:{lease.attempt}")
    await advance(engine, tx, end.moved)
    if end.pause is not None:
        await steps.postpone_read(tx.conn, lease, tx.now + end.pause, taken=end.taken, is_blocked=end.is_blocked)


async def _read(engine: Engine, name: str, verb: Verb, lease: ReadLease) -> ReadAttempt:
    """Call the handler, and return what it gave, or the exception that it ended with."""
    said: Answer | HandlerError | None = None
    result: JsonObject | Exception
    began = engine.clock()
    try:
        call = Call(lease.tenant, lease.run_id, lease.path, verb.handler.split("::")[1], dict(lease.params))
        async with asyncio.timeout(verb.timeout.total_seconds()):
            said = Answer.of(await _handler(engine, verb).run(call))
            at(Point.READ_CALLED)
        result = _checked(verb, said.result)
    except Exception as error:  # noqa: BLE001 - a read has no side effect: whatever it raises is its outcome
        result, said = error, error if isinstance(error, HandlerError) else said
    return ReadAttempt(lease, name, verb.handler, began, result, said)


def _handler(engine: Engine, verb: Verb) -> Handler:
    handler = engine.handlers.get(verb.handler)
    if handler is None:
        raise LookupError(f"no connector offers {verb.handler}")
    if handler.writes:
        raise RefusedError(f"{verb.handler} writes, and a read may not")
    at(Point.READ_CALLING)
    return handler


def _checked(verb: Verb, result: JsonObject) -> JsonObject:
    if wrong := json_fault(result):
        raise ResultError(f"result: {wrong}")
    try:
        fits(verb.output_schema, result, "result")
    except ParamsError as error:
        raise ResultError(str(error)) from None
    return result


def after_read(
    verb: Verb, lease: ReadLease, result: JsonObject | Exception, jitter: float, *, gives_up: bool
) -> ReadEnd:
    """Return how the read ends; `gives_up` says that its deadline has passed."""
    if not isinstance(result, Exception):
        return ReadEnd(StepMoved(lease.path, StepStatus.SUCCEEDED, result))
    wrong = step_error(result)
    error, code = wrong.message, wrong.code
    again = StepMoved(lease.path, StepStatus.FAILED_RETRYABLE, error=error, error_code=code)
    counted = lease.attempt - lease.waited
    if isinstance(result, BlockedError) and not gives_up:
        return ReadEnd(
            again, retry.delay(retry.BLOCKED_BACKOFF, lease.waited + 1, jitter), taken=False, is_blocked=True
        )
    if isinstance(result, NotTakenError) and not gives_up:
        pause = retry.wait(verb.retry, lease.waited + 1, jitter, result.retry_after)
        return ReadEnd(again, pause, taken=False)
    if isinstance(result, TransientError | TimeoutError) and counted < verb.retry.max_attempts and not gives_up:
        after = result.retry_after if isinstance(result, TransientError) else None
        return ReadEnd(again, retry.pause(verb.retry, counted, jitter, after))
    return ReadEnd(StepMoved(lease.path, StepStatus.FAILED_TERMINAL, error=error, error_code=code))


def within(end: ReadEnd, now: datetime, until: datetime | None) -> ReadEnd:
    """Return how a read ends of which nothing is tried after `until`."""
    if end.pause is None or until is None or now + end.pause <= until:
        return end
    error = f"{end.moved.error}; {retry.SLA_IS_OVER}"
    return ReadEnd(StepMoved(end.moved.path, StepStatus.FAILED_TERMINAL, error=error, error_code=ErrorCode.SLA))
