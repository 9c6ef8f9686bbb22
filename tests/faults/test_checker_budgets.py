"""The checker holds what is right of budgets for right, and finds whatever is not."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import copytree

import psycopg
import pytest
from psycopg.rows import dict_row

from runtime.handlers import OutcomeUnknownError, RefusedError
from tests.faults.checker.facts import facts_of
from tests.faults.checker.rules import broken
from tests.faults.small_world import SmallWorld, WrittenTarget
from tests.faults.world.bugs import Bug, plant
from tests.faults.world.history import History
from tests.integration.budgets_stage import limit, refunds_bench
from tests.integration.program_stage import database
from tests.leaves import meddle


@asynccontextmanager
async def _world(dsn: str, folder: Path) -> AsyncIterator[SmallWorld]:
    """Open a small world in which refunds have a budget of three, and of 25.00 EUR."""
    target = WrittenTarget()
    async with refunds_bench(dsn, folder, {"refunds": limit(count=3, at_most="25.00")}, target) as bench:
        small = target.small = SmallWorld(bench, folder, target, target)
        yield small


async def _refund(small: SmallWorld, ref: str, *, kind: str = "refund") -> None:
    await small.start(f"refunds.{kind}", {"customer": f"c{ref}", "amount": "10.00", "currency": "EUR"}, ref)
    await small.bench.settle()


@pytest.fixture(scope="module")
async def world(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SmallWorld]:
    """A world in which one refund was done, one was refused, one done at its second attempt, and two too many."""
    with database(postgres, "budgets_world") as dsn:
        async with _world(dsn, tmp_path_factory.mktemp("world")) as small:
            await _refund(small, "1")
            small.note.answers = [RefusedError("closed")]
            await _refund(small, "2")
            small.note.answers = [OutcomeUnknownError("no reply")]
            await _refund(small, "3")
            await _refund(small, "4")
            await small.bench.later(minutes=2)
            await _refund(small, "5")
            await small.seal()
            yield small


def _wrong(world: SmallWorld, *queries: str, histories: Path | None = None) -> dict[str, list[str]]:
    """Return what the checker says where somebody meddled with the database; nothing stays."""
    with psycopg.connect(world.bench.superuser, row_factory=dict_row) as conn:
        conn.execute("SET session_replication_role = replica")
        for query in queries:
            meddle(conn, query)
        found = broken(facts_of(conn, histories or world.histories))
        conn.rollback()
    return found


def test_nothing_is_wrong_with_what_is_right(world: SmallWorld) -> None:
    assert _wrong(world) == {}


async def test_the_world_has_uses_that_are_used_and_released_and_effects_that_came_too_late(world: SmallWorld) -> None:
    statuses = [row["status"] for row in await world.bench.rows("SELECT status FROM budget_uses ORDER BY at, status")]
    assert sorted(statuses) == ["released", "released", "used", "used"]
    spent = await world.bench.rows("SELECT FROM audit_leaves WHERE leaf ->> 'event' = 'budget.spent'")
    assert len(spent) == 2


_USED = "(SELECT min(decision_id) FROM budget_uses WHERE status = 'used')"
_LESS = "UPDATE policy_decisions SET document = jsonb_set(document::jsonb, '{{answer,budgets,0,{}}}', '{}')::json"
_HAS = " WHERE document::jsonb -> 'answer' -> 'budgets' IS NOT NULL"
MEDDLED = {
    "more that happened than a count is for": (_LESS.format("count", 1) + _HAS, "budgets_are_not_exceeded"),
    "more that happened than a sum is for": (_LESS.format("sum", '"19.99"') + _HAS, "budgets_are_not_exceeded"),
    "a use that is gone": (f"DELETE FROM budget_uses WHERE decision_id = {_USED}", "acts_take_of_budgets"),
    "a use of what happened that was released": (
        f"UPDATE budget_uses SET status = 'released' WHERE decision_id = {_USED}",
        "acts_take_of_budgets",
    ),
    "a use that is still reserved": (
        f"UPDATE budget_uses SET status = 'reserved' WHERE decision_id = {_USED}",
        "budgets_lose_nothing",
    ),
    "a use of another amount": (
        f"UPDATE budget_uses SET amount = 1 WHERE decision_id = {_USED}",
        "budgets_lose_nothing",
    ),
    "two uses for one effect": (
        (
            "DROP INDEX uq_budget_uses_reserved; UPDATE budget_uses SET status = 'used', in_total = true"
            " WHERE status = 'released'"
        ),
        "budgets_lose_nothing",
    ),
    "a total that counts too little": (
        "UPDATE budget_totals SET count = count - 1",
        "totals_are_of_what_is_held_and_used",
    ),
    "a total with another sum": ("UPDATE budget_totals SET sum = sum - 0.01", "totals_are_of_what_is_held_and_used"),
    "a total that is gone": ("DELETE FROM budget_totals", "totals_are_of_what_is_held_and_used"),
    "a reservation of which no chain tells": (
        "DELETE FROM audit_leaves WHERE leaf ->> 'event' = 'budget.reserved'",
        "uses_are_on_record",
    ),
    "an end of which no chain tells": (
        "DELETE FROM audit_leaves WHERE leaf ->> 'event' = 'budget.released'",
        "uses_are_on_record",
    ),
}


@pytest.mark.parametrize("what", MEDDLED)
def test_what_was_meddled_with_is_found(world: SmallWorld, what: str) -> None:
    queries, rule = MEDDLED[what]
    assert rule in _wrong(world, *queries.split("; "))


async def test_what_happened_more_often_than_it_was_reserved_is_found(world: SmallWorld, tmp_path: Path) -> None:
    histories = copytree(world.histories, tmp_path / "histories")
    (row,) = await world.bench.rows("SELECT idempotency_key, run_id FROM effects WHERE status = 'failed'")
    History(histories / "upstream.jsonl").add(
        "acted", operation="refund", key=row["idempotency_key"], ref="", run=row["run_id"]
    )
    assert "acts_take_of_budgets" in _wrong(world, histories=histories)


@pytest.mark.parametrize("planted", [False, True])
async def test_a_budget_at_which_nobody_looks_is_caught(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, planted: bool
) -> None:
    if planted:
        plant(Bug.BUDGET_EXCEEDED, monkeypatch.setattr)
    async with _world(dsn, tmp_path) as small:
        for ref in range(5):
            await _refund(small, str(ref))
        await small.seal()
        found = await small.wrong()
    assert list(found) == (["budgets_are_not_exceeded"] if planted else [])
    assert (
        any("happened, and it is for" in sentence for sentence in found.get("budgets_are_not_exceeded", ())) == planted
    )
