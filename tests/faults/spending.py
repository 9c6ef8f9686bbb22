"""Workers that take refunds through the gate in a process of their own, and are killed when they come to a point.

Customers whose number ends with 9 get nothing: their refunds fail. What was paid stands in a file, one key a line,
which all processes share, as a bank's book would.
"""

import asyncio
import os
import signal
from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from policy.client import OpaEngine
from runtime import failpoints
from runtime.handlers import Call, Done, Handler, JsonObject, Reconciled, RefusedError, Untouched
from runtime.worker import Worker
from tests.bench import HandClock, open_bench
from tests.integration.budgets_stage import REFUNDS
from tests.patience import MINUTE, until

PROCESSES = 8
"""They begin together."""
WORKERS = 8
"""Of each process."""


@dataclass(frozen=True)
class Book:
    """The other side: a file with the key of each payment."""

    file: Path

    @property
    def paid(self) -> list[str]:
        """Return the key of each payment."""
        return self.file.read_text(encoding="utf-8").splitlines() if self.file.exists() else []

    async def run(self, call: Call) -> JsonObject:
        """Pay."""
        if str(call.params["customer"]).endswith("9"):
            raise RefusedError("the account is closed")
        line = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.write(line, f"{call.key}\n".encode())
        finally:
            os.close(line)
        return {"ok": True}

    async def reconcile(self, call: Call) -> Reconciled:
        """Look whether it was paid."""
        return Done({"ok": True}) if call.key in self.paid else Untouched()

    def handler(self) -> Handler:
        """Return it as a connector."""
        return Handler(run=self.run, reconcile=self.reconcile)


async def _spend(dsn: str, opa: str, moment: str, book: Path, point: str, number: int) -> None:
    hits: Counter[str] = Counter()

    def die(reached: failpoints.Point) -> None:
        hits[reached] += 1
        if reached == point and hits[reached] == number:
            os.kill(os.getpid(), signal.SIGKILL)

    handlers = {"payments::refund": Book(book).handler()}
    async with (
        OpaEngine(opa, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [REFUNDS], handlers, clock=HandClock(datetime.fromisoformat(moment))) as bench,
    ):
        failpoints.arm(die)
        (book.parent / f"ready-{os.getpid()}").touch()
        await until(lambda: len(list(book.parent.glob("ready-*"))) >= PROCESSES)
        engines = [replace(bench.engine, worker=f"{os.getpid()}-{nth}") for nth in range(WORKERS)]
        await asyncio.gather(*(Worker(engine).drain() for engine in engines))


def spend(dsn: str, opa: str, moment: str, book: str, point: str, number: str) -> None:
    """Be that process; with the point "" it comes to its end."""
    asyncio.run(_spend(dsn, opa, moment, Path(book), point, int(number)))
