"""The machine: how much CPU processes have used, what memory they hold, and what it is."""

import os
import platform
from collections.abc import Iterable
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")
_UTIME, _PPID = 11, 1  # places in /proc/PID/stat, counted after the name


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


def cpu_seconds(pids: Iterable[int]) -> float:
    """Return the CPU seconds of processes, user and system, with those of their children that have ended."""
    return sum(sum(map(int, _stat(pid)[_UTIME : _UTIME + 4])) for pid in pids) / _TICK


def family(pid: int) -> list[int]:
    """Return a process and its children: PostgreSQL is one process for each connection."""
    return [pid, *(other for other in _pids() if _parent(other) == pid)]


def resident(pid: int) -> int:
    """Return the bytes of memory that a process holds."""
    pages = int((_PROC / str(pid) / "statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def described() -> str:
    """Return what machine this is, in one line."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    kernel, python = platform.release(), platform.python_version()
    return f"{cores()} cores ({_model()}), {memory:.0f} GB of memory, Linux {kernel}, Python {python}"


def _model() -> str:
    lines = (_PROC / "cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _stat(pid: int) -> list[str]:
    try:
        return (_PROC / str(pid) / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []  # it has ended meanwhile, and counts with its parent


def _parent(pid: int) -> int | None:
    stat = _stat(pid)
    return int(stat[_PPID]) if stat else None


def _pids() -> list[int]:
    return [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]
