"""Chained leases: what follows from an effect begins in the transaction that ends it, where policy allows it.

The order of a turn is claim, choice, policy, plan and commit, dispatch, receipt; there is a test for each rule of it.
That a command is refused before anything is written is in `test_chat_commands`; that a choice is made before the claim,
in `test_runbook_choice`; that what follows a step is committed with it or not at all, in `tests/faults`.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from policy.contract import CustomObligation, PolicyUnavailableError, Question, Reason, Verdict
from runtime.gate import beginning
from runtime.handlers import Call, Handler, JsonObject
from runtime.lanes import slots_of
from runtime.planning.run_starts import start_run
from runtime.worker import HANDED_ON, Worker
from tests.bench import Bench, open_bench, with_handlers
from tests.integration.acts_stage import HEAD, Opener, status
from tests.integration.conftest import PACK, Targets
from tests.integration.test_worker import working
from tests.opa_server import Between
from tests.patience import MINUTE, until

ROW = """
steps:
  - { id: one, verb: note, params: { incident: one, text: seen } }
  - { id: two, needs: [one], verb: note, params: { incident: two, text: seen } }
  - { id: three, needs: [two], verb: note, params: { incident: three, text: seen } }
"""
Words = Callable[[Verdict], Awaitable[Verdict]]


@dataclass
class Moody(Between):
    """A policy server that says something else, once, of one step of a run; of all others what OPA says."""

    about: str = ""
    says: Words | None = None
    asked: list[str] = field(default_factory=list)

    async def changed(self, question: Question, verdict: Verdict) -> Verdict:
        self.asked += [question.step] if question.step else []
        if self.says is None or question.step != self.about:
            return verdict
        says, self.says = self.says, None
        return await says(verdict)


@asynccontextmanager
async def _moody(
    dsn: str, opa: OpaChild, targets: Targets, folder: Path, says: Words
) -> AsyncIterator[tuple[Bench, Moody]]:
    (folder / "runbooks").mkdir()
    (folder / "runbooks" / "row.yaml").write_text(HEAD + ROW, encoding="utf-8")
    async with OpaEngine(opa.url, timeout=MINUTE) as real:
        moody = Moody(real, "two", says)
        async with open_bench(dsn, moody, [PACK, folder], targets.handlers()) as bench:
            yield bench, moody


async def _decided(bench: Bench, run_id: str) -> list[dict[str, Any]]:
    """Return what was decided about the run's steps, in order."""
    query = "SELECT document FROM policy_decisions WHERE run_id = %s AND document->>'step' <> '' ORDER BY seq"
    return [row["document"] for row in await bench.rows(query, run_id)]


async def _done(bench: Bench, targets: Targets) -> str:
    """Have a run done; return its id."""
    run_id = (await bench.start("bench.tree", {})).run_id
    await bench.settle()
    assert [call.step for call in targets.note.calls] == ["one", "two", "three"]
    assert await status(bench, run_id) == dict.fromkeys(("run", "one", "two", "three"), "succeeded")
    return run_id


async def test_what_follows_begins_with_the_commit_that_ends_the_one_before_it(
    opened: Opener, targets: Targets
) -> None:
    async with opened(ROW) as bench:
        run_id = await _done(bench, targets)
        written = await bench.rows(
            "SELECT tx, leaf->>'event' AS event, leaf->'correlation'->>'step' AS step FROM audit_leaves"
            " WHERE run_id = %s ORDER BY seq",
            run_id,
        )
    by = {(row["event"], row["step"]): row["tx"] for row in written}
    assert by["receipt.written", "one"] == by["effect.proposed", "two"] == by["decision.recorded", "two"]
    assert by["receipt.written", "two"] == by["decision.recorded", "three"]
    assert by["receipt.written", "one"] != by["decision.recorded", "one"]


async def test_policy_is_told_how_many_writes_there_were_before(opened: Opener, targets: Targets) -> None:
    async with opened(ROW) as bench:
        decided = await _decided(bench, await _done(bench, targets))
    assert [one["input"]["counters"]["writes"] for one in decided] == [0, 1, 2]
    assert all(one["outcome"] == "allow" for one in decided)


async def _denies(found: Verdict) -> Verdict:
    answer = found.answer.model_copy(update={"outcome": "deny", "reasons": [Reason(code="no", msg="not now")]})
    return found.model_copy(update={"answer": answer})


async def _is_away(_: Verdict) -> Verdict:
    raise PolicyUnavailableError("away")


async def _obliges(found: Verdict) -> Verdict:
    log_it = CustomObligation(type="custom", id="log", name="write it down")
    return found.model_copy(update={"answer": found.answer.model_copy(update={"obligations": [log_it]})})


async def _of_an_unknown_text(found: Verdict) -> Verdict:
    return found.model_copy(update={"policy_digest": "0" * 64})


async def _unstorable(found: Verdict) -> Verdict:
    answer = found.answer.model_copy(update={"reasons": [Reason(code="half", msg="\ud800")]})
    return found.model_copy(update={"answer": answer})


async def _takes_long(found: Verdict) -> Verdict:
    await asyncio.Event().wait()
    return found


