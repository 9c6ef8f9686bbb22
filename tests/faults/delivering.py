"""Delivers a webhook in a process of its own, which is killed (SIGKILL) when the receiver has answered.

It is given the database's DSN, OPA's address, the moment and the receiver's URL.
"""

import asyncio
import os
import signal
from datetime import datetime

from policy.client import OpaEngine
from runtime import failpoints
from tests.bench import HandClock, open_bench
from tests.integration.conftest import PACK, Targets
from tests.integration.hooks_stage import subscribed, subscription
from tests.patience import MINUTE


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
