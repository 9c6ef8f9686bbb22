"""Long work at set-up: progress is shown, nothing is left running, one process at a time."""

import fcntl
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from countersign.embedded.work import one_at_a_time, run_watched

ROOT = Path(__file__).resolve().parents[2]

# Writes a line, then waits until somebody makes the file that it is told of.
WAITS = "import pathlib, sys\nprint('one', flush=True)\nwhile not pathlib.Path(sys.argv[1]).exists(): pass"


def _silent(_line: str) -> None:
    """Report to nobody."""


def _python(*arguments: str | Path) -> list[str | Path]:
    return [sys.executable, "-c", *arguments]


def test_progress_is_reported_while_the_command_runs(tmp_path: Path) -> None:
    go = tmp_path / "go"
    reports: list[str] = []

    def report(line: str) -> None:
        reports.append(line)
        if "1 lines" in line:
            go.touch()

    progress = lambda output: f"{len(output.splitlines())} lines"  # noqa: E731 - one line says it
    finished = run_watched(_python(WAITS, go), progress=progress, report=report, every=0.02)
    assert finished.code == 0
    assert reports[-1].startswith("  1 lines, ")


def test_failure_comes_back_with_the_last_words() -> None:
    program = "import sys; [print(n) for n in range(50)]; sys.exit(3)"
    finished = run_watched(_python(program), progress=str, report=_silent)
    assert finished.code == 3
    assert finished.last_words(2) == "48\n49"


def test_interrupted_command_is_not_left_running(tmp_path: Path) -> None:
    program = f"import os, pathlib; pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(os.getpid()))\n{WAITS}"

    def interrupt(_line: str) -> None:
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_watched(_python(program, tmp_path / "never"), progress=str, report=interrupt, every=0.02)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_second_set_up_waits_for_the_first_and_says_so(tmp_path: Path) -> None:
    said = threading.Event()
    order: list[str] = []

    def second() -> None:
        with one_at_a_time(tmp_path, lambda _line: said.set()):
            order.append("second")

    thread = threading.Thread(target=second)
    with one_at_a_time(tmp_path, order.append):
        thread.start()
        assert said.wait(10)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]


def test_command_of_a_killed_set_up_keeps_the_lock_until_it_ends(tmp_path: Path) -> None:
    program = (
        "import os, pathlib, signal, sys\n"
        "from countersign.embedded.work import one_at_a_time, run_watched\n"
        "def die(line): os.kill(os.getpid(), signal.SIGKILL)\n"
        "with one_at_a_time(pathlib.Path(sys.argv[1]), print):\n"
        "    run_watched([sys.executable, '-c', *sys.argv[2:]], progress=str, report=die, every=0.02)\n"
    )
    go = tmp_path / "go"
    killed = subprocess.run(_python(program, tmp_path, WAITS, go), cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    handle = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        go.touch()
        fcntl.flock(handle, fcntl.LOCK_EX)
    finally:
        go.touch()
        os.close(handle)


def test_lock_falls_when_set_up_fails(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="broken"), one_at_a_time(tmp_path, _silent):
        raise ValueError("broken")
    handle = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(handle)


def test_a_set_up_that_waits_long_says_so_again(tmp_path: Path) -> None:
    said = threading.Event()

    def second() -> None:
        with one_at_a_time(tmp_path, lambda line: said.set() if "still waiting" in line else None, every=0.1):
            pass

    thread = threading.Thread(target=second)
    with one_at_a_time(tmp_path, _silent):
        thread.start()
        assert said.wait(10)
    thread.join(10)
