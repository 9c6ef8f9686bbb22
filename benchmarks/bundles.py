"""What verifying a bundle full of JSON takes: `python -m benchmarks.bundles`, for each shape CPU seconds and memory.

`--beside FOLDER` has another checkout verify the same files in the same run.
"""

import argparse
import gc
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from evidence.zipform import MAX_MEMBER_SIZE
from receipts import canonical
from receipts.chain import MAX_CARD
from tests.opa_server import opa_program
from tests.unit.evidence_bends import rewrite
from tests.unit.evidence_many import many
from tests.unit.evidence_sample import Office, Story, story

ROOT = Path(__file__).resolve().parents[1]
MIB = 2**20
LARGEST = MAX_MEMBER_SIZE - MIB
"""Bytes of one member."""
LONGEST = 300
"""Seconds after which a measurement is given up."""
MEASURED = """
import resource, sys
from pathlib import Path
from evidence.report import report_on
from evidence.replay import Opa, replayed_by
from evidence.verify.trust import trust_of
from evidence.verify.verify import verify
command, bundle, key, opa = sys.argv[1], *map(Path, sys.argv[2:])
before = resource.getrusage(resource.RUSAGE_SELF)
if command == "report":
    report_on(bundle, trust_of(key))
else:
    verify(bundle, key, *([replayed_by(Opa(opa))] if command == "replay" else []))
after = resource.getrusage(resource.RUSAGE_SELF)
spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
print(f"{spent:.1f} s {after.ru_maxrss * 1024 / 1e6:,.0f} MB")
"""
"""The CPU time of a command without OPA's, and the most memory of the whole process."""


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
    "fractions of millionths": _repeated(1.5e-6),
    "rows with secrets": _repeated({**_ROW, "token": "s3cret" * 8}),
    "rows, one with a secret": lambda wanted: [*_repeated(_ROW)(wanted), {**_ROW, "token": "s3cret" * 8}],
    "short texts": _repeated(""),
    "texts of all planes": _repeated("Ærøskøbing 😀"),
    "one text of escapes": lambda wanted: '\n"\\\x01' * (wanted // 12),
    "one text": lambda wanted: "Ærøskøbing 😀 " * (wanted // 18),
    "many names": lambda wanted: {f"name {number:08d}": number % 10 for number in range(wanted // 18)},
}


def answered(value: Callable[[int], Any], size: int) -> Story:
    """Return a run whose receipts and a decision, in equal parts, hold a value of this size."""
    told = story()
    for record in told.receipts.values():
        record["response"] = {"rows": value(size // 3)}
    told.decisions["d-1"]["note"] = value(size // 3)
    return told


def asked(value: Callable[[int], Any], size: int) -> Story:
    """Return a run whose params are so large: they stand in two decisions and a receipt."""
    told = story()
    rewrite(told, fields={"rows": value(size // 3)})
    return told


def listed(value: Callable[[int], Any], size: int) -> Story:
    """Return a run whose receipts name so many redacted places, and whose cards, as large as may be, are so many."""
    told = story()
    for record in told.receipts.values():
        record["redacted"] += [f"/response/rows/{number:08d}" for number in range(size // 3 // 26)]
    [card] = told.approvals["a-1"]["cards"]
    card["card"]["blocks"] = value(MAX_CARD * 9 // 10)
    cards = [{**card, "ts": f"1.{number}"} for number in range(size // 3 // MAX_CARD)]
    told.approvals["a-1"]["cards"] = cards
    place, (name, data) = next((at, event) for at, event in enumerate(told.events) if event[0] == "card.shown")
    told.events[place : place + 1] = [(name, {**data, "number": number}) for number in range(len(cards))]
    return told


def chained(value: Callable[[int], Any], size: int) -> Story:
    """Return a run of so many leaves as fit into a member, with a value of a few hundred bytes each."""
    told = story()
    noted = {"step": None, "noted": value(_NOTED)}
    told.events[-2:-2] = [("countersign.noted", {**noted, "minute": 9}) for _ in range(min(size, LARGEST) // _LEAF)]
    return told


def repeated(value: Callable[[int], Any], size: int) -> Story:
    """Return a run of so many approved writes as there are leaves for in a member, each with its own small records."""
    return many(min(size // _WRITE, LARGEST // _LEAVES), value(_NOTED))


_NOTED, _LEAF = 300, 850
_WRITE, _LEAVES = 13_000, 6_600
"""Bytes of all that a write adds, and of the leaves among it."""
PLACES = {"answers": answered, "params": asked, "lists": listed, "leaves": chained, "records": repeated}


def replayable(told: Story) -> Story:
    """Let a policy have decided that gives the answers of the records."""
    answers = {str(place): record["answer"] for place, record in enumerate(told.decisions.values())}
    files = {
        "effect/decision.rego": f"package countersign.effect\n\ndecisions := {canonical.dumps(answers).decode()}\n",
        "effect/config.rego": "package countersign.effect.config\n\nflaws := []\n",
    }
    told.policies = {canonical.digest(files): files}
    for record in told.decisions.values():
        record["policy_digest"] = canonical.digest(files)
    return told


def seal(shape: str, where: str, size: int, folder: Path) -> None:
    """Write the bundle. Looking for cycles in millions of lists would take longer than all else."""
    gc.disable()
    told = PLACES[where](SHAPES[shape], min(size, 3 * LARGEST))
    Office.in_folder(folder).seal(replayable(told).dossier())


def measured(checkout: Path, command: str, folder: Path) -> str:
    """Return what a command by a checkout takes."""
    files = map(str, (folder / "bundle.zip", folder / "keys/signing.pub.pem", opa_program()))
    args = [sys.executable, "-c", MEASURED, command, *files]
    try:
        done = subprocess.run(args, cwd=checkout, capture_output=True, text=True, timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired:
        return f"over {LONGEST} s"
    return done.stdout.strip() if done.returncode == 0 else done.stderr.strip().rpartition("\n")[2][:120]


def lines(command: str, mib: int, shapes: list[str], places: list[str], beside: Path | None) -> Iterator[str]:
    """Give a line for each shape and place."""
    for shape in shapes:
        for where in places:
            with tempfile.TemporaryDirectory() as folder:
                args = [sys.executable, "-m", "benchmarks.bundles", "--seal", shape, where, folder, "--mib", str(mib)]
                subprocess.run(args, cwd=ROOT, check=True)
                size = (Path(folder) / "bundle.zip").stat().st_size / MIB
                found = [measured(checkout, command, Path(folder)) for checkout in (ROOT, beside) if checkout]
                yield f"{shape + ' in ' + where:38} {size:4.0f} MiB   {'   beside: '.join(found)}"


def main() -> None:
    """Print the lines, or seal one bundle: in a process of its own, since that takes more memory."""
    parser = argparse.ArgumentParser(prog="benchmarks.bundles", description=__doc__)
    parser.add_argument("--mib", type=int, default=84)
    parser.add_argument("--shape", action="append", choices=list(SHAPES))
    parser.add_argument("--place", action="append", choices=list(PLACES))
    parser.add_argument("--command", default="verify", choices=["verify", "replay", "report"])
    parser.add_argument("--beside", type=Path)
    parser.add_argument("--seal", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.seal:
        shape, where, folder = options.seal
        seal(shape, where, options.mib * MIB, Path(folder))
        return
    shapes, places = options.shape or list(SHAPES), options.place or list(PLACES)
    for line in lines(options.command, options.mib, shapes, places, options.beside):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
