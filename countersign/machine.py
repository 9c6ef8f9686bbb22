"""The cores and the memory that this process may use: those of its cgroup (version 2 or 1), or the machine's."""

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

MEMBERSHIP = Path("/proc/self/cgroup")
"""Where Linux says in which cgroups this process is."""
_UNLIMITED = 2**60
"""Bytes from which a limit of version 1 is none."""


@dataclass(frozen=True)
class Machine:
    """Cores, and bytes of memory; None where memory has no limit."""

    cores: int
    memory: int | None


def this_machine(cgroup: Path) -> Machine:
    """Return what this process may use; `cgroup` is where its cgroups are mounted."""
    membership = MEMBERSHIP.read_text(encoding="utf-8") if MEMBERSHIP.exists() else ""
    return within(cgroup, membership, _cores())


def within(cgroup: Path, membership: str, cores: int) -> Machine:
    """Return the tightest limits of the cgroups that `membership` names and of those above them.

    A limit of CPU says how many cores there are; without one there are `cores`.
    """
    shares, sizes = _limits_2(cgroup, membership), _limits_1(cgroup, membership)
    found = [*shares, *sizes]
    quotas = [quota for quota, _ in found if quota is not None]
    memories = [memory for _, memory in found if memory is not None]
    return Machine(max(math.ceil(min(quotas)), 1) if quotas else cores, min(memories, default=None))


_Limits = tuple[float | None, int | None]


def _limits_2(cgroup: Path, membership: str) -> Iterator[_Limits]:
    """Yield the limits of version 2, whose one hierarchy is named by the line that begins with `0::`."""
    for folder in _folders(cgroup, _path_of(membership, "")):
        quota, _, period = _read(folder / "cpu.max").partition(" ")
        yield _share(quota, period), _whole(_read(folder / "memory.max"))


def _limits_1(cgroup: Path, membership: str) -> Iterator[_Limits]:
    """Yield the limits of version 1, which has a hierarchy for CPU and one for memory."""
    for folder in _folders(cgroup / "cpu", _path_of(membership, "cpu")):
        yield _share(_read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")), None
    for folder in _folders(cgroup / "memory", _path_of(membership, "memory")):
        size = _whole(_read(folder / "memory.limit_in_bytes"))
        yield None, size if size is not None and size < _UNLIMITED else None


def _path_of(membership: str, controller: str) -> str:
    for line in membership.splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return path
    return "/"


def _folders(root: Path, path: str) -> Iterator[Path]:
    """Yield the folder of a cgroup and those above it. In a container the path may be the host's: the root remains."""
    below = PurePosixPath(path.lstrip("/"))
    yield from (root / one for one in (below, *below.parents))


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _share(quota: str, period: str) -> float | None:
    microseconds, of = _whole(quota), _whole(period)
    return microseconds / of if microseconds and of else None


def _whole(text: str) -> int | None:
    """Return a number; `max`, -1 and what is not there limit nothing."""
    return int(text) if text.isdecimal() else None


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
