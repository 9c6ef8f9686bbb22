"""One command, one run: set up, measure, print the table, write `results/latest.json`, and fill the page."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from benchmarks import all_in, backtests, cli, clicks, consoles, homes, intake, latency, shadows, throughput
from benchmarks import crowds as people
from benchmarks import governed_steps as repeat
from benchmarks import killed_worker as killed
from benchmarks import measures as page
from benchmarks import parked_runs as parked
from benchmarks.machine import described
from benchmarks.measures import Figures
from benchmarks.plant import BenchError
from benchmarks.stage import Options, opened, parse, say
from countersign.embedded.work import SetUpError

ROOT = Path(__file__).resolve().parents[1]
LATEST = ROOT / "benchmarks/results/latest.json"
PAGE = ROOT / "docs/performance.md"
MEASURED = {
    "steps": throughput.measure,
    "all_in": all_in.measure,
    "intake": intake.measure,
    "latency": latency.measure,
    "parked": parked.measure,
    "slack": people.measure,
    "clicks": clicks.measure,
    "home": homes.measure,
    "killed": killed.measure,
    "repeat": repeat.measure,
    "cli": cli.measure,
    "backtest": backtests.measure,
    "shadow": shadows.measure,
    "console": consoles.measure,
}


async def measured(options: Options) -> Figures:
    """Measure what the options want; what a part has found is kept even where a later one fails."""
    load = os.getloadavg()[0]
    async with opened(options) as stage:
        stage.figures.remarks += [described(), f"The machine's load in the minute before the run: {load:.1f}"]
        for part, measure in MEASURED.items():
            if options.wants(part):
                say(f"{part}:")
                await measure(stage)
                keep(stage.figures)
        return stage.figures


def keep(figures: Figures) -> None:
    """Write the reported figures where programs read them."""
    LATEST.parent.mkdir(exist_ok=True)
    LATEST.write_text(json.dumps(figures.report(), indent=2) + "\n", encoding="utf-8")


def show(figures: Figures) -> None:
    """Print the table, and fill the page with it."""
    text = figures.table() + "\n" + "\n".join(f"- {remark}" for remark in figures.remarks)
    PAGE.write_text(page.page_with_figures(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):  # however it is told to end, it ends what it has started
        signal.signal(number, signal.default_int_handler)
    try:
        show(asyncio.run(measured(parse(sys.argv[1:]))))
    except (SetUpError, BenchError) as error:
        sys.exit(f"make bench: {error}")
