"""Applies a notification and does what follows, in a process of its own, which is killed (SIGKILL) at a point.

That is when it comes there for the nth time.

It is given the database's DSN, OPA's address, the notification, the point and the number.
"""

import asyncio
import os
import signal
from collections import Counter

from policy.client import OpaEngine
from runtime import failpoints
from runtime.inbox import inbox
from tests.bench import open_bench
from tests.integration.conftest import PACK, Targets
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
