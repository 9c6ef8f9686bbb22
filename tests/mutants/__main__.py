"""`python -m tests.mutants`: breaks each guard in a copy of the tree and runs its tests; 0 if each break is noticed."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tests.mutants.guard import Guard
from tests.mutants.guards import GUARDS
from tests.mutants.planting import LostGuardError, Place, find, sources, take_away

ROOT = Path(__file__).resolve().parents[2]
_AT_ONCE = 2
_PATIENCE = 900.0
"""Seconds after which tests of a broken tree are ended: that says nothing of the guard."""
_LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".countersign", "__pycache__", ".*_cache", ".hypothesis", "build")
_FAILED, _PASSED = 1, 0


def main() -> int:
    """Break what the command line names, or everything."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="functions whose guards are broken; all of them if none is named")
    names = parser.parse_args().names
    guards = [guard for guard in GUARDS if not names or guard.name in names]
    if unknown := set(names) - {guard.name for guard in guards}:
        _say(f"no guard stands in {', '.join(sorted(unknown))}")
        return 2
    wrong = judge(ROOT, guards)
    _say(f"{len(guards)} guards, {len(wrong)} that do not count" if wrong else f"{len(guards)} guards, 0 survivors")
    return 1 if wrong else 0


def judge(root: Path, guards: Sequence[Guard]) -> list[str]:
    """Say of each guard what becomes of its tests without it; return the sentences about those that do not count."""
    among = sources(root)
    try:
        places = [find(among, guard) for guard in guards]
    except LostGuardError as error:
        return [_say(str(error))]
    if wrong := _whole(root, guards):
        return [_say(wrong)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        said = list(pool.map(partial(_without, root), guards, places))
    return [sentence for sentence in said if sentence]


def _whole(root: Path, guards: Sequence[Guard]) -> str:
    """Run all the tests with every guard in place: what fails then says nothing of a guard."""
    tests = sorted({test for guard in guards for test in guard.tests})
    return "" if _run(root, tests) == _PASSED else "with every guard in place its tests do not pass"


def _without(root: Path, guard: Guard, place: Place) -> str:
    """Break one guard in a copy; return what is wrong with it, "" where a test fails."""
    with tempfile.TemporaryDirectory(prefix="countersign-mutant-") as folder:
        copy = Path(shutil.copytree(root, Path(folder) / "tree", ignore=_LEFT_OUT, symlinks=True))
        take_away(copy, place, guard)
        status = _run(copy, guard.tests)
    if status == _FAILED:
        _say(f"caught    {guard.name}: {guard.rule}")
        return ""
    what = "SURVIVED " if status == _PASSED else f"unjudged (pytest ended with {status})"
    return _say(f"{what} {guard.name}: {guard.rule}")


def _run(tree: Path, tests: Sequence[str]) -> int | None:
    """Return how pytest ends in a tree; None where it does not."""
    env = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(command, cwd=tree, env=env, capture_output=True, timeout=_PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return None
    return done.returncode


def _say(text: str) -> str:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
    return text


if __name__ == "__main__":
    sys.exit(main())
