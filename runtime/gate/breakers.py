"""Tells the circuit breakers how a call of a connector went. What they mean stands in `model.breaker`."""

import psycopg

from runtime.engine import Engine
from runtime.gate.crossing import log
from runtime.handlers import JsonObject, OutcomeUnknownError, TransientError
from runtime.model.breaker import BreakerState
from runtime.model.subscription import CONNECTOR as WEBHOOK
from runtime.store import breakers


def speaks_for_failure(result: JsonObject | Exception) -> bool:
    """Return whether a call's outcome says that the other side is away: no answer, or none that could be used.

    A refusal is an answer, and so is a word to come back later.
    """
    if isinstance(result, TransientError):
        return result.retry_after is None
    return isinstance(result, OutcomeUnknownError | TimeoutError | OSError)


def failed_scopes(connector: str, target: str) -> tuple[tuple[str, str], ...]:
    """Return what a failure of a target speaks for: for that target, and for the connector as a whole ("").

    Receivers of webhooks are systems of their own: one that is away says nothing of the others.
    """
    if connector == WEBHOOK:
        return ((connector, target),)
    return tuple(dict.fromkeys(((connector, ""), (connector, target))))


async def report(engine: Engine, connector: str, target: str, result: JsonObject | Exception) -> None:
    """Count a failure for all that it speaks for, or close both; never a reason for the work to fail."""
    try:
        if speaks_for_failure(result):
            await _count(engine, connector, target)
        elif engine.troubled & {(connector, ""), (connector, target)}:
            async with engine.pool.connection() as conn:
                await breakers.close(conn, engine.tenant, (connector, target))
            engine.troubled.difference_update({(connector, ""), (connector, target)})
    except (psycopg.Error, OSError) as error:
        log.warning("breaker of %s not told: %s", connector, type(error).__name__)


async def _count(engine: Engine, connector: str, target: str) -> None:
    now = engine.clock()
    async with engine.pool.connection() as conn:
        for scope in failed_scopes(connector, target):
            breaker = await breakers.record_failure(conn, engine.tenant, scope, now)
            engine.troubled.add(scope)
            if breaker.state(now) is BreakerState.OPEN:
                log.warning("%s is left alone until %s after %d failures", "/".join(scope), breaker.open_until,
                            breaker.failures)  # fmt: skip


async def refresh(engine: Engine) -> None:
    """Learn from the database which connectors and targets have failed in other processes."""
    async with engine.pool.connection() as conn:
        known = await breakers.troubled(conn, engine.tenant)
    engine.troubled.clear()
    engine.troubled.update(known)
