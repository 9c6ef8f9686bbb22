"""Asking ahead: policy's answer about the next step counts if its question turns out the same, and soon enough."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from policy.contract import PolicyUnavailableError, Question, Reason, Verdict
from receipts.fields import timestamp
from runtime.gate import gate
from runtime.handlers import Call, Handler, JsonObject
from runtime.model.effect import ChainedLease
from tests.bench import Bench, open_bench, with_handlers
from tests.integration.acts_stage import HEAD, status
from tests.integration.conftest import PACK, Targets
from tests.integration.test_ahead import ROW, _decided, in_a_row
from tests.integration.test_snapshots import begun, next_of, warm
from tests.integration.test_worker import working
from tests.opa_server import Between
from tests.patience import MINUTE, until

Bend = Callable[[Question, Verdict], Verdict]
Happens = Callable[["Stage"], Awaitable[None]]


def _as_it_is(_: Question, found: Verdict) -> Verdict:
    return found


@dataclass
class Asked(Between):
    """OPA, of which one sees what it was asked, step by step; `bend` changes what it says."""

    steps: list[str] = field(default_factory=list)
    last: list[Question] = field(default_factory=list)
    bend: Bend = _as_it_is

    async def changed(self, question: Question, verdict: Verdict) -> Verdict:
        self.last = [question]
        self.steps += [question.step] if question.step else []
        return self.bend(question, verdict)


@dataclass
class Stage:
    """A bench on which a run goes on one step at a time; something may happen while a step is under way."""

    bench: Bench
    asked: Asked
    happens: Happens | None = None

    @property
    def counts(self) -> tuple[int, int]:
        """Return how often policy was asked ahead, and how many of the answers were used."""
        seen = self.bench.engine.policy_seen
        return seen.asked_ahead, seen.used

    async def note(self, call: Call) -> JsonObject:
        if self.happens is not None and call.step == "one":
            await until(self.has_asked)
            await self.happens(self)
        return {"n": 1}

    async def has_asked(self) -> bool:
        return "two" in self.asked.steps

    async def run(self) -> Sequence[Mapping[str, Any]]:
        """Take a run to its end; return what was decided of its steps."""
        await warm(self.bench)
        self.asked.steps.clear()
        run_id = (await self.bench.start("bench.tree", {})).run_id
        chained: ChainedLease | None
        (chained,) = await begun(self.bench.engine)
        while chained is not None:
            chained = await next_of(self.bench.engine, chained)
        assert (await status(self.bench, run_id))["run"] == "succeeded"
        decisions = await _decided(self.bench, run_id)
        assert [one["step"] for one in decisions] == ["one", "two", "three"]
        return decisions


@asynccontextmanager
async def opened(dsn: str, opa: OpaChild, folder: Path, runbook: str = ROW) -> AsyncIterator[Stage]:
    (folder / "runbooks").mkdir()
    (folder / "runbooks" / "tree.yaml").write_text(HEAD + runbook, encoding="utf-8")
    async with OpaEngine(opa.url, timeout=MINUTE) as real:
        asked = Asked(real)
        async with open_bench(dsn, asked, [PACK, folder], Targets.fresh().handlers()) as bench:
            stage = Stage(bench, asked)
            stage.bench = with_handlers(bench, {"servicenow::add_work_note": Handler(stage.note)})
            yield stage


async def _nothing(stage: Stage) -> None:
    pass


async def test_policy_is_asked_about_the_next_step_while_this_one_is_under_way(
    dsn: str, opa: OpaChild, tmp_path: Path
) -> None:
    async with opened(dsn, opa, tmp_path) as stage:
        stage.happens = _nothing
        decisions = await stage.run()
        assert stage.asked.steps == ["one", "two", "three"]
        assert stage.counts == (2, 2)
    assert [one["input"]["counters"]["writes"] for one in decisions] == [0, 1, 2]


async def _a_moment_passes(stage: Stage) -> None:
    stage.bench.clock.move(seconds=0.9)


async def test_an_answer_is_on_record_with_the_time_at_which_it_was_asked_for(
    dsn: str, opa: OpaChild, tmp_path: Path
) -> None:
    async with opened(dsn, opa, tmp_path) as stage:
        stage.happens, before = _a_moment_passes, timestamp(stage.bench.clock())
        decisions = await stage.run()
        after = timestamp(stage.bench.clock())
    assert [one["input"]["time"] for one in decisions] == [before, before, after]


async def _seconds_pass(stage: Stage) -> None:
    stage.bench.clock.move(seconds=1.1)


async def _the_minute_ends(stage: Stage) -> None:
    stage.bench.clock.move(seconds=0.2)


async def _policy_changes(stage: Stage) -> None:
    """Another run hears of another policy."""
    stage.asked.bend = lambda _, found: found.model_copy(update={"policy_digest": "0" * 64})
    await stage.bench.engine.ask(stage.asked.last[0])
    stage.asked.steps.pop()
    stage.asked.bend = _as_it_is


@pytest.mark.parametrize("happens", [_seconds_pass, _the_minute_ends, _policy_changes])
async def test_an_answer_that_may_be_out_of_date_is_asked_for_again(
    dsn: str, opa: OpaChild, tmp_path: Path, happens: Happens
) -> None:
    async with opened(dsn, opa, tmp_path) as stage:
        if happens is _the_minute_ends:
            stage.bench.clock.move(seconds=59.9)
        stage.happens = happens
        decisions = await stage.run()
        assert stage.asked.steps == ["one", "two", "two", "three"]
        assert stage.counts == (2, 1)
        assert decisions[1]["input"]["time"] == timestamp(stage.bench.clock())


BY_RESULT = ROW.replace("{ incident: two, text: seen }", "{ incident: two, text: '${TEXT}' }")


@pytest.mark.parametrize(
    ("text", "asked", "counts"),
    [
        ("string(steps.one.result.n)", ["one", "two", "three"], (1, 1)),
        ('has(steps.one.result.n) ? "yes" : "no"', ["one", "two", "two", "three"], (2, 1)),
    ],
    ids=["cannot be guessed", "guessed wrong"],
)
async def test_a_step_that_depends_on_the_one_before_is_put_to_policy_as_it_is(
    dsn: str, opa: OpaChild, tmp_path: Path, text: str, asked: list[str], counts: tuple[int, int]
) -> None:
    async with opened(dsn, opa, tmp_path, BY_RESULT.replace("TEXT", text)) as stage:
        decisions = await stage.run()
        assert (stage.asked.steps, stage.counts) == (asked, counts)
    assert decisions[1]["input"]["effect"]["fields"]["text"] in ("1", "yes")


def _denies(found: Verdict) -> Verdict:
    answer = found.answer.model_copy(update={"outcome": "deny", "reasons": [Reason(code="no", msg="not now")]})
    return found.model_copy(update={"answer": answer})


def _is_away(found: Verdict) -> Verdict:
    raise PolicyUnavailableError("away")


@pytest.mark.parametrize("says", [_denies, _is_away])
async def test_what_is_no_plain_yes_is_asked_again_by_the_gate(
    dsn: str, opa: OpaChild, tmp_path: Path, says: Callable[[Verdict], Verdict]
) -> None:
    async with opened(dsn, opa, tmp_path) as stage:
        stage.asked.bend = lambda asked, found: says(found) if asked.step == "two" else found
        await warm(stage.bench)
        run_id = (await stage.bench.start("bench.tree", {})).run_id
        (first,) = await begun(stage.bench.engine)
        leased = await next_of(stage.bench.engine, first)
        assert leased is not None
        assert leased.begun is None
        stage.asked.bend = _as_it_is
        await gate.perform(stage.bench.engine, leased.effect)
        await stage.bench.settle()
        assert (await status(stage.bench, run_id))["run"] == "succeeded"
        assert [one["outcome"] for one in await _decided(stage.bench, run_id)] == ["allow"] * 3


async def test_nothing_is_asked_ahead_where_runs_go_on_together(dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    async with opened(dsn, opa, tmp_path, in_a_row(3)) as stage:
        await warm(stage.bench)
        for who in ("ann", "bob"):
            await stage.bench.start("bench.tree", {"who": who}, who)
        both = await begun(stage.bench.engine)
        assert len(both) == 2
        await asyncio.gather(*(next_of(stage.bench.engine, one) for one in both))
        assert stage.counts == (0, 0)


async def test_a_worker_says_when_it_stops_how_many_answers_were_used(
    dsn: str, opa: OpaChild, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "runtime.worker")
    async with opened(dsn, opa, tmp_path) as stage:
        await warm(stage.bench)
        run_id = (await stage.bench.start("bench.tree", {})).run_id

        async def has_ended() -> bool:
            return (await status(stage.bench, run_id))["run"] == "succeeded"

        async with working(stage.bench.worker):
            await until(has_ended)
        asked, used = stage.counts
    assert asked > 0
    assert f"policy was asked ahead {asked} times, and {used} of its answers were used" in caplog.text
