"""Totals of budgets: whatever becomes of attempts in whatever order, they are never exceeded, and nothing is lost."""

import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest

from runtime.model.budget import BudgetSpentError, HeldUse, Over, Total, Use, UseStatus
from runtime.store import budgets
from tests.bench import TENANT, Bench, Target
from tests.integration.budgets_stage import REFUNDS, refunds_bench, totals, uses

LIMITS = {"a": (4, Decimal("10.00")), "b": (6, None), "c": (None, Decimal("7.5"))}
PERIODS = ("2026-01-05", "2026-01-06")
EFFECTS = 9
ENDS = datetime.fromisoformat("2026-01-06T00:00:00+00:00")


@pytest.fixture
async def waiting(dsn: str, tmp_path: Path) -> AsyncIterator[Bench]:
    """Give a bench with effects that wait to be taken through the gate."""
    assert REFUNDS.is_dir()
    async with refunds_bench(dsn, tmp_path, {}, Target()) as bench:
        for nth in range(EFFECTS):
            wanted = {"customer": f"c{nth}", "amount": "1", "currency": "EUR"}
            await bench.start("refunds.refund", wanted, str(nth))
        await bench.worker._start_some()
        yield bench


@dataclass
class Model:
    """What has to come of it: what each effect holds, and what was used."""

    held: dict[str, list[Use]] = field(default_factory=dict)
    decisions: dict[str, str] = field(default_factory=dict)
    used: list[Use] = field(default_factory=list)

    def total(self, name: str, period: str) -> Total:
        """Return what is taken of a budget."""
        taken = [*self.used, *(use for uses in self.held.values() for use in uses)]
        alike = [use for use in taken if (use.name, use.period) == (name, period)]
        return Total(len(alike), sum((use.amount for use in alike), Decimal(0)))

    def fits(self, use: Use) -> bool:
        """Return whether enough is left."""
        total = self.total(use.name, use.period)
        return (use.most is None or total.count + 1 <= use.most) and (
            use.at_most is None or total.sum + use.amount <= use.at_most
        )


def _uses(chance: random.Random) -> list[Use]:
    names, period = sorted(chance.sample(sorted(LIMITS), chance.randint(1, 3))), chance.choice(PERIODS)
    amount = Decimal(chance.randint(0, 400)) / 100
    return [
        Use(
            name, "c", "agent", "bot", period, ENDS, Over.DENY, *LIMITS[name], "EUR" if LIMITS[name][1] else "",
            amount if LIMITS[name][1] else Decimal(0),
        )
        for name in names
    ]  # fmt: skip


async def _reserve(bench: Bench, effect: str, decision: str, wanted: list[Use]) -> dict[str, Total]:
    async with bench.engine.pool.connection() as conn, conn.transaction():
        return await budgets.reserve(conn, TENANT, (effect, decision), wanted, (), bench.clock())


async def _begin(bench: Bench, model: Model, effect: str, decision: str, wanted: list[Use]) -> None:
    lacking = {use.name for use in wanted if not model.fits(use)}
    if lacking:
        with pytest.raises(BudgetSpentError) as refused:
            await _reserve(bench, effect, decision, wanted)
        assert set(refused.value.names) == lacking
        assert all(one.total == model.total(one.use.name, one.use.period) for one in refused.value.spent)
        return
    taken = await _reserve(bench, effect, decision, wanted)
    model.held[effect], model.decisions[effect] = wanted, decision
    assert taken == {use.name: model.total(use.name, use.period) for use in wanted}


async def _end(bench: Bench, model: Model, effect: str, status: UseStatus, *, fails: bool) -> None:
    """Say what became of what an effect holds; where that `fails`, nothing of it is written."""
    held = tuple(HeldUse(model.decisions[effect], use.name) for use in model.held[effect])
    async with bench.engine.pool.connection() as conn, conn.transaction(force_rollback=fails):
        assert await budgets.held_by(conn, effect) == held
        await budgets.end(conn, held, status)
        await conn.write()
    if not fails:
        ended = model.held.pop(effect)
        model.used += ended if status is UseStatus.USED else []


@pytest.mark.parametrize("seed", range(8))
async def test_totals_are_what_is_held_and_used_in_whatever_order(waiting: Bench, seed: int) -> None:
    chance, model = random.Random(seed), Model()  # noqa: S311 - a game
    effects = [row["effect_id"] for row in await waiting.rows("SELECT effect_id FROM effects ORDER BY effect_id")]
    assert len(effects) == EFFECTS
    for turn in range(60):
        effect = chance.choice(effects)
        if effect not in model.held:
            await _begin(waiting, model, effect, f"dec_{turn}", _uses(chance))
        elif chance.random() < 0.8:  # else it stays in doubt
            status = chance.choice([UseStatus.USED, UseStatus.RELEASED, UseStatus.RELEASED])
            await _end(waiting, model, effect, status, fails=chance.random() < 0.2)
        for (name, _, period), (count, amount) in (await totals(waiting)).items():
            most, at_most = LIMITS[name]
            assert (count, amount) == (model.total(name, period).count, model.total(name, period).sum)
            assert most is None or count <= most
            assert at_most is None or amount <= at_most
    held = [use for uses in model.held.values() for use in uses]
    assert (await uses(waiting)).count("reserved") == len(held)
    assert (await uses(waiting)).count("used") == len(model.used)


async def test_an_effect_holds_one_reservation_of_a_budget(waiting: Bench) -> None:
    (effect, *_) = [row["effect_id"] for row in await waiting.rows("SELECT effect_id FROM effects ORDER BY effect_id")]
    wanted = [Use("a", "c", "agent", "bot", PERIODS[0], ENDS, Over.DENY, 4)]
    await _begin(waiting, Model(), effect, "dec_1", wanted)
    with pytest.raises(Exception, match="uq_budget_uses_reserved"):
        await _begin(waiting, Model(), effect, "dec_2", wanted)


async def test_what_others_have_signed_goes_beyond_and_counts(waiting: Bench) -> None:
    effects = [row["effect_id"] for row in await waiting.rows("SELECT effect_id FROM effects ORDER BY effect_id")]
    use = Use("a", "c", "agent", "bot", PERIODS[0], ENDS, Over.APPROVE, 1)
    for nth, beyond in enumerate([(), ("a",)]):
        async with waiting.engine.pool.connection() as conn, conn.transaction():
            begun = (effects[nth], f"dec_{nth}")
            assert (await budgets.reserve(conn, TENANT, begun, [use], beyond, waiting.clock()))["a"].count == nth + 1
    with pytest.raises(BudgetSpentError, match="0 of 1 left"):
        async with waiting.engine.pool.connection() as conn, conn.transaction():
            await budgets.reserve(conn, TENANT, (effects[2], "dec_2"), [use], (), waiting.clock())
