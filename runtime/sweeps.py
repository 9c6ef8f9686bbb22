"""What the clock brings about: deadlines, escalations and expired leases. Safe to run twice, and in many processes.

A sweep finds rows and hands each to the same door as everything else; truth stays in the rows.
"""

import logging

from runtime import inbox, outcomes
from runtime.attempt import make_attempt
from runtime.engine import Engine
from runtime.store import effects
from runtime.store import inbox as store
from runtime.store.inbox import Notification
from runtime.store.run_tx import run_tx

BATCH = 100
log = logging.getLogger(__name__)


async def sweep(engine: Engine) -> int:
    """Run every sweep once; return how many rows were acted on."""
    return await fire_deadlines(engine) + await fire_escalations(engine) + await reclaim_leases(engine)


async def fire_deadlines(engine: Engine) -> int:
    """Fire timers that are due, expire approvals, time out waits for others."""
    async with engine.pool.connection() as conn:
        due = await store.due_waits(conn, engine.clock(), BATCH)
    return await _signal(engine, "deadline", due)


async def fire_escalations(engine: Engine) -> int:
    """Ask those next in line where time runs short."""
    async with engine.pool.connection() as conn:
        due = await store.due_escalations(conn, engine.clock(), BATCH)
    return await _signal(engine, "escalation", due)


async def _signal(engine: Engine, kind: str, due: list[dict[str, str]]) -> int:
    for row in due:
        signal = Notification(
            notification_id=engine.new_id("ntf"),
            tenant=row["tenant"],
            kind=kind,
            dedupe_key=f"{kind}:{row['wait_id']}:{row['token']}",
            correlation_key=row["wait_id"],
            payload={"wait_id": row["wait_id"], "token": row["token"]},
            actor={"id": "countersign", "kind": "schedule"},
            request_id="",
        )
        await inbox.apply(engine, await inbox.record(engine, signal))
    return len(due)


async def reclaim_leases(engine: Engine) -> int:
    """Take back effects whose worker is gone: pending if no attempt had begun, else in doubt."""
    async with engine.pool.connection() as conn:
        expired = await effects.expired_leases(conn, engine.clock(), BATCH)
    for effect_id in expired:
        await _reclaim(engine, effect_id)
    return len(expired)


async def _reclaim(engine: Engine, effect_id: str) -> None:
    async with engine.pool.connection() as conn:
        run_id = await effects.run_of(conn, effect_id)
        async with run_tx(conn, run_id, engine.clock()) as tx:
            effect = await effects.reclaim(conn, effect_id, tx.now)
            if effect is None:
                return
            log.warning("effect %s reclaimed: %s", effect_id, effect.status)
            attempt = make_attempt(effect, await effects.passage_facts(conn, effect))
            outcomes.note(tx, "effect.reclaimed", attempt, {"status": effect.status, "attempt": effect.attempt})
            if effect.status == "in_doubt":
                reason = "the worker was lost during the attempt"
                await outcomes.write_receipt(engine, tx, attempt, "in_doubt", error=reason)
                if effect.in_doubt == "ask":
                    await outcomes.ask_person(engine, tx, attempt, reason)
    engine.wakeup.poke()
