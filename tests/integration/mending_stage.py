"""What operators do with steps that are held, or that wait."""

from collections.abc import Mapping
from typing import Any

from runtime.inbox import inbox
from runtime.model.run import RepairAction
from runtime.services.operator import OperatorDesk, StepRepair
from tests.bench import Bench


async def wish(
    bench: Bench, run_id: str, step: str, act: RepairAction, result: Any = None, by: str = "omar"
) -> Mapping[str, Any]:
    """Say how a step goes on; return what became of that."""
    desk = OperatorDesk(bench.engine.pool, bench.engine.clock, "acme")
    facts = await inbox.apply(bench.engine, await desk.repair_step(by, StepRepair(run_id, step, act, "seen", result)))
    await bench.settle()
    return facts


async def mend(bench: Bench, run_id: str, step: str, act: RepairAction, result: Any = None) -> None:
    """Let a step go on, as an operator."""
    assert (await wish(bench, run_id, step, act, result))["status"] == "applied"


async def play_waiting(bench: Bench) -> dict[str, str]:
    """Play a run each of whose waits is supplied or skipped before it ends."""
    run_id = (await bench.start("bench.waiting", {})).run_id
    await bench.settle()
    await mend(bench, run_id, "ask", RepairAction.SUPPLY, {"answer": "by telephone"})
    await mend(bench, run_id, "hear", RepairAction.SUPPLY, {"by": "omar"})
    await mend(bench, run_id, "pause", RepairAction.SKIP)
    await mend(bench, run_id, "below", RepairAction.SUPPLY, {"run_id": "elsewhere", "outcome": "", "output": None})
    await mend(bench, run_id, "leave", RepairAction.SKIP)
    await mend(bench, run_id, "rounds[0].rest", RepairAction.SKIP)
    return {"waited": run_id}
