"""Word of progress: it is shown where the step is shown, is on record, is bounded, and resumes nothing."""

from typing import Any

from runtime.inbox.answer_rules import MOST_BYTES
from runtime.model.action import commitment
from tests.bench import BENCH_SECRET, Bench

KEY = "acme:await_answer:C1"
HALF = {"documents": {"wanted": 4, "got": 2}}


async def _started(bench: Bench) -> str:
    run_id = (await bench.start("bench.wait", {"case": "C1"})).run_id
    await bench.settle()
    return run_id


async def _shown(bench: Bench, run_id: str) -> dict[str, Any]:
    shown: dict[str, Any] = (await bench.run(run_id))["steps"]["ask"]["progress"]
    return shown


async def _leaves(bench: Bench, run_id: str) -> list[dict[str, Any]]:
    return [leaf.data for leaf in await bench.chain(run_id) if leaf.event == "wait.progress"]


async def test_progress_is_shown_on_its_step_and_on_record_and_resumes_nothing(bench: Bench) -> None:
    run_id = await _started(bench)
    facts = await bench.progress(KEY, "two of four", HALF)
    assert facts["status"] == "applied"
    shown = await _shown(bench, run_id)
    assert (shown["message"], shown["data"], shown["count"]) == ("two of four", HALF, 1)
    (wait,) = await bench.rows("SELECT wait_id, r.salt FROM waits JOIN runs r USING (run_id)")
    (leaf,) = await _leaves(bench, run_id)
    assert leaf["wait_id"] == wait["wait_id"]
    assert (leaf["message"], leaf["count"]) == ("two of four", 1)
    assert leaf["data"] == commitment(HALF, wait["salt"]), "bound, and not to be guessed"
    assert (await bench.run(run_id))["steps"]["ask"]["status"] == "parked"


async def test_the_newest_word_takes_the_place_of_the_one_before(bench: Bench) -> None:
    run_id = await _started(bench)
    for got in range(4):
        await bench.progress(KEY, f"{got} of four", {"got": got})
    assert (await _shown(bench, run_id))["data"] == {"got": 3}
    assert (await _shown(bench, run_id))["count"] == 4
    await bench.progress(KEY, "nearly")
    assert (await _shown(bench, run_id))["data"] is None


async def test_progress_that_comes_often_leaves_one_leaf_a_minute_and_then_ever_fewer(bench: Bench) -> None:
    run_id = await _started(bench)
    for _ in range(200):
        await bench.progress(KEY, "still at it")
        bench.clock.move(seconds=30)
    counts = [leaf["count"] for leaf in await _leaves(bench, run_id)]
    assert counts[:3] == [1, 3, 5], "every other, half a minute apart"
    assert counts[-1] - counts[-2] == 4, "a fiftieth of an hour and a half, and more, later"
    bench.clock.move(days=10)
    await bench.progress(KEY, "after ten days")
    bench.clock.move(hours=1)
    await bench.progress(KEY, "after another hour")
    assert [leaf["message"] for leaf in await _leaves(bench, run_id)][-1] == "after ten days"
    assert (await _shown(bench, run_id))["message"] == "after another hour"


async def test_data_that_is_too_large_is_refused_and_what_was_there_stays(bench: Bench) -> None:
    run_id = await _started(bench)
    await bench.progress(KEY, "half", HALF)
    fits = {"text": "x" * (MOST_BYTES - len('{"text":""}'))}
    assert (await bench.progress(KEY, "all of it", {"text": fits["text"] + "x"}))["code"] == "answer.invalid"
    assert (await _shown(bench, run_id))["data"] == HALF
    assert (await bench.progress(KEY, "just", fits))["status"] == "applied"


async def test_secrets_in_progress_are_hidden_where_it_is_shown_and_where_it_is_kept(bench: Bench) -> None:
    run_id = await _started(bench)
    await bench.progress(KEY, f"with {BENCH_SECRET}", {"token": f"x {BENCH_SECRET}"})
    (row,) = await bench.rows("SELECT progress::text AS kept FROM waits")
    leaves = await bench.rows("SELECT leaf::text AS leaf FROM audit_leaves WHERE run_id = %s", run_id)
    assert not any(BENCH_SECRET in text for text in (row["kept"], *(one["leaf"] for one in leaves)))


async def test_a_caller_that_may_not_answer_for_the_verb_tells_no_progress(bench: Bench) -> None:
    run_id = await _started(bench)
    assert (await bench.progress(KEY, "half", verbs=["another"]))["code"] == "answer.not_yours"
    assert await _shown(bench, run_id) is None


async def test_progress_that_comes_when_the_step_has_its_answer_is_late(bench: Bench) -> None:
    await _started(bench)
    await bench.complete(KEY, {"answer": "yes"})
    facts = await bench.progress(KEY, "half")
    assert (facts["status"], facts["code"]) == ("stale", "answer.late")


async def test_the_newest_word_stays_on_the_step_when_it_has_ended(bench: Bench) -> None:
    run_id = await _started(bench)
    await bench.progress(KEY, "all four", HALF)
    await bench.complete(KEY, {"answer": "yes"})
    assert (await _shown(bench, run_id))["message"] == "all four"
