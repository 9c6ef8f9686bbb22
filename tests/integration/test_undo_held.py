"""What is undone of steps that were held: what the run did itself, each of it once, and nothing that people did."""

from collections.abc import Mapping
from typing import Any

import pytest

from runtime.handlers import RefusedError
from runtime.inbox import inbox
from runtime.model.run import RepairAction
from runtime.services.operator import OperatorDesk
from tests.bench import TENANT, Bench
from tests.integration.mending_stage import mend
from tests.integration.nodes_stage import status
from tests.integration.undo_stage import Shelves, bench, shelves

__all__ = ["bench", "shelves"]

NOT_OURS = "omar supplied its result: what was done for that is not the run's to undo"


@pytest.fixture
def desk(bench: Bench) -> OperatorDesk:
    return OperatorDesk(bench.engine.pool, bench.clock, TENANT)


async def started(bench: Bench, **trigger: str) -> str:
    run_id = (await bench.start("undo.holding", trigger)).run_id
    await bench.settle()
    return run_id


async def again(bench: Bench, run_id: str, step: str) -> None:
    """Have a held step tried anew, a while later."""
    bench.clock.move(seconds=1)
    await mend(bench, run_id, step, RepairAction.RETRY)


async def answered(bench: Bench, run_id: str) -> None:
    await bench.complete(f"{run_id}:ask", {}, verbs=["ask"])
    await bench.settle()


async def canceled(bench: Bench, desk: OperatorDesk, run_id: str) -> str | None:
    """Cancel a run; return the run that withdraws what it had asked for."""
    facts = await inbox.apply(bench.engine, await desk.cancel("omar", run_id, "no more", None))
    await bench.settle()
    return None if facts["withdrawn_in"] is None else str(facts["withdrawn_in"])


async def undone(bench: Bench, desk: OperatorDesk, run_id: str, step: str | None = None) -> Mapping[str, Any]:
    facts = await inbox.apply(bench.engine, await desk.undo("omar", run_id, step, "a mistake", None))
    await bench.settle()
    return facts


def left(facts: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    return [(item["step"], item["standing"], item["why"]) for item in facts["left"]]


async def test_what_somebody_supplied_is_named_and_is_not_the_runs_to_undo(
    bench: Bench, desk: OperatorDesk, shelves: Shelves
) -> None:
    shelves.put.answers = [RefusedError("closed")]
    run_id = await started(bench)
    await mend(bench, run_id, "put", RepairAction.SUPPLY, {"entry": "by hand"})
    await answered(bench, run_id)
    await mend(bench, run_id, "named", RepairAction.SUPPLY, {"entry": "by hand, too"})
    assert (await status(bench, run_id))["run"] == "succeeded"
    facts = await undone(bench, desk, run_id)
    assert [item["step"] for item in facts["undone"]] == ["ask"]
    assert left(facts) == [("put", "supplied", NOT_OURS), ("named", "supplied", NOT_OURS)]
    assert [call.params["place"] for call in shelves.take.calls] == ["asked"]
    alone = await undone(bench, desk, run_id, "named")
    assert alone["reason"] == f"nothing of it can be undone; named: {NOT_OURS}"


async def test_a_step_that_was_tried_anew_is_undone_once_and_its_failures_are_not_told(
    bench: Bench, desk: OperatorDesk, shelves: Shelves
) -> None:
    shelves.put.answers = [RefusedError("closed"), RefusedError("closed")]
    run_id = await started(bench)
    for _ in range(2):
        await again(bench, run_id, "put")
    facts = await undone(bench, desk, run_id, "put")
    assert ([item["step"] for item in facts["undone"]], facts["left"]) == (["put"], [])
    assert [call.params["entry"] for call in shelves.take.calls] == ["e-here"]


async def test_of_tries_that_did_nothing_one_is_told(bench: Bench, desk: OperatorDesk, shelves: Shelves) -> None:
    shelves.put.answers = [RefusedError("closed"), RefusedError("closed")]
    run_id = await started(bench)
    await again(bench, run_id, "put")
    await mend(bench, run_id, "put", RepairAction.SKIP)
    facts = await undone(bench, desk, run_id, "put")
    assert facts["reason"] == "nothing of it can be undone; put: not performed: failed"


async def test_what_the_step_itself_had_done_is_not_taken_for_another_runs(
    bench: Bench, desk: OperatorDesk, shelves: Shelves
) -> None:
    shelves.put.answers = [{"entry": 7}]
    run_id = await started(bench)
    await again(bench, run_id, "put")
    assert len(shelves.put.calls) == 1
    await mend(bench, run_id, "put", RepairAction.SUPPLY, {"entry": "seven"})
    facts = await undone(bench, desk, run_id, "put")
    assert facts["reason"] == "nothing of it can be undone; put: params of take: /entry: 7 is not of type 'string'"


async def test_each_request_of_a_step_that_was_tried_anew_is_undone(
    bench: Bench, desk: OperatorDesk, shelves: Shelves
) -> None:
    run_id = await started(bench, place="there")
    await bench.later(days=14, seconds=1)
    assert (await status(bench, run_id))["ask"] == "needs_attention"
    await again(bench, run_id, "ask")
    await answered(bench, run_id)
    facts = await undone(bench, desk, run_id)
    assert [item["step"] for item in facts["undone"]] == ["named", "ask", "ask", "put"]
    assert facts["left"] == []
    rows = await bench.rows(
        "SELECT receipt_id FROM receipts WHERE run_id = %s AND document->>'step' <> '' ORDER BY seq DESC", run_id
    )
    assert [call.key for call in shelves.take.calls] == [f"undo:{row['receipt_id']}" for row in rows]
    assert (await bench.run(facts["undone_in"]))["status"] == "succeeded"


async def test_with_a_run_only_the_request_that_it_waits_for_is_withdrawn(
    bench: Bench, desk: OperatorDesk, shelves: Shelves
) -> None:
    run_id = await started(bench)
    await bench.later(days=14, seconds=1)
    await again(bench, run_id, "ask")
    withdrawn = await canceled(bench, desk, run_id)
    assert withdrawn is not None
    (call,) = shelves.take.calls
    assert call.params == {"entry": "e-asked", "run": run_id}
    (last,) = await bench.rows(
        "SELECT receipt_id FROM receipts WHERE run_id = %s AND document->>'step' = 'ask' ORDER BY seq DESC LIMIT 1",
        run_id,
    )
    assert call.key == f"undo:{last['receipt_id']}"
    facts = await undone(bench, desk, run_id)
    assert [item["step"] for item in facts["undone"]] == ["ask", "put"]
    assert left(facts)[0] == ("ask", "undone", f"undone by {withdrawn}")
    assert shelves.take.calls[1].params == {"place": "asked", "entry": "e-asked", "was": "asked"}
