"""Several processes of one machine that do the same: a parent starts them, keeps them running and ends them.

Their number follows from the cores and the memory that this process may use: those of its cgroup (version 2 or 1), or
the machine's.
"""

import asyncio
import logging
import math
import os
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from countersign.embedded.children import TRIES, Child, Supervisor, python_child
from countersign.embedded.ports import free_port
from countersign.parts import THREADS_LIMIT, Role, ServeError
from countersign.settings import DEFAULT_CONNECTIONS, Settings, variable

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


MANY = frozenset({Role.WORKER, Role.SWEEPS})
"""What any number of processes may do side by side without anybody in front of them."""
LOOPBACK = "127.0.0.1"
_GRACE = 5.0
"""Seconds beyond its own limit in which a process must have ended."""

PARENT_BYTES, PROCESS_BYTES = 64 * 1024**2, 224 * 1024**2
"""Room that the parent and each process have; idle they take 55 and 150 MiB."""
CONNECTIONS = 40
"""PostgreSQL's connections for all processes: two machines with workers and one front fit into its default of 100."""
_FEWEST, _LISTENING = 3, 1
"""Connections without which a process does not get on with its work, and with which it hears of new work."""

log = logging.getLogger(__name__)


def count_for(roles: Collection[Role], wanted: int | None, machine: Machine) -> int:
    """Return in how many processes the roles are to run; raise ServeError.

    If not told, there are as many as there are cores, as far as memory and PostgreSQL's connections allow.
    """
    if MANY.issuperset(roles):
        return wanted or min(machine.cores, _fitting(machine.memory), CONNECTIONS // (_FEWEST + _LISTENING))
    if wanted in (None, 1):
        return 1
    *first, last = sorted(set(roles) - MANY)
    need = f"the roles {', '.join(first)} and {last} need" if first else f"the role {last} needs"
    raise ServeError(f"{need} a single process: run worker and sweeps separately")


def _fitting(memory: int | None) -> int:
    """Return how many processes have room beside their parent, one at least."""
    return sys.maxsize if memory is None else max((memory - PARENT_BYTES) // PROCESS_BYTES, 1)


def pool_size(count: int) -> int:
    """Return how many connections the pool of each of so many processes has, if not told."""
    return min(max(CONNECTIONS // count - _LISTENING, _FEWEST), DEFAULT_CONNECTIONS)


async def serve_in(settings: Settings, roles: Collection[Role], count: int) -> None:
    """Run the roles in so many processes until SIGTERM or SIGINT, which all of them get; they drain side by side.

    The first listens where the settings say, the others where nobody but us looks for them. What ends is started again;
    if it cannot be started any more, all end, and ChildError is raised.
    """
    supervisor = Supervisor()
    size = settings.database_connections
    if "database_connections" not in settings.model_fields_set:
        size = pool_size(count)
    log.info("serving in %d processes, each with %d connections to PostgreSQL", count, size)
    children = [_child(settings, roles, number, size) for number in range(1, count + 1)]
    await supervisor.until_told(_run(supervisor, children))


def _child(settings: Settings, roles: Collection[Role], number: int, connections: int) -> Child:
    is_first = number == 1
    host = settings.host if is_first else LOOPBACK
    port = (settings.port if is_first else 0) or free_port()
    arguments = ["-m", "countersign", "serve", *(f"--role={role}" for role in sorted(roles)), "--processes=1"]
    own = {"host": host, "port": port, "database_connections": connections}
    env = {variable(name): str(value) for name, value in own.items()}
    url = f"http://{_reached(host)}:{port}/healthz"
    patience = settings.stop_seconds + THREADS_LIMIT + _GRACE
    tries = 1 if is_first else TRIES
    return python_child(f"process {number}", arguments, env, None, url, tries=tries, patience=patience)


def _reached(host: str) -> str:
    """Return the address at which we reach what listens there."""
    reached = {"0.0.0.0": LOOPBACK, "::": "::1"}.get(host, host)  # noqa: S104 - where others listen
    return f"[{reached}]" if ":" in reached else reached


async def _run(supervisor: Supervisor, children: Sequence[Child]) -> None:
    """Run them all; each has come to its end when this has."""
    ended = await asyncio.gather(*(_keep(supervisor, child, children[0]) for child in children), return_exceptions=True)
    for error in ended:
        if isinstance(error, BaseException):
            raise error


async def _keep(supervisor: Supervisor, child: Child, first: Child) -> None:
    """Keep one running. The first goes ahead: a start that is refused is refused once."""
    if child is not first:
        await supervisor.guard(first.answered.wait())
    async with supervisor.running(child):
        await supervisor.guard(child.answered.wait())
        child.tries = TRIES
        await supervisor.guard(asyncio.Event().wait())
