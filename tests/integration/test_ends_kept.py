"""What a run comes to can be put on record, whatever it is made of; else its step fails, or it ends without output."""

from tests.integration.nodes_stage import Opener, status

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
