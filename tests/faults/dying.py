"""Programs that work in a process of their own, and are killed (SIGKILL) when they come to a point for the nth time.

One applies a notification and does what follows, one sweeps, one delivers a webhook and dies once it is answered, and
one brings versions of the policy into force. Each is given the database's DSN, OPA's address and the moment, and what
it works on.
"""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from policy.client import OpaEngine
from policy.keys import load_or_create
from runtime import failpoints, sweeps
from runtime.inbox import inbox
from tests.bench import HandClock, open_bench
from tests.integration.conftest import PACK, PATIENCE, Targets
from tests.integration.console_words import cancel_in_console, officer, say_in_console
from tests.integration.hooks_stage import subscribed, subscription
from tests.integration.versions_stage import with_versions
from tests.patience import MINUTE


async def _apply(dsn: str, opa: str, notification_id: str, point: str, number: int) -> None:
    async with (
        OpaEngine(opa, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK], Targets.fresh().handlers()) as bench,
    ):
        failpoints.arm(_dies_at(point, number))
        await inbox.apply(bench.engine, notification_id)
        await bench.settle()


def apply(dsn: str, opa: str, notification_id: str, point: str, number: str) -> None:
    """Be that process."""
    asyncio.run(_apply(dsn, opa, notification_id, point, int(number)))


def _dies_at(point: str, number: int) -> Callable[[failpoints.Point], None]:
    hits: Counter[str] = Counter()

    def die(reached: failpoints.Point) -> None:
        hits[reached] += 1
        if hits[point] == number:
            os.kill(os.getpid(), signal.SIGKILL)

    return die


async def _answer(dsn: str, opa: str, approval_id: str, key: str, point: str) -> None:
    async with (
        OpaEngine(opa, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK], Targets.fresh().handlers()) as bench,
    ):
        failpoints.arm(_dies_at(point, 1))
        await say_in_console(bench, officer("ann"), approval_id, key=key)


def answer(dsn: str, opa: str, approval_id: str, key: str, point: str) -> None:
    """Be a process of the console in which Ann approves."""
    asyncio.run(_answer(dsn, opa, approval_id, key, point))


async def _cancel(dsn: str, opa: str, runs: str, key: str, point: str, number: int) -> None:
    async with (
        OpaEngine(opa, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK], Targets.fresh().handlers()) as bench,
    ):
        failpoints.arm(_dies_at(point, number))
        await cancel_in_console(bench, runs.split(), key)


def cancel(dsn: str, opa: str, runs: str, key: str, point: str, number: str) -> None:
    """Be a process of the console in which Omar cancels many runs."""
    asyncio.run(_cancel(dsn, opa, runs, key, point, int(number)))


async def _sweep(dsn: str, opa: str, moment: str, point: str, number: int) -> None:
    clock = HandClock(datetime.fromisoformat(moment))
    async with (
        OpaEngine(opa, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PATIENCE], Targets.fresh().handlers(), clock=clock) as bench,
    ):
        failpoints.arm(_dies_at(point, number))
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


async def _activate(dsn: str, opa: str, moment: str, key: str, point: str) -> None:
    reached: set[failpoints.Point] = set()

    def die(now: failpoints.Point) -> None:
        reached.add(now)
        if now == point and (now is failpoints.Point.POLICY_ACTIVATING or failpoints.Point.POLICY_ACTIVATED in reached):
            os.kill(os.getpid(), signal.SIGKILL)

    clock = HandClock(datetime.fromisoformat(moment))
    async with (
        OpaEngine(opa, timeout=MINUTE, fresh=0.0) as policy,
        open_bench(dsn, policy, [PACK], Targets.fresh().handlers(), clock=clock) as bench,
    ):
        failpoints.arm(die)
        await with_versions(bench, load_or_create(Path(key))).settle()


def activate(dsn: str, opa: str, moment: str, key: str, point: str) -> None:
    """Be that process: of points that others reach too, the first counts once a version has come into force."""
    asyncio.run(_activate(dsn, opa, moment, key, point))
