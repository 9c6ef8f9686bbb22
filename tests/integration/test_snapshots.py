"""Snapshots: a run goes on from where its last step left it, in one round trip, unless something has moved it since."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from receipts.chain import verify_chain
from runtime.engine import Engine
from runtime.gate import gate
from runtime.gate.beginning import begin_ahead
from runtime.handlers import Call, Handler, JsonObject
from runtime.inbox import inbox
from runtime.model.effect import ChainedLease, SlotOffer
from runtime.model.messages import Blocked
from runtime.model.run import StepState
from runtime.outbox.messages import run_name, tell_groups
from runtime.planning.run_starts import start_next
from runtime.services.operator import OperatorService
from runtime.services.signals import Signal, SignalService
from runtime.store.run_tx import RunTx
from tests.bench import TENANT, Bench, open_bench, with_handlers
from tests.integration.acts_stage import HEAD, Opener, status
from tests.integration.conftest import PACK, Targets
from tests.integration.network import along, road_to
from tests.integration.test_ahead import ROW, in_a_row
from tests.integration.test_replay import replayed
from tests.patience import MINUTE

WRITE = "servicenow::add_work_note"


def _nth(trips: Sequence[str], words: str, count: int) -> int:
    """Return the place of a trip among those with these words, of which the first has the number 0."""
    return [number for number, trip in enumerate(trips) if words in trip][count]


async def test_a_step_in_a_line_takes_one_round_trip(
    dsn: str, postgres: str, opa: OpaChild, targets: Targets, tmp_path: Path
) -> None:
    (tmp_path / "runbooks").mkdir()
    (tmp_path / "runbooks" / "line.yaml").write_text(HEAD + in_a_row(12), encoding="utf-8")
    async with (
        road_to(postgres) as road,
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(along(dsn, road), policy, [PACK, tmp_path], targets.handlers()) as bench,
    ):
        for who in ("first", "second", "third"):  # a connection prepares what it does a second time
            await bench.start("bench.tree", {"who": who}, ref=who)
            road.made.clear()
            await bench.settle()
        line = road.made[_nth(road.made, "policy_decisions", 2) : _nth(road.made, "policy_decisions", 11)]
    assert len(line) == 9, "\n".join(one[:200] for one in line)
    assert "BEGIN" not in "".join(line), "the one statement is a transaction by itself"
    assert len(targets.note.calls) == 3 * 12


async def begun(engine: Engine) -> list[ChainedLease]:
    """Start the queued runs; return their first effects, which have begun."""
    found: list[ChainedLease] = []

    async def ahead(engine: Engine, tx: RunTx, chained: ChainedLease | None, ended: str) -> None:
        await begin_ahead(engine, tx, chained, ended)
        if chained is not None:
            found.append(chained)

    engine.wakeup.slot_offer = lambda: nullcontext(SlotOffer(engine.worker, lambda _: True))
    await start_next(engine, set(), ahead)
    return found


async def next_of(engine: Engine, chained: ChainedLease) -> ChainedLease | None:
    """Take an effect that has begun to its end; return what begins with that."""
    known = chained.run.snapshot()
    assert known is not None
    return await gate.perform(engine, chained.effect, lambda _: True, chained.begun, known)


async def warm(bench: Bench) -> None:
    """Have policy asked once: what it is asked ahead counts only if its text is kept."""
    await bench.start("bench.note", {"incident": "I0", "text": "seen", "api_token": "t"}, ref="0")
    await bench.settle()


async def _read(bench: Bench, run_id: str) -> tuple[dict[str, Any], dict[str, StepState]]:
    async with bench.engine.run_tx(run_id) as tx:
        return tx.row, (await tx.load_steps(None))[0]


TREE = """
steps:
  - { id: one, verb: note, params: { incident: one, text: seen } }
  - { id: keep, needs: [one], set: { seen: '${steps.one.result}', count: '${0}' } }
  - { id: know, needs: [keep], reference: 'case:${run.id}' }
  - id: choose
    needs: [know]
    switch:
      cases:
        - when: state.seen.n > 1.0
          do:
            - { id: two, verb: note, params: { incident: two, text: '${string(state.seen.n)}' } }
            - { id: three, needs: [two], verb: note, params: { incident: three, text: seen } }
  - id: often
    needs: [choose]
    repeat:
      while: state.count < 3
      at_most: 5
      do:
        - { id: again, verb: note, params: { incident: '${string(state.count)}', text: seen } }
        - { id: add, needs: [again], set: { count: '${state.count + 1}' } }
  - { id: last, needs: [often], verb: note, params: { incident: last, text: seen } }
