"""What the clock brings about: deadlines, escalations and expired leases. Safe to run twice, and in many processes.

A sweep looks for rows and hands each to the same door as everything else; truth stays in the rows. Rows go in sets, a
run that somebody holds is passed over until the next sweep, and a row that cannot be dealt with delays nobody.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime
from typing import TypeVar

from receipts.chain import Actor
from runtime.engine import Engine
from runtime.failpoints import Point, at
from runtime.gate import settlement
from runtime.inbox import inbox
from runtime.inbox.answers import sweep_early
from runtime.inbox.break_glass import tell_of_late_reviews
from runtime.inbox.directory_changes import recheck_open_requests
from runtime.model.effect import Effect
from runtime.model.notification import Notification
from runtime.model.payloads import DeadlinePayload, EscalationPayload
from runtime.model.wait import DueWait
from runtime.outbox.attempts import make_attempt
from runtime.planning.effect_tx import EffectTx
from runtime.store import effects, leases, records, waits
from runtime.store.database.pool import Conn
from runtime.store.passage_facts import read_facts
from runtime.store.run_tx import RunTx

BATCH = 256
"""Rows that a sweep takes on at once."""
AT_ONCE = 4
"""Leases that are taken back side by side."""

log = logging.getLogger(__name__)

Row = TypeVar("Row")
Due = Callable[[Conn, str, datetime, int], Awaitable[list[DueWait]]]


async def sweep(engine: Engine) -> int:
    """Run every sweep once; return how many rows were acted on. One that fails does not keep the others from theirs."""
    return sum([await _guarded(one(engine)) for one in SWEEPS])


async def _guarded(work: Coroutine[object, object, int]) -> int:
    try:
        return await work
    except Exception:
        log.exception("a sweep failed and will be made up")
        return 0


async def _side_by_side(rows: list[Row], deal: Callable[[Row], Coroutine[object, object, int]]) -> int:
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(row: Row) -> int:
        async with slots:
            return await _guarded(deal(row))

    return sum(await asyncio.gather(*(one(row) for row in rows)))


async def fire_deadlines(engine: Engine) -> int:
    """Fire timers that are due, expire approvals, time out waits for others."""
    return await _fire(engine, waits.due_deadlines, DeadlinePayload)


async def fire_escalations(engine: Engine) -> int:
    """Ask those next in line where time runs short, and remind those who are asked."""
    return await _fire(engine, waits.due_escalations, EscalationPayload)


async def _fire(engine: Engine, due: Due, kind: type[DeadlinePayload | EscalationPayload]) -> int:
    """Say to all waits that are due that they are; on and on, while there are more."""
    fired, recorded = 0, await _record(engine, due, kind)
    while recorded:
        fired += sum(await asyncio.gather(*(_guarded(_apply(engine, one)) for one in recorded)))
        recorded = await _record(engine, due, kind) if len(recorded) == BATCH else []
    return fired


async def _record(engine: Engine, due: Due, kind: type[DeadlinePayload | EscalationPayload]) -> list[str]:
    """Record a signal for each of a batch of waits that are due; return the ids. Their runs' locks keep others away."""
    async with engine.pool.connection() as conn, conn.transaction():
        now = engine.clock()
        rows = await due(conn, engine.tenant, now, BATCH)
        signals = [_signal(engine, kind(wait_id=row.wait_id, token=row.token, turn=row.turn)) for row in rows]
        recorded = await inbox.record_new(conn, signals, now, now + engine.timing.lease) if signals else []
    at(Point.NOTIFICATION_RECORDED)
    return recorded


def _signal(engine: Engine, payload: DeadlinePayload | EscalationPayload) -> Notification:
    key = f"{payload.kind}:{payload.wait_id}:{payload.token}" + (f":{payload.turn}" if payload.turn else "")
    by = Actor(id="countersign", kind="schedule")
    return engine.notification(payload, by=by, about=payload.wait_id, key=key, request_id="")


async def _apply(engine: Engine, notification_id: str) -> int:
    await inbox.apply(engine, notification_id)
    return 1


async def reclaim_leases(engine: Engine) -> int:
    """Take back effects whose worker is gone: pending if no attempt had begun, else in doubt."""
    async with engine.pool.connection() as conn:
        expired = await leases.expired_leases(conn, engine.tenant, engine.clock(), BATCH)
    return await _side_by_side(expired, lambda effect_id: _reclaim(engine, effect_id))


async def _reclaim(engine: Engine, effect_id: str) -> int:
    """End a lease in the name of the worker that held it: what it writes after this, it writes no more."""
    async with engine.pool.connection() as conn:
        run_id = await effects.run_of(conn, engine.tenant, effect_id)
    return await engine.evaluating(lambda: _take_back(engine, run_id, effect_id))


async def _take_back(engine: Engine, run_id: str, effect_id: str) -> int:
    async with engine.run_tx(run_id) as tx:
        effect = await effects.expired(tx.conn, effect_id, tx.now)
        if effect is None:
            return 0
        passage = EffectTx(engine, tx, make_attempt(effect, await read_facts(tx.conn, effect)))
        began = passage.attempt.began = await _has_begun(tx, effect)
        log.warning("effect %s taken back from %s", effect_id, effect.lease_owner)
        passage.note("effect.reclaimed", {"began": began, "attempt": effect.attempt})
        if began and effect.is_read:
            await settlement.try_later(passage, "the worker was lost during the attempt", None)
        elif began:
            await settlement.doubt(passage, "the worker was lost during the attempt")
        else:
            await settlement.postpone(passage, "the worker was lost before the attempt")
        at(Point.RECLAIMING)
    at(Point.RECLAIMED)
    engine.wakeup.poke()
    return 1


async def _has_begun(tx: RunTx, effect: Effect) -> bool:
    """Return whether an attempt began under the lease: one that was in doubt before it has its receipt."""
    began = effect.started_at
    return began is not None and not await records.has_receipt(tx.conn, tx.run_id, effect.effect_id, began)


SWEEPS: tuple[Callable[[Engine], Coroutine[object, object, int]], ...]
SWEEPS = (fire_deadlines, fire_escalations, reclaim_leases, sweep_early, tell_of_late_reviews, recheck_open_requests)
"""Each is ticked for itself: one that has much to do keeps no other from its turn."""
