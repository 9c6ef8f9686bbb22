"""Delegations as operators record them, through the inbox and policy."""

from datetime import timedelta
from typing import Any

from runtime.inbox import inbox
from runtime.model.commands import DelegatePayload
from runtime.services.operator import OperatorDesk
from tests.bench import TENANT, Bench

WEEK = timedelta(days=7)


def operators(bench: Bench) -> OperatorDesk:
    """Return the desk of operators."""
    return OperatorDesk(bench.engine.pool, bench.clock, TENANT)


async def delegate(
    bench: Bench,
    delegator: str,
    to: str,
    *groups: str,
    by: str = "omar",
    starts: timedelta = timedelta(),
    lasts: timedelta = WEEK,
) -> dict[str, Any]:
    """Record that one person votes for another; return what became of it."""
    now = bench.clock() + starts
    wish = DelegatePayload(
        delegator=delegator, delegate=to, groups=groups, starts_at=now, ends_at=now + lasts, reason="on leave"
    )
    return dict(await inbox.apply(bench.engine, await operators(bench).delegate(by, wish)))


async def undelegate(bench: Bench, delegation_id: str, by: str = "omar") -> dict[str, Any]:
    """End a delegation; return what became of it."""
    asked = await operators(bench).undelegate(by, delegation_id, "back early")
    return dict(await inbox.apply(bench.engine, asked))
