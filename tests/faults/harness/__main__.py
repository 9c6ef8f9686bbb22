"""`python -m tests.faults.harness --runs 2000 --minutes 10 --seed 7`: plays worlds; fails where one does not hold."""

import argparse
import asyncio
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from tests.faults.checker.report import Report
from tests.faults.harness.play import Script, play
from tests.faults.harness.seeded import escaped
from tests.faults.world.world import parts

_STORMY, _COVERING, _SETTLING = 0.5, 0.3, 0.2
"""Shares of a world's time, the latter two at most; the rest is for planted bugs and the check."""
_AGAIN = 150.0
"""Seconds after which everything that waits has been tried once more: pauses grow to two minutes."""
_LONGEST = 600.0
"""Seconds that a world lasts."""


def main() -> int:
    """Play as the command line says; print the seed, and return 1 where something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.harness", description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--minutes", type=float, default=10.0, help="in worlds of ten at most, one after another")
    parser.add_argument("--seed", type=int, default=None, help="the same seed plays the same faults")
    parser.add_argument("--kills", type=int, default=3, help="how often each failpoint has to have killed")
    parser.add_argument("--no-bugs", action="store_true", help="plant no bugs")
    parser.add_argument("--keep", action="store_true", help="leave histories and logs where they are")
    options = parser.parse_args()
    seed = secrets.randbelow(1 << 31) if options.seed is None else options.seed
    _say(f"seed {seed}")
    folder = Path(tempfile.mkdtemp(prefix="countersign-faults-"))
    folder.chmod(0o755)
    began = time.monotonic()
    try:
        holds = asyncio.run(_until_told(_play(folder, options, seed)))
    except asyncio.CancelledError:
        _say("ended before its time")
        return 1
    finally:
        if options.keep:
            _say(f"kept in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    _say(f"{'held' if holds else f'DID NOT HOLD: seed {seed}'} in {time.monotonic() - began:.0f} s")
    return 0 if holds else 1


async def _until_told(work: Coroutine[Any, Any, bool]) -> bool:
    """Do it to its end, or take everything down where somebody ends us: nothing of a world may stay behind."""
    task = asyncio.ensure_future(work)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    return await task


async def _play(folder: Path, options: argparse.Namespace, seed: int) -> bool:
    """Play the planted bugs, then one world after another; return whether all of it was as it has to be."""
    until, lasts = time.monotonic() + options.minutes * 60, min(options.minutes * 60, _LONGEST)
    async with parts(folder) as shared:
        missed = [] if options.no_bugs else await escaped(shared, folder / "bugs")
        _say(f"  planted bugs not caught: {', '.join(missed) or 'none'}")
        holds, totals, number = not missed, Counter[str](), 0
        while holds and (number == 0 or until - time.monotonic() > lasts * _STORMY):
            shares = lasts * _STORMY, max(lasts * _COVERING, 60.0), max(lasts * _SETTLING, _AGAIN)
            script = Script(seed + number, options.runs, *shares, options.kills)
            report = await play(shared, folder / f"world-{number}", f"world_{number}", script)
            _say(f"seed {script.seed}:\n{report.text()}")
            holds, number = report.holds, number + 1
            totals.update(report.counts)
    if number > 1:
        _say(f"{number} worlds together:\n{Report(counts=totals).text()}")
    return holds


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
