"""Applies a notification and does what follows, in a process of its own, which is killed (SIGKILL) at a point.

That is when it comes there for the nth time.

To be run as a program: the database's DSN, OPA's address, the notification, the point and the number.
"""

import asyncio
import os
import signal
import sys
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


if __name__ == "__main__":
    dsn_, opa_, notification_, point_, number_ = sys.argv[1:]
    asyncio.run(_apply(dsn_, opa_, notification_, point_, int(number_)))
