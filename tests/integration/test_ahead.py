"""What follows from an effect begins in the transaction that ends it, where policy allows it; else by itself."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from policy.contract import (
    Authorization,
    OperatorQuestion,
    PolicyText,
    PolicyUnavailableError,
    Question,
    Reason,
    Verdict,
)
from runtime.handlers import Call, Handler, JsonObject
from runtime.worker.lanes import slots_of
from runtime.worker.worker import HANDED_ON, Worker
from tests.bench import Bench, open_bench, with_handlers
from tests.integration.conftest import PACK, Targets
from tests.integration.nodes_stage import HEAD, Opener, status
from tests.patience import MINUTE

ROW = """
steps:
  - { id: one, verb: note, params: { incident: one, text: seen } }
  - { id: two, needs: [one], verb: note, params: { incident: two, text: seen } }
  - { id: three, needs: [two], verb: note, params: { incident: three, text: seen } }
"""
Words = Callable[[Verdict], Awaitable[Verdict | PolicyUnavailableError]]


@dataclass
class Moody:
    """A policy server that says something else, once, of one step of a run; of all others what OPA says."""

    real: OpaEngine
    about: str = ""
    says: Words | None = None
    asked: list[str] = field(default_factory=list)

    async def ask_all(self, questions: Sequence[Question]) -> list[Verdict | PolicyUnavailableError]:
        return [
            await self._bent(one, found)
            for one, found in zip(questions, await self.real.ask_all(questions), strict=True)
        ]

    async def ask(self, question: Question) -> Verdict:
        raise AssertionError(f"the gate asks in sets, and not about {question.step}")

    async def _bent(
        self, question: Question, found: Verdict | PolicyUnavailableError
    ) -> Verdict | PolicyUnavailableError:
        if question.step:
            self.asked.append(question.step)
        if self.says is None or question.step != self.about or isinstance(found, PolicyUnavailableError):
            return found
        says, self.says = self.says, None
        return await says(found)

    async def judge(self, question: OperatorQuestion) -> Authorization:
        return await self.real.judge(question)

    def text(self, digest: str) -> PolicyText:
        return self.real.text(digest)


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
            "SELECT xmin::text AS tx, leaf->>'event' AS event, leaf->'correlation'->>'step' AS step FROM audit_leaves"
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


async def _is_away(_: Verdict) -> PolicyUnavailableError:
    return PolicyUnavailableError("away")


async def _obliges(found: Verdict) -> Verdict:
    return found.model_copy(update={"answer": found.answer.model_copy(update={"obligations": ["log it"]})})


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
    dsn: str, opa: OpaChild, targets: Targets, tmp_path: Path, says: Words
) -> None:
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


async def test_while_others_wait_a_run_has_a_slot_for_a_few_steps_in_a_row(opened: Opener) -> None:
    calls: list[str] = []
    async with opened(_in_a_row(HANDED_ON + 3)) as bench:

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


def _in_a_row(many: int) -> str:
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
