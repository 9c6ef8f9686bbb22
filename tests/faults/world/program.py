"""Our program as the harness runs it: the real command line, with a hook in its failpoints and a machine of its own.

Nothing of the rules is changed here, but where a test of the checker plants a bug (`bugs`).
"""

import contextlib
import json
import os
import signal
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import runtime.clock
from runtime import failpoints
from tests.faults.world import bugs
from tests.faults.world.history import History, true_time

_machine: list["Machine"] = []


@dataclass(frozen=True)
class Order:
    """What one process is to be: its arguments and environment, and how it is treated.

    `arms` is the file that says at which hit of which failpoint it is killed, and at which it stands still: it may
    change while the process runs. `clock` is the file with the seconds by which its machine's wall clock is wrong.
    """

    name: str
    argv: list[str]
    env: dict[str, str]
    log: str
    clock: str
    history: str
    arms: str
    bug: str = ""

    def line(self) -> str:
        """Return the order as a line of JSON."""
        return json.dumps(asdict(self))


class Machine:
    """The wall clock of the machine that a process believes to be on."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def offset(self) -> float:
        """Return the seconds by which it is wrong now: a step, and a drift since a moment."""
        try:
            told = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return 0.0
        return float(told["step"] + told["drift"] * (true_time() - told["since"]))


def skew_clocks() -> None:
    """Put a machine's clock behind the one place that reads it; before anything else imports that."""
    real_now, real_time = runtime.clock.utc_now, time.time

    def offset() -> float:
        return _machine[0].offset() if _machine else 0.0

    runtime.clock.utc_now = lambda: real_now() + timedelta(seconds=offset())
    time.time = lambda: real_time() + offset()


def hurry() -> None:
    """Have a bundle whose worker was lost taken up soon, and not after minutes: only the wait is another."""
    import evidence.sealer  # noqa: PLC0415 - after the clocks

    evidence.sealer.LEASE = timedelta(seconds=10)


class Executioner:
    """Ends the process, or has it stand still, at the nth hit of a point; and writes that down first."""

    def __init__(self, order: Order) -> None:
        self._name, self._file = order.name, order.arms
        self._history = History(Path(order.history))
        self._read = -1
        self._points: dict[str, int] = {}
        self._stops: dict[str, int] = {}
        self._hits: Counter[str] = Counter()

    def __call__(self, point: failpoints.Point) -> None:
        """Be told of a hit."""
        self._look()
        self._hits[point] += 1
        if self._hits[point] == self._points.get(point):
            self._history.add("killed", point=point, name=self._name)
            os.kill(os.getpid(), signal.SIGKILL)
        if self._hits[point] == self._stops.get(point):
            self._history.add("stopped", point=point, name=self._name)
            os.kill(os.getpid(), signal.SIGSTOP)

    def _look(self) -> None:
        """Take over what the file says, if it is another than before; hits are counted from then on."""
        with contextlib.suppress(FileNotFoundError):
            written = Path(self._file).stat().st_mtime_ns
            if written != self._read:
                told = json.loads(Path(self._file).read_text(encoding="utf-8"))
                self._read, self._points, self._stops = written, told["points"], told["stops"]
                self._hits.clear()


def become(order: Order) -> None:
    """Run the command line in this process, which was made for it; does not return."""
    log = os.open(order.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for number in (1, 2):
        os.dup2(log, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ.clear()
    os.environ.update(order.env)
    _machine.append(Machine(Path(order.clock)))
    failpoints.arm(Executioner(order))
    if order.bug:
        bugs.plant(bugs.Bug(order.bug))
    sys.argv = ["countersign", *order.argv]
    from countersign.cli.app import main  # noqa: PLC0415 - after the clocks

    hurry()
    main()


def order_of(told: dict[str, Any]) -> Order:
    """Return the order that a line of JSON holds."""
    return Order(**told)