@pytest.mark.parametrize(
    "says", [_denies, _is_away, _obliges, _of_an_unknown_text, _unstorable, _takes_long], ids=lambda says: says.__name__
)
async def test_what_policy_does_not_plainly_allow_goes_through_the_gate_by_itself(
    dsn: str, opa: OpaChild, targets: Targets, tmp_path: Path, says: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beginning, "AHEAD", 2.0 if says is _takes_long else MINUTE)  # however busy the machine is
    async with _moody(dsn, opa, targets, tmp_path, says) as (bench, moody):
        decided = await _decided(bench, await _done(bench, targets))
    assert moody.asked == ["one", "two", "two", "three"], "of the second time it is what counts"
    assert [one["outcome"] for one in decided] == ["allow"] * 3, "and nothing of the first is on record"


async def test_a_key_that_somebody_acts_under_holds_up_no_other_outcome(opened: Opener, targets: Targets) -> None:
    async with opened(ROW) as bench:
        first = (await bench.start("bench.tree", {}, ref="1")).run_id
        await bench.settle()
        await bench.meddle("DELETE FROM receipts WHERE run_id = %s", first)
        await bench.meddle("UPDATE effects SET claimed = false WHERE run_id = %s AND step <> 'two'", first)
        second = (await bench.start("bench.tree", {}, ref="2")).run_id
        await bench.settle()
        steps = await status(bench, second)
        (effect,) = await bench.rows("SELECT * FROM effects WHERE run_id = %s AND step = 'two'", second)
    assert (steps["one"], steps["two"]) == ("succeeded", "ready")
    assert effect["error"] == "another effect acts under its idempotency key"


async def test_what_succeeded_under_a_key_is_not_begun_again_even_where_no_effect_claims_that(
    opened: Opener, targets: Targets
) -> None:
    async with opened(ROW) as bench:
        await _done(bench, targets)
        await bench.meddle("UPDATE effects SET claimed = false")
        await bench.meddle("DELETE FROM receipts WHERE effect_id = (SELECT effect_id FROM effects WHERE step = 'one')")
        second = (await bench.start("bench.tree", {}, ref="2")).run_id
        await bench.settle()
        assert (await status(bench, second))["run"] == "succeeded"
    assert [call.step for call in targets.note.calls][3:] == ["one"]


async def test_while_others_wait_a_run_has_a_slot_for_a_few_steps_in_a_row(opened: Opener) -> None:
    calls: list[str] = []
    async with opened(in_a_row(HANDED_ON + 3)) as bench:

        async def note(call: Call) -> JsonObject:
            bench.clock.move(seconds=1)
            calls.append(call.run_id)
            return {}

        busy = with_handlers(bench, {"servicenow::add_work_note": Handler(note)})
        runs = [(await busy.start("bench.tree", {"who": who}, ref=who)).run_id for who in ("a", "b")]
        await Worker(busy.engine, concurrency=1).drain()
        assert [(await status(busy, run_id))["run"] for run_id in runs] == ["succeeded"] * 2
    turns = [len(list(one)) for _, one in groupby(calls)]
    assert turns == [HANDED_ON + 1, HANDED_ON + 1, 2, 2]


def in_a_row(many: int) -> str:
    steps = (
        f"  - {{ id: s{n}, needs: [{f's{n - 1}' if n else ''}], verb: note,"
        f" params: {{ incident: '${{string(trigger.who)}}-{n}', text: seen }} }}\n"
        for n in range(many)
    )
    return f"steps:\n{''.join(steps)}"


async def test_however_many_end_at_once_no_more_go_on_to_one_target_than_it_may_have(opened: Opener) -> None:
    slots = slots_of(8, receivers=0)
    are_here, are_there, leased = asyncio.Barrier(slots.connector_cap), asyncio.Barrier(slots.target_cap), set[int]()
    async with opened(_TO_ONE_TARGET) as bench:

        async def note(call: Call) -> JsonObject:
            if call.step == "own":
                await are_here.wait()
            elif not leased:
                await are_there.wait()
                rows = await bench.rows("SELECT 1 FROM effects WHERE target = 'incident:ALL' AND status = 'leased'")
                leased.add(len(rows))
            return {}

        busy = with_handlers(bench, {"servicenow::add_work_note": Handler(note)})
        for number in range(slots.connector_cap):
            await busy.start("bench.tree", {"who": f"I{number}"}, ref=str(number))
        await Worker(busy.engine, concurrency=8).drain()
    assert max(leased) == slots.target_cap


_TO_ONE_TARGET = """
steps:
  - { id: own, verb: note, params: { incident: '${string(trigger.who)}', text: seen } }
  - { id: same, needs: [own], verb: note, params: { incident: ALL, text: '${string(trigger.who)}' } }
"""


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


JOIN = """
steps:
  - { id: one, needs: [], verb: note, params: { incident: one, text: seen } }
  - { id: two, needs: [], verb: note, params: { incident: two, text: seen } }
  - { id: both, needs: [one, two], verb: note, params: { incident: both, text: seen } }
  - { id: beside, needs: [two], verb: note, params: { incident: beside, text: seen } }
"""


async def test_of_steps_that_end_at_one_moment_the_last_sees_that_the_others_have_ended(opened: Opener) -> None:
    begun = asyncio.Barrier(2)
    async with opened(JOIN) as bench:

        async def note(call: Call) -> JsonObject:
            if call.step in ("one", "two"):
                await begun.wait()
            return {}

        together = with_handlers(bench, {"servicenow::add_work_note": Handler(note)})
        run_id = (await together.start("bench.tree", {})).run_id

        async def has_ended() -> bool:
            return (await status(together, run_id))["run"] == "succeeded"

        async with working(together.worker):
            await until(has_ended)