"""
ANSWER = {"n": 2.5, "whole": 1.0, "big": 2**53 - 1, "tags": ["é", {"deep": None}], "empty": {}, "half": "\\ud83d"}


async def test_a_snapshot_says_what_would_be_read(opened: Opener, targets: Targets) -> None:
    targets.note.default = ANSWER
    async with opened(TREE) as bench:
        await warm(bench)
        run_id = (await bench.start("bench.tree", {"é": [1.0, None]})).run_id
        chained: ChainedLease | None
        (chained,) = await begun(bench.engine)
        while chained is not None:
            known = chained.run.snapshot()
            row, steps = await _read(bench, run_id)
            assert known.row == row
            assert known.steps == steps
            assert list(known.steps) == bench.definitions["bench.tree"].in_order(steps)
            chained = await next_of(bench.engine, chained)
        assert (await bench.run(run_id))["status"] == "succeeded"
    assert len(targets.note.calls) == 1 + 7


Move = Callable[[Bench, str], Awaitable[None]]


async def _cancel(bench: Bench, run_id: str) -> None:
    desk = OperatorService(bench.engine.pool, bench.clock, TENANT)
    facts = await inbox.apply(bench.engine, await desk.cancel("omar", run_id, "not wanted", None))
    assert facts["status"] == "applied"


async def _signal(bench: Bench, run_id: str) -> None:
    said = Signal(ref="s1", run_id=run_id, reference=None, name="closed", data={"by": "ivy"})
    _, _, facts = await SignalService(bench.engine, TENANT).send("portal-bot", ["bench.tree"], said)
    assert facts["status"] == "applied"


async def _say(bench: Bench, run_id: str) -> None:
    async with bench.engine.run_tx(run_id) as tx:
        tx.leaf("run.looked_at", {})


BESIDE = """
steps:
  - { id: one, verb: note, params: { incident: one, text: seen } }
  - { id: two, needs: [one], verb: note, params: { incident: two, text: seen } }
  - { id: beside, needs: [], wait: { signal: closed, timeout: P1D } }
  - { id: both, needs: [two, beside], verb: note, params: { incident: both, text: seen } }
"""
WENT_ON = {"run": "succeeded", **dict.fromkeys(("one", "two", "beside", "both"), "succeeded")}
WAITS = {**WENT_ON, "run": "waiting", "beside": "parked", "both": "pending"}
ENDED = {**WENT_ON, **dict.fromkeys(("run", "two", "beside", "both"), "canceled")}


@pytest.mark.parametrize(("move", "after"), [(_cancel, ENDED), (_signal, WENT_ON), (_say, WAITS)])
async def test_what_moves_a_run_between_two_turns_counts(opened: Opener, move: Move, after: Mapping[str, str]) -> None:
    async with opened(BESIDE) as bench:
        await warm(bench)

        async def note(call: Call) -> JsonObject:
            if call.step == "two":
                await move(bench, call.run_id)
            return {}

        moved = with_handlers(bench, {WRITE: Handler(note)})
        moved.engine.kept_texts.update(bench.engine.kept_texts)
        run_id = (await moved.start("bench.tree", {})).run_id
        chained: ChainedLease | None
        (chained,) = await begun(moved.engine)
        while chained is not None:
            chained = await next_of(moved.engine, chained)
        await moved.settle()
        assert await status(moved, run_id) == after
        verify_chain(await moved.chain(run_id))
        assert (await replayed(moved, run_id)).difference is None


REVIEWED = """
steps:
  - { id: one, verb: note, params: { incident: one, text: seen } }
  - { id: ask, needs: [], verb: review, params: { title: Right?, groups: [compliance], case: C1 } }
  - { id: two, needs: [one], verb: note, params: { incident: two, text: seen } }
  - { id: both, needs: [two, ask], verb: note, params: { incident: both, text: seen } }
