"""What verifying a bundle full of JSON takes: `python -m benchmarks.bundles`, for each shape CPU seconds and memory.

`--beside FOLDER` has another checkout verify the same files in the same run.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from evidence.zipform import MAX_MEMBER_SIZE
from receipts import canonical
from tests.unit.evidence_bound import bound
from tests.unit.evidence_sample import Office, Story, rewrite

ROOT = Path(__file__).resolve().parents[1]
MIB = 2**20
VERIFY = """
import resource, sys
from pathlib import Path
from evidence.verify.verify import verify
before = resource.getrusage(resource.RUSAGE_SELF)
verify(Path(sys.argv[1]), Path(sys.argv[2]))
after = resource.getrusage(resource.RUSAGE_SELF)
spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
print(f"{spent:.1f} s {after.ru_maxrss * 1024 / 1e6:,.0f} MB")
"""
"""What is measured: the CPU time of `verify`, and the most memory of the whole process."""


def _repeated(item: Any) -> Callable[[int], Any]:
    """Return what makes a list of equal items of about so many bytes."""
    size = len(canonical.dumps(item)) + 1
    return lambda wanted: [item] * (wanted // size)


def _nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


_ROW = {"country": "NO", "id": 12345, "name": "Ingrid Halvorsen", "owners": [{"p": 36, "q": True}, {"p": 20.5}]}
SHAPES: dict[str, Callable[[int], Any]] = {
    "rows of objects": _repeated(_ROW),
    "empty lists": _repeated([]),
    "lists, 90 deep": _repeated(_nested(89)),
    "whole numbers": _repeated(7),
    "fractions": _repeated(12345.678),
    "small fractions": _repeated(1.5e-7),
    "short texts": _repeated(""),
    "texts of all planes": _repeated("Ærøskøbing 😀"),
    "one text of escapes": lambda wanted: '\n"\\\x01' * (wanted // 12),
    "one text": lambda wanted: "Ærøskøbing 😀 " * (wanted // 18),
    "many names": lambda wanted: {f"name {number:08d}": number % 10 for number in range(wanted // 18)},
}


def answered(value: Callable[[int], Any], size: int) -> Story:
    """Return a run whose receipts and a decision, in equal parts, hold a value of this size."""
    told = bound()
    for record in told.receipts.values():
        record["response"] = {"rows": value(size // 3)}
    told.decisions["d-1"]["note"] = value(size // 3)
    return told


def asked(value: Callable[[int], Any], size: int) -> Story:
    """Return a run whose params are so large: they stand in two decisions and a receipt."""
    told = bound()
    rewrite(told, fields={"rows": value(size // 3)})
    proposed = next(data for event, data in told.events if event == "effect.proposed")
    proposed["digest"] = told.receipts["r-3"]["fingerprint"]
    return told


def seal(shape: str, where: str, size: int, folder: Path) -> None:
    """Write the bundle."""
    told = {"answers": answered, "params": asked}[where](SHAPES[shape], min(size, 3 * (MAX_MEMBER_SIZE - MIB)))
    Office.in_folder(folder).seal(told.dossier())


def measured(checkout: Path, folder: Path) -> str:
    """Return what verification by a checkout takes."""
    args = [sys.executable, "-c", VERIFY, str(folder / "bundle.zip"), str(folder / "keys/signing.pub.pem")]
    done = subprocess.run(args, cwd=checkout, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else done.stderr.strip().rpartition("\n")[2][:120]


def lines(mib: int, shapes: list[str], beside: Path | None) -> Iterator[str]:
    """Give a line for each shape and place."""
    for shape in shapes:
        for where in ("answers", "params"):
            with tempfile.TemporaryDirectory() as folder:
                args = [sys.executable, "-m", "benchmarks.bundles", "--seal", shape, where, folder, "--mib", str(mib)]
                subprocess.run(args, cwd=ROOT, check=True)
                size = (Path(folder) / "bundle.zip").stat().st_size / MIB
                found = [measured(checkout, Path(folder)) for checkout in (ROOT, beside) if checkout]
                yield f"{shape + ' in ' + where:34} {size:4.0f} MiB   {'   beside: '.join(found)}"


def main() -> None:
    """Print the lines, or seal one bundle: in a process of its own, since that takes more memory."""
    parser = argparse.ArgumentParser(prog="benchmarks.bundles", description=__doc__)
    parser.add_argument("--mib", type=int, default=84)
    parser.add_argument("--shape", action="append", choices=list(SHAPES))
    parser.add_argument("--beside", type=Path)
    parser.add_argument("--seal", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.seal:
        shape, where, folder = options.seal
        seal(shape, where, options.mib * MIB, Path(folder))
        return
    for line in lines(options.mib, options.shape or list(SHAPES), options.beside):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
