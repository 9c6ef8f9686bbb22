"""A backtest: decisions of real runs asked again of the policy that gave them, beside OPA's own answering alone."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks import plant
from benchmarks.governed_steps import STEPS, ended, refs
from benchmarks.machine import cores
from benchmarks.measures import Party, less, more
from benchmarks.plant import ROOT, BenchError
from benchmarks.stage import Stage
from countersign.backtest import TOGETHER
from countersign.candidate import confined_opa
from countersign.embedded import work
from countersign.embedded.servers import OPA, ensure
from evidence.replay import Opa
from policy.bundle import PolicyFolders, read_policy

AT_ONCE = 2_000
"""Runs that are queued at a time."""
RATE = more("backtest_per_s", "decisions of a backtest; the limit is OPA alone on all cores", "decisions/s")
MEMORY = less("backtest_mb", "  memory of the backtest's process at most", "MB")
_QUESTIONS = "SELECT document::jsonb -> 'input' AS asked FROM policy_decisions ORDER BY run_id, seq LIMIT %s"


async def measure(stage: Stage) -> None:
    """Measure it once."""
    with plant.plant(stage.server, stage.folder, stage.opa.url) as one:
        decisions = await decide(one, stage.options.backtest)
        program = await asyncio.to_thread(ensure, OPA, work.to_stderr)
        env = {**one.environment(), "COUNTERSIGN_OPA": str(program)}
        took, peak = await asyncio.to_thread(backtest, env, stage.folder / "backtest", decisions)
        questions = [json.dumps(row["asked"]).encode() for row in one.database.rows(_QUESTIONS, [TOGETHER])]
        limit = await answering(confined_opa(program), questions)
    stage.put(RATE, Party.OURS, decisions / took)
    stage.put(RATE, Party.LIMIT, limit)
    stage.put(MEMORY, Party.OURS, peak)


async def decide(one: plant.Plant, runs: int) -> int:
    """Let so many runs of ten governed steps come to their end; return how many decisions are then on record."""
    async with one.edge() as (_, edge), one.workers(cores()):
        for start in range(0, runs, AT_ONCE):
            await ended(one.database, await edge.trigger_all("bench.chain", refs(min(AT_ONCE, runs - start))))
    [row] = one.database.rows("SELECT count(*) AS n FROM policy_decisions")
    if row["n"] < runs * STEPS:
        raise BenchError(f"{runs} runs left {row['n']} decisions")
    return int(row["n"])


def backtest(env: Mapping[str, str], folder: Path, decisions: int) -> tuple[float, float]:
    """Return the seconds of a whole backtest, and its memory in MB; raise BenchError where it finds a change."""
    began = time.perf_counter()
    candidate = ("--candidate", str(ROOT / "rego"), "-o", str(folder))
    command = [sys.executable, "-m", "countersign", "policy", "backtest", *candidate]
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    took = time.perf_counter() - began
    told = json.loads((folder / "report.json").read_bytes()) if process.returncode == 0 else {}
    unchanged = [one["decisions"] for one in told.get("classes", ()) if one["class"] == "unchanged"]
    if unchanged != [decisions]:
        raise BenchError(f"the backtest ended with {process.returncode}; unchanged: {unchanged} of {decisions}")
    return took, usage.ru_maxrss / 1024


async def answering(opa: Opa, questions: list[bytes]) -> float:
    """Return how many questions a second OPA answers on all cores, in sets as a backtest asks them."""
    files = read_policy(
        PolicyFolders(ROOT / "rego", tuple(sorted(one.parent for one in ROOT.glob("packs/*/rego"))))
    ).files
    began = time.perf_counter()
    asking = [asyncio.to_thread(opa.ask, files, questions) for _ in range(10 * cores())]
    await asyncio.gather(*asking)
    return len(asking) * len(questions) / (time.perf_counter() - began)
