"""What tests of a runbook of their own share: it stands beside those of the bench's own pack."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from tests.bench import Bench

HEAD = "name: tree\nversion: 1\ntitle: T\ntrigger: { type: bench.tree, schema: {} }\n"

Opener = Callable[[str], AbstractAsyncContextManager[Bench]]


async def status(bench: Bench, run_id: str) -> dict[str, str]:
    run = await bench.run(run_id)
    return {"run": run["status"], **{path: step["status"] for path, step in run["steps"].items()}}
