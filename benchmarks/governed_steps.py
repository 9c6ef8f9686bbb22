"""Governed steps a second on one worker with the real OPA, beside what the machine's database can commit at all.

One run of it gives every figure: `python -m benchmarks.governed_steps`. A governed step is a low-tier write taken
through the whole gate: lease, question to OPA, decision, receipt, audit leaves, the run's next move; its connector
answers at once. BEGIN and COMMIT are not among the statements.
"""

import asyncio
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import DictRow

from countersign.embedded.postgres import embedded_postgres
from policy.client import OpaEngine
from runtime.clock import utc_now
from runtime.store.database.migrate import migrate
from runtime.store.database.roles import make_login
from runtime.worker.worker import Worker
from tests.bench import Bench, Target, open_bench
from tests.integration.conftest import PACK, Targets
from tests.logins import PROGRAM
from tests.opa_server import POLICIES, start_opa

RUNS, STEPS, WRITERS, SECONDS = 100, 10, 16, 3.0
statements: Counter[str] = Counter()


class CountingCursor(AsyncCursor[DictRow]):
    """Counts what is sent, by its first words."""

    async def execute(self, query: Any, *args: Any, **kwargs: Any) -> Any:
        """Count and execute."""
        statements[" ".join(str(query).split()[:3])] += 1
        return await super().execute(query, *args, **kwargs)


async def limit(dsn: str) -> float:
    """Return one-row commits a second with 16 connections: what the machine allows."""
    async with await AsyncConnection.connect(dsn, autocommit=True) as conn:
        await conn.execute("CREATE TABLE commits (id bigserial PRIMARY KEY, body text NOT NULL)")
    until = time.perf_counter() + SECONDS
    return sum(await asyncio.gather(*(_insert(dsn, until) for _ in range(WRITERS)))) / SECONDS


async def _insert(dsn: str, until: float) -> int:
    count = 0
    async with await AsyncConnection.connect(dsn, autocommit=True) as conn:
        while time.perf_counter() < until:
            await conn.execute("INSERT INTO commits (body) VALUES (%s)", ("x" * 110,))
            count += 1
    return count


async def governed(dsn: str, policy: OpaEngine) -> tuple[float, float, float]:
    """Return (steps a second, commits a step, statements a step) of a hundred runs of ten steps on one worker."""
    targets = Targets(Target(), Target(), Target(), Target())
    async with open_bench(
        dsn,
        policy,
        [PACK],
        targets.handlers(),
        cursor_factory=CountingCursor,
    ) as opened:
        bench = replace(opened, engine=replace(opened.engine, clock=utc_now))
        for number in range(RUNS):
            await bench.start("bench.chain", {"case": f"C{number}"}, ref=str(number))
        before = await _commits(bench)
        statements.clear()
        began = time.perf_counter()
        await Worker(bench.engine, concurrency=WRITERS).drain()
        took = time.perf_counter() - began
        steps = len(targets.note.calls)
        commits = await _commits(bench) - before
    assert steps == RUNS * STEPS, steps  # noqa: S101 - a benchmark that did something else says nothing
    return steps / took, commits / steps, sum(statements.values()) / steps


async def _commits(bench: Bench) -> int:
    await bench.rows("SELECT pg_stat_force_next_flush()")
    return int((await bench.rows("SELECT sum(xact_commit) AS n FROM pg_stat_database"))[0]["n"])


async def main() -> None:
    """Measure and print."""
    with TemporaryDirectory(prefix="countersign-bench-") as folder, embedded_postgres(Path(folder) / "data") as dsn:
        migrate(dsn)
        make_login(dsn, PROGRAM)
        async with start_opa(POLICIES, Path(folder) / "opa") as opa, OpaEngine(opa.url, timeout=5) as policy:
            before = await limit(dsn)
            steps, commits, sent = await governed(dsn, policy)
        async with await AsyncConnection.connect(dsn, autocommit=True) as conn:
            await conn.execute("DROP TABLE commits")
        after = await limit(dsn)
    machine = (before + after) / 2
    sys.stdout.write(
        f"governed steps/s, one worker, real OPA: {steps:.0f}\n"
        f"one-row commits/s of this machine, {WRITERS} connections: {machine:.0f}"
        f" ({before:.0f} before, {after:.0f} after)\n"
        f"ratio: {steps / machine:.3f}\n"
        f"commits per governed step: {commits:.2f}\nstatements per governed step: {sent:.2f}\n"
    )
    for text, count in statements.most_common(14):
        sys.stdout.write(f"  {count / RUNS / STEPS:6.2f}  {text}\n")


if __name__ == "__main__":
    asyncio.run(main())
