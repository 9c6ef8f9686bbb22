"""Several processes of one machine that do the same: a parent starts them, keeps them running and ends them."""

import asyncio
import logging
import os
from collections.abc import Collection, Sequence

from countersign.compose.system import Role
from countersign.config.settings import Settings
from countersign.embedded.children import TRIES, Child, Supervisor, python_child
from countersign.embedded.ports import free_port
from countersign.parts import THREADS_LIMIT, ServeError

MANY = frozenset({Role.WORKER, Role.SWEEPS})
"""What any number of processes may do side by side without anybody in front of them."""
LOOPBACK = "127.0.0.1"
_GRACE = 5.0
"""Seconds beyond its own limit in which a process must have ended."""

log = logging.getLogger(__name__)


def count_for(roles: Collection[Role], wanted: int | None) -> int:
    """Return in how many processes the roles are to run: as many as there are cores, if not told; raise ServeError."""
    if MANY.issuperset(roles):
        return wanted or _cores()
    if wanted in (None, 1):
        return 1
    others = " and ".join(sorted(set(roles) - MANY))
    raise ServeError(f"what has the role {others} is one process: run worker and sweeps apart from it")


def _cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


async def serve_in(settings: Settings, roles: Collection[Role], count: int) -> None:
    """Run the roles in so many processes until SIGTERM or SIGINT, which all of them get; they drain side by side.

    The first listens where the settings say, the others where nobody but us looks for them. What ends is started again;
    if it cannot be started any more, all end, and ChildError is raised.
    """
    supervisor = Supervisor()
    log.info("serving in %d processes", count)
    await supervisor.until_told(_run(supervisor, [_child(settings, roles, number) for number in range(1, count + 1)]))


def _child(settings: Settings, roles: Collection[Role], number: int) -> Child:
    is_first = number == 1
    host = settings.host if is_first else LOOPBACK
    port = (settings.port if is_first else 0) or free_port()
    arguments = ["-m", "countersign", "serve", *(f"--role={role}" for role in sorted(roles)), "--processes=1"]
    env = {"COUNTERSIGN_HOST": host, "COUNTERSIGN_PORT": str(port)}
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
