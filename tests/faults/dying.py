"""Programs that apply, sweep or deliver in a process of their own, and are killed (SIGKILL) at a point.

Applies a notification and does what follows, in a process of its own, which is killed (SIGKILL) at a point.

That is when it comes there for the nth time.

It is given the database's DSN, OPA's address, the notification, the point and the number.

Sweeps in a process of its own, which is killed (SIGKILL) when it comes to a point for the nth time.

It is given the database's DSN, OPA's address, the moment, the point and the number.

Delivers a webhook in a process of its own, which is killed (SIGKILL) when the receiver has answered.

It is given the database's DSN, OPA's address, the moment and the receiver's URL.
"""

import asyncio
import os
import signal
from collections import Counter
from datetime import datetime

from policy.client import OpaEngine
from runtime import failpoints, sweeps
from runtime.inbox import inbox
from tests.bench import HandClock, open_bench
from tests.integration.conftest import PACK, PATIENCE, Targets
from tests.integration.hooks_stage import subscribed, subscription
from tests.patience import MINUTE


async def _apply(dsn: str, opa: str, notification_id: str, point: str, number: int) -> None:
    hits: Counter[str] = Counter()

    def die(reached: failpoints.Point) -> None:
        hits[reached] += 1
        if hits[point] == number:
            os.kill(os.getpid(), signal.SIGKILL)

    async with (
        OpaEngine(opa, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK], Targets.fresh().handlers()) as bench,
    ):
        failpoints.arm(die)
        await inbox.apply(bench.engine, notification_id)
        await bench.settle()


def apply(dsn: str, opa: str, notification_id: str, point: str, number: str) -> None:
    """Be that process."""
    asyncio.run(_apply(dsn, opa, notification_id, point, int(number)))


async def _sweep(dsn: str, opa: str, moment: str, point: str, number: int) -> None:
    hits: Counter[str] = Counter()

    def die(reached: failpoints.Point) -> None:
        hits[reached] += 1
        if hits[point] == number:
            os.kill(os.getpid(), signal.SIGKILL)

    clock = HandClock(datetime.fromisoformat(moment))
    async with (
        OpaEngine(opa, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PATIENCE], Targets.fresh().handlers(), clock=clock) as bench,
    ):
        failpoints.arm(die)
        await sweeps.sweep(bench.engine)


def sweep(dsn: str, opa: str, moment: str, point: str, number: str) -> None:
    """Be that process."""
    asyncio.run(_sweep(dsn, opa, moment, point, int(number)))


def _die(reached: failpoints.Point) -> None:
    if reached is failpoints.Point.CONNECTOR_CALLED:
        os.kill(os.getpid(), signal.SIGKILL)


async def _deliver(dsn: str, opa: str, moment: str, url: str) -> None:
    clock = HandClock(datetime.fromisoformat(moment))
    async with (
        OpaEngine(opa, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK], Targets.fresh().handlers(), clock=clock) as bench,
    ):
        failpoints.arm(_die)
        await subscribed(bench, subscription(url, "run.completed")).settle()


def deliver(dsn: str, opa: str, moment: str, url: str) -> None:
    """Be that process."""
    asyncio.run(_deliver(dsn, opa, moment, url))
