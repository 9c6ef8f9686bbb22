"""Long work at set-up: one process at a time, progress shown. Standard library only, so that it runs before set-up."""

import fcntl
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

Report = Callable[[str], None]

REPORT_EVERY = 5.0
LOOK_EVERY = 0.2
"""Seconds between two looks at a lock that another set-up holds."""


class SetUpError(Exception):
    """Something that set-up needs is missing. The message is one sentence that names the remedy."""


def to_stderr(line: str) -> None:
    """Report a line of progress to the person at the terminal."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


@dataclass(frozen=True)
class Finished:
    """How a command ended, with all that it wrote."""

    code: int
    output: str

    def last_words(self, count: int = 20) -> str:
        """Return the last lines of the output, for the person who has to mend it."""
        return "\n".join(self.output.strip().splitlines()[-count:])


def run_watched(
    command: Sequence[str | Path],
    *,
    progress: Callable[[str], str],
    report: Report,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    every: float = REPORT_EVERY,
) -> Finished:
    """Run a command without its output; every few seconds report what `progress` makes of the output so far."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with log.open("wb") as sink:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                env=env,
                cwd=cwd,
                close_fds=False,  # the command keeps the lock of `one_at_a_time` for as long as it runs
            )
        try:
            while not _ended_within(process, every):
                report(f"  {progress(_text(log))}, {time.monotonic() - started:.0f} s")
        finally:
            if process.poll() is None:  # we were interrupted: leave nothing running
                process.kill()
                process.wait()
        return Finished(process.returncode, _text(log))


@contextmanager
def one_at_a_time(folder: Path, report: Report, every: float = REPORT_EVERY) -> Iterator[None]:
    """Hold the folder's lock; report that another set-up has it, again after `every` so many seconds.

    Commands inherit it: what a killed set-up left running is waited for, then it falls.
    """
    handle = os.open(folder, os.O_RDONLY)
    os.set_inheritable(handle, True)  # noqa: FBT003 - the library's signature
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report(f"Another set-up is at work in {folder}; waiting for it")
            _wait_for(handle, report, every)
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)


def _wait_for(handle: int, report: Report, every: float) -> None:
    """Wait for the lock, and report it again and again, so that nobody takes the wait for a standstill."""
    began = reported = time.monotonic()
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(LOOK_EVERY)
        else:
            return
        if time.monotonic() - reported >= every:
            reported = time.monotonic()
            report(f"  still waiting for the other set-up, {reported - began:.0f} s")


def _ended_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait for the process at most so long; return whether it has ended."""
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _text(log: Path) -> str:
    """Return what the command has written; half a character at the end is no error."""
    return log.read_text(encoding="utf-8", errors="replace")
