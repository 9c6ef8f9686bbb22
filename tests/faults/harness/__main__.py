"""`python -m tests.faults.harness --runs 2000 --minutes 10 --seed 7`: plays worlds; fails where one does not hold."""

import argparse
import asyncio
import secrets
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.faults.harness.play import Script, play
from tests.faults.harness.seeded import escaped
from tests.faults.world.world import parts


def main() -> int:
    """Play as the command line says; print the seed, and return 1 where something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.harness", description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--minutes", type=float, default=10.0, help="for everything, the settling and the check too")
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
        holds = asyncio.run(_play(folder, options, seed))
    finally:
        if options.keep:
            _say(f"kept in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    _say(f"{'held' if holds else f'DID NOT HOLD: seed {seed}'} in {time.monotonic() - began:.0f} s")
    return 0 if holds else 1


async def _play(folder: Path, options: argparse.Namespace, seed: int) -> bool:
    seconds = max(options.minutes * 60 * 0.55, 8.0)
    script = Script(seed, options.runs, seconds, settle=max(options.minutes * 60 * 0.2, 60.0), kills=options.kills)
    async with parts(folder) as shared:
        missed = [] if options.no_bugs else await escaped(shared, folder / "bugs")
        _say(f"  planted bugs not caught: {', '.join(missed) or 'none'}")
        report = await play(shared, folder / "world", "world_storm", script)
    _say(report.text())
    return report.holds and not missed


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
