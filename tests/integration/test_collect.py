"""What the iterations of a repeat give together is bounded: it is read and written whole."""

import pytest

from runtime.planning.node_repeat import COLLECTED_BYTES
from tests.integration.nodes_stage import Opener, status
from tests.integration.test_replay import replayed

TEXT = "x" * (COLLECTED_BYTES // 4 - 2)  # with its quotes, four of them are as much as fits

REPEATS = {
    "one after the other": "for_each: '${trigger.items}'",
    "side by side": "for_each: '${trigger.items}', at_most_at_once: 2",
    "while": "while: 'index < size(trigger.items)', at_most: 9",
    "until": "until: 'index + 1 == size(trigger.items)', at_most: 9",
}


def _runbook(repeat: str, collect: str = "'${trigger.text}'") -> str:
    return f"\nsteps:\n  - {{id: each, repeat: {{{repeat}, collect: {collect}, do: [{{id: one, verb: look}}]}}}}\n"


@pytest.mark.parametrize("kind", REPEATS)
async def test_the_iteration_that_gives_more_than_can_be_kept_fails(opened: Opener, kind: str) -> None:
    async with opened(_runbook(REPEATS[kind])) as bench:
        fits = (await bench.start("bench.tree", {"items": [1] * 4, "text": TEXT}, ref="1")).run_id
        more = (await bench.start("bench.tree", {"items": [1] * 5, "text": TEXT}, ref="2")).run_id
        await bench.settle()
        found = await status(bench, fits)
        assert (found["run"], found["each"]) == ("succeeded", "succeeded")
        (row,) = await bench.rows("SELECT result FROM steps WHERE run_id = %s AND path = 'each'", fits)
        assert row["result"]["results"] == [TEXT] * 4
        run = await bench.run(more)
        failed = [path for path, step in run["steps"].items() if step["status"] == "failed_terminal"]
        why = f"collect: {5 * COLLECTED_BYTES // 4} bytes as JSON by now, and at most {COLLECTED_BYTES} are kept"
        assert (run["status"], failed) == ("failed_terminal", ["each[4]"])
        assert (run["error"], run["steps"]["each[4]"]["error"]) == (f"each[4]: {why}", why)
        assert (await replayed(bench, fits)).difference is None
        assert (await replayed(bench, more)).difference is None


async def test_what_an_iteration_gives_has_to_be_fit_for_the_record(opened: Opener) -> None:
    deeper = "{a: " * 27 + "'${trigger}'" + "}" * 27
    async with opened(_runbook("for_each: '${[1]}'", deeper)) as bench:
        deep: object = {}
        for _ in range(58):
            deep = {"a": deep}
        run_id = (await bench.start("bench.tree", {"a": deep})).run_id
        await bench.settle()
        assert (await bench.run(run_id))["error"] == "each[0]: collect: nested deeper than 80 levels"
