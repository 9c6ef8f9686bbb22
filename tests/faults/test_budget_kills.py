"""Many workers on one budget, some of them killed midway: it is never exceeded, and nothing of it is lost.

`make budgets` does this with a budget of 1,000, and says what came of it.
"""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest

from runtime.failpoints import Point
from tests.bench import Bench, Target
from tests.faults.killed import ended
from tests.faults.spending import PROCESSES, WORKERS, Book, spend
from tests.integration.budgets_stage import limit, refunds_bench, totals
from tests.opa_server import kept_opa
from tests.patience import MINUTE

SMALL = 100
"""The budget of `make test`; the processes die as much later as it is larger."""
ASKING = ("rita", "ann", "ben", "cat")
DEATHS = (
    (Point.ATTEMPT_BEGINNING, 3),
    (Point.ATTEMPT_BEGUN, 2),
    (Point.CONNECTOR_CALLING, 2),
    (Point.CONNECTOR_CALLED, 3),
    (Point.ATTEMPT_ENDING, 2),
)
"""Where processes are killed, and at which time that they come there; the others come to their ends."""


@pytest.fixture
def budget(request: pytest.FixtureRequest) -> int:
    """Return how many refunds the budget is for (`--budget`); 2.4 times as many are asked for."""
    return int(request.config.getoption("budget", SMALL))


_UNDER_WAY = """
    SELECT status, error, tries, postponed FROM effects WHERE purpose = 'step'
       AND (status IN ('leased', 'in_doubt')
            OR status = 'pending' AND next_try_at < %s::timestamptz + interval '1 hour')
"""


@asynccontextmanager
async def _spending(
    dsn: str, folder: Path, limits: Mapping[str, Any], book: Book, refunds: int, ending: str = ""
) -> AsyncIterator[Bench]:
    """Open a bench on which everybody has asked for refunds, and nothing has begun."""
    async with refunds_bench(dsn, folder, limits, Target(), handler=book.handler()) as bench:
        for nth in range(refunds):
            await _ask(bench, f"c{nth}{ending}", nth)
        yield bench


async def _ask(bench: Bench, customer: str, nth: int) -> None:
    """Have a refund asked for."""
    wanted = {"customer": customer, "amount": "2.50", "currency": "EUR"}
    await bench.start("refunds.refund", wanted, customer, ASKING[nth % len(ASKING)])


async def _spend(bench: Bench, dsn: str, folder: Path, book: Book, budget: int) -> list[int | None]:
    """Let 64 workers in 8 processes work at once, of which some are killed; return with what each ended."""
    opa = (await kept_opa(folder / "rego")).url
    deaths = [*((point, number * budget // SMALL) for point, number in DEATHS), *[("", 0)] * (PROCESSES - len(DEATHS))]
    given = (dsn, opa, bench.clock().isoformat(), str(book.file))
    patience = MINUTE * budget / SMALL
    spending = (ended(spend, *given, point, str(number), patience=patience) for point, number in deaths)
    return list(await asyncio.gather(*spending))


async def _all_done(bench: Bench) -> None:
    """Take back what the killed had leased, look into all doubts, and come to an end."""
    for _ in range(10):
        await bench.later(minutes=1)
        left = await bench.rows(_UNDER_WAY, bench.clock())
        if not left:
            return
    pytest.fail(f"some effects are still under way: {left}")


async def _deadlocks(dsn: str) -> int:
    async with await psycopg.AsyncConnection.connect(dsn) as conn:
        row = await (
            await conn.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        ).fetchone()
    return int(row[0]) if row else 0


async def _statuses(bench: Bench) -> dict[str, int]:
    rows = await bench.rows("SELECT status, count(*) FROM effects WHERE purpose = 'step' GROUP BY status ORDER BY 1")
    return {row["status"]: row["count"] for row in rows}


async def _largest_total(bench: Bench) -> int:
    """Return the most that was ever taken of the budget that all share, as it is on record."""
    rows = await bench.rows("SELECT leaf FROM audit_leaves WHERE leaf->>'event' = 'budget.reserved'")
    return max(int(one["count"]) for row in rows for one in row["leaf"]["data"]["budgets"] if one["name"] == "all")


async def test_64_workers_use_exactly_a_budget_however_many_are_killed(dsn: str, tmp_path: Path, budget: int) -> None:
    book, refunds = Book(tmp_path / "book"), budget * 12 // 5
    limits = {"all": limit(count=budget, at_most=f"{budget * 5 // 2}.00"), "mine": limit(count=budget, by="requester")}
    assert PROCESSES * WORKERS == 64
    async with _spending(dsn, tmp_path, limits, book, refunds, ending="0") as bench:
        codes = await _spend(bench, dsn, tmp_path, book, budget)
        assert set(codes) == {-signal.SIGKILL, 0}
        assert 1 <= codes.count(-signal.SIGKILL) <= len(DEATHS)
        await _all_done(bench)
        assert len(book.paid) == len(set(book.paid)) == budget
        assert await _statuses(bench) == {"dispatched": budget, "rejected": refunds - budget}
        assert await _largest_total(bench) == budget
        found = await totals(bench)
        assert found.pop(("all", "portal-bot", "2026-01-05")) == (budget, Decimal(budget) * 5 / 2)
        assert sum(count for count, _ in found.values()) == budget
        assert {row["status"] for row in await bench.rows("SELECT status FROM budget_uses")} <= {"used", "released"}
        assert await _deadlocks(dsn) == 0
        killed = codes.count(-signal.SIGKILL) * WORKERS
        sys.stdout.write(f"\n64 workers, {killed} killed: {len(book.paid)} of {refunds} paid, budget {budget}\n")


async def test_what_fails_leaves_its_part_to_others_and_what_waits_is_done_on_later_days(
    dsn: str, tmp_path: Path, budget: int
) -> None:
    book, refunds = Book(tmp_path / "book"), budget * 12 // 5
    async with _spending(dsn, tmp_path, {"all": limit("wait", count=budget)}, book, refunds) as bench:
        await _spend(bench, dsn, tmp_path, book, budget)
        await _all_done(bench)
        failing, left = refunds // 10, budget - len(book.paid)
        assert 0 <= left <= failing  # what failed once all others were put off is nobody's yet
        for nth in range(left):
            await _ask(bench, f"late{nth}0", nth)
        await bench.settle()
        assert len(book.paid) == budget  # it goes to those who come later
        for _ in range(3):
            await bench.later(days=1)
        refunds += left
        assert await _statuses(bench) == {"dispatched": refunds - failing, "failed": failing}
        assert len(book.paid) == len(set(book.paid)) == refunds - failing
        assert await _largest_total(bench) == budget
        days = [count for count, _ in (await totals(bench)).values()]
        assert (len(days), sum(days)) == (3, refunds - failing)
        assert await _deadlocks(dsn) == 0
