"""What a command costs: CPU seconds of its whole process, its start included."""

import os
import subprocess
import sys
from collections.abc import Mapping
from statistics import median

from benchmarks import measures, plant
from benchmarks.governed_steps import refs
from benchmarks.measures import Party
from benchmarks.plant import BenchError
from benchmarks.stage import Stage

TIMES = 5
RUNS = 50
"""Runs in the database: a page of a list is not longer."""


def cpu_of(env: Mapping[str, str], *arguments: str) -> float:
    """Return the CPU seconds, user and system, of a command of the program; raise BenchError where it fails."""
    command = [sys.executable, "-m", "countersign", *arguments]
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise BenchError(f"countersign {' '.join(arguments)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


async def measure(stage: Stage) -> None:
    """Measure the help, and a list of runs."""
    with plant.plant(stage.server, stage.folder, stage.opa.url) as one:
        async with one.edge() as (_, edge):
            await edge.trigger_all("bench.chain", refs(RUNS))
        env = one.environment()
        for measure, arguments in ((measures.CLI_HELP, ("--help",)), (measures.CLI_LIST, ("runs", "list"))):
            times = [cpu_of(env, *arguments) for _ in range(TIMES)]
            stage.put(measure, Party.OURS, median(times))
