"""The order of a turn: claim, choice, policy, plan and commit, dispatch, receipt. One test for each rule of it.

That a command is refused before anything is written stands in `test_chat_commands`; that a choice is made before the
claim, in `test_choosing_runbooks`; that what follows a step is committed with it or not at all, in `tests/faults`.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.handlers import Call, Handler, JsonObject
from runtime.planning.triggers import start_run
from tests.bench import Bench, open_bench
from tests.integration.conftest import PACK, Targets
from tests.patience import MINUTE

LEI = "5493001KJTIIGC8Y1R12"
NAME = "bloomberg::query_subsidiaries"
WRITE = "servicenow::add_work_note"


@dataclass
class Looking:
    """A connector that looks at what others can see of the run by the time that it is called."""

    bench: Bench | None = None
    seen: dict[str, list[str]] = field(default_factory=dict)

    async def run(self, call: Call) -> JsonObject:
        assert self.bench is not None
        events = [leaf.event for leaf in await self.bench.chain(call.run_id) if leaf.correlation.step == call.step]
        self.seen[call.step] = events
        return {"value": 3}


@pytest.fixture
def looking() -> Looking:
    return Looking()


@pytest.fixture
async def bench(dsn: str, opa: OpaChild, targets: Targets, looking: Looking) -> AsyncIterator[Bench]:
    handlers = targets.handlers() | {
        WRITE: Handler(looking.run, reconcile=targets.note.reconcile),
        NAME: Handler(looking.run, writes=False),
    }
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK, PACK.with_name("governed")], handlers) as found,
    ):
        looking.bench = found
        yield found


async def turned(bench: Bench, trigger: str = "governed.beside") -> str:
    run_id = (await bench.start(trigger, {"id": LEI})).run_id
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "succeeded"
    return run_id


def _first(events: list[str], *order: str) -> list[int]:
    return [events.index(event) for event in order]


async def test_what_came_before_is_found_before_anything_is_done_for_it(bench: Bench) -> None:
    run_id = await turned(bench)
    before = await bench.chain(run_id)
    again = await bench.start("governed.beside", {"id": LEI})
    await bench.settle()
    assert (again.run_id, again.is_new) == (run_id, False)
    assert await bench.chain(run_id) == before


@pytest.mark.parametrize("trigger", ["governed.beside", "governed.after"])
@pytest.mark.parametrize("step", ["look", "note"])
async def test_policy_has_answered_and_its_word_is_committed_before_anything_leaves(
    bench: Bench, looking: Looking, step: str, trigger: str
) -> None:
    await turned(bench, trigger)
    assert looking.seen[step] == ["effect.proposed", "decision.recorded"]


@pytest.mark.parametrize("step", ["look", "note"])
async def test_what_came_of_it_is_on_record_before_the_run_goes_on(bench: Bench, step: str) -> None:
    run_id = await turned(bench)
    events = [leaf.event for leaf in await bench.chain(run_id) if leaf.correlation.step == step]
    places = _first(events, "effect.proposed", "decision.recorded", "receipt.written", "step.succeeded")
    assert places == sorted(places)


async def test_a_card_is_put_to_policy_like_all_that_leaves_and_before_it_does(bench: Bench) -> None:
    run_id = (await bench.start("governed.closely", {"id": LEI})).run_id
    await bench.settle()
    (card,) = await bench.rows("SELECT effect_id FROM effects WHERE operation = 'post_card'")
    leaves = await bench.chain(run_id)
    events = [leaf.event for leaf in leaves if leaf.correlation.effect_id == card["effect_id"]]
    assert events == ["effect.proposed", "decision.recorded", "receipt.written"]
    assert [leaf.event for leaf in leaves].index("approval.requested") < [
        leaf.correlation.effect_id for leaf in leaves
    ].index(card["effect_id"])


async def test_a_run_ends_when_all_of_its_steps_are_on_record_and_people_are_told_after_that(bench: Bench) -> None:
    leaves = await bench.chain(await turned(bench))
    (end,) = [leaf.seq for leaf in leaves if leaf.event == "run.succeeded"]
    assert max(leaf.seq for leaf in leaves if leaf.correlation.step) < end
    assert all(leaf.seq > end for leaf in leaves if leaf.event == "receipt.written" and not leaf.correlation.step)


async def test_reads_under_way_are_no_writes_when_policy_is_asked_about_one(bench: Bench, looking: Looking) -> None:
    run_id = (await bench.start("governed.beside", {"id": LEI})).run_id
    await start_run(bench.engine, run_id)
    await bench.meddle("UPDATE effects SET started_at = now(), next_try_at = 'infinity' WHERE step = 'look'")
    await bench.settle()
    query = "SELECT document FROM policy_decisions WHERE run_id = %s AND document->>'step' = 'note'"
    (decision,) = await bench.rows(query, run_id)
    assert decision["document"]["input"]["counters"] == {"writes": 0}
    assert "note" in looking.seen