"""


async def test_a_vote_between_two_turns_counts(opened: Opener) -> None:
    async with opened(REVIEWED) as bench:
        await warm(bench)
        run_id = (await bench.start("bench.tree", {})).run_id
        (ask,) = await begun(bench.engine)
        (one,) = await bench.lease(bench.engine.worker, lasts=bench.engine.timing.lease)
        await gate.perform(bench.engine, ask.effect, begun=ask.begun)
        two = await gate.perform(bench.engine, one, lambda _: True)
        assert two is not None
        assert (await bench.click("ann", await bench.approval_id("task"))).counted
        both = await next_of(bench.engine, two)
        assert both is not None
        assert await next_of(bench.engine, both) is None
        done = dict.fromkeys(("run", "one", "ask", "two", "both"), "succeeded")
        assert await status(bench, run_id) == done
        verify_chain(await bench.chain(run_id))


async def test_a_requester_who_has_changed_groups_is_put_to_policy_as_they_are_now(
    opened: Opener, targets: Targets
) -> None:
    async with opened(ROW) as bench:
        await warm(bench)
        run_id = (await bench.start("bench.tree", {})).run_id
        (first,) = await begun(bench.engine)
        await bench.meddle("""UPDATE actors SET groups = '["elsewhere"]' WHERE actor_id = 'rita'""")
        leased = await next_of(bench.engine, first)
        assert leased is not None
        assert leased.begun is None
        await gate.perform(bench.engine, leased.effect)
        await bench.settle()
        assert (await bench.run(run_id))["status"] == "succeeded"
        rows = await bench.rows("SELECT document FROM policy_decisions WHERE run_id = %s ORDER BY seq", run_id)
    told = [row["document"]["input"]["actor"]["groups"] for row in rows if row["document"]["step"]]
    assert told == [["onboarding"], ["elsewhere"], ["elsewhere"]]
    assert [call.step for call in targets.note.calls[1:]] == ["one", "two", "three"]


async def test_a_run_that_somebody_else_has_locked_leaves_the_set(bench: Bench) -> None:
    await warm(bench)
    run_ids = [
        (await bench.start("bench.note", {"incident": f"I{ref}", "text": "seen", "api_token": "t"}, ref)).run_id
        for ref in ("1", "2")
    ]
    chained = {one.effect.run_id: one for one in await begun(bench.engine)}
    async with bench.engine.pool.connection() as other, other.transaction():
        await other.execute("SELECT FROM runs WHERE run_id = %s FOR UPDATE", (run_ids[0],))
        held = asyncio.create_task(next_of(bench.engine, chained[run_ids[0]]))
        await next_of(bench.engine, chained[run_ids[1]])
        assert (await status(bench, run_ids[1]))["run"] == "succeeded"
        assert not held.done()
    await held
    assert (await status(bench, run_ids[0]))["run"] == "succeeded"


async def test_nothing_is_known_of_a_run_of_which_more_than_one_thing_is_under_way(opened: Opener) -> None:
    async with opened(ROW.replace("needs: [one]", "needs: []")) as bench:
        await warm(bench)
        await bench.start("bench.tree", {})
        (first,) = await begun(bench.engine)
        assert first.begun is not None
        assert first.run.snapshot() is None


async def test_nothing_is_known_of_a_run_about_which_people_are_told(bench: Bench) -> None:
    await warm(bench)
    await bench.start("bench.note", {"incident": "I1", "text": "seen", "api_token": "t"})
    (first,) = await begun(bench.engine)
    assert first.run.snapshot() is not None
    async with bench.engine.run_tx(first.effect.run_id) as tx:
        said = Blocked(run=await run_name(tx), step="note", why="the target refused")
        await tell_groups(bench.engine, tx, ["operators"], "told", said, None)
        tx.steps, tx.facts = first.run.steps, first.run.facts
        assert tx.snapshot() is None
