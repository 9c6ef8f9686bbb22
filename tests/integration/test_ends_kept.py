"""What a run comes to can be put on record, whatever it is made of; else its step fails, or it ends without output."""

import pytest

from tests.integration.nodes_stage import Opener, status
from tests.integration.test_replay import replayed

DEEP = 27


def nested(levels: int, value: object) -> object:
    """Return a value inside that many objects."""
    return {"a": nested(levels - 1, value)} if levels else value


def in_yaml(levels: int) -> str:
    return "{ a: " * levels + '"${trigger}"' + " }" * levels


async def test_an_end_whose_result_is_too_deep_for_any_record_fails(opened: Opener) -> None:
    async with opened(f"\nsteps: [{{ id: stop, end: {{ outcome: done, result: {in_yaml(DEEP)} }} }}]\n") as bench:
        fits = (await bench.start("bench.tree", {"a": 1}, ref="1")).run_id
        deep = (await bench.start("bench.tree", {"a": nested(58, {})}, ref="2")).run_id
        await bench.settle()
        assert (await status(bench, fits))["run"] == "succeeded"
        step = (await bench.run(deep))["steps"]["stop"]
        assert (step["status"], step["error"]) == ("failed_terminal", "result: nested deeper than 80 levels")


async def test_a_run_whose_output_is_too_deep_for_any_record_ends_without_one(opened: Opener) -> None:
    async with opened(f"\nsteps: [{{ id: a, set: {{ x: 1 }} }}]\noutput: {in_yaml(DEEP)}\n") as bench:
        run_id = (await bench.start("bench.tree", {"a": nested(58, {})})).run_id
        await bench.settle()
        run = await bench.run(run_id)
        assert (run["status"], run["output"]) == ("succeeded", None)
        assert run["error"] == "output: nested deeper than 80 levels"


@pytest.mark.parametrize("ends", ["", "  - {id: stop, needs: [a], end: {outcome: done, result: '${state.x}'}}\n"])
async def test_what_a_run_gives_is_on_record_though_it_is_null(opened: Opener, ends: str) -> None:
    runbook = f"\nsteps:\n  - {{id: a, set: {{x: null}}}}\n{ends}output: '${{state.x}}'\n"
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        (end,) = [leaf for leaf in await bench.chain(run_id) if leaf.event == "run.succeeded"]
        assert "output" in end.data
        assert (await replayed(bench, run_id)).difference is None


async def test_an_end_that_gives_nothing_has_no_output(opened: Opener) -> None:
    async with opened("\nsteps: [{id: stop, end: {outcome: done}}]\noutput: 1\n") as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        (end,) = [leaf for leaf in await bench.chain(run_id) if leaf.event == "run.succeeded"]
        assert "output" not in end.data
