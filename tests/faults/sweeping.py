"""Sweeps in a process of its own, which is killed (SIGKILL) when it comes to a point for the nth time.

It is given the database's DSN, OPA's address, the moment, the point and the number.
"""

import asyncio
import os
import signal
from collections import Counter
from datetime import datetime

from policy.client import OpaEngine
from runtime import failpoints
from runtime.worker import sweeps
from tests.bench import HandClock, open_bench
from tests.integration.conftest import PATIENCE, Targets
from tests.patience import MINUTE


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
