"""The roles of a process, and its parts: run together until told to stop, and ended together, within a bound."""

import asyncio
import logging
import os
import socket
import sys
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from countersign.foreseen_errors import CountersignError

THREADS_LIMIT = 3.0
"""Seconds that threads and connections have to end when all parts have."""

log = logging.getLogger(__name__)


class ServeError(CountersignError):
    """The process cannot serve, or a part of it ended by itself; the message says which."""


@dataclass(frozen=True)
class Part:
    """Something that runs until `end` is called, and then comes to its end; without `end` it is canceled.

    What has to be connected says so by `is_connected`.
    """

    name: str
    work: Callable[[], Coroutine[Any, Any, object]]
    end: Callable[[], object] | None = None
    is_connected: Callable[[], bool] | None = None


@dataclass(frozen=True)
class Patience:
    """Seconds: what is under way may take `stop` to come to its end; nothing may be cut off for `cut_off` on end."""

    stop: float = 15.0
    cut_off: float = 60.0


def listen(host: str, port: int, remedy: str) -> socket.socket:
    """Return a socket that listens there, or raise ServeError, which ends with what to do."""
    try:
        listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise ServeError(f"cannot listen on {host} port {port}: {why}; {remedy}") from error
    # Connections inherit it. Without it an answer in two pieces waits 40 ms, for asyncio does not know this for TCP.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


async def run_parts(parts: list[Part], stop: asyncio.Event, patience: Patience) -> None:
    """Run the parts until `stop` is set, one ends or one is cut off for too long; then bring all to their end.

    What does not end within the limit is left as a power cut would leave it: leases run out, others take over.
    """
    tasks = {part.name: asyncio.create_task(part.work()) for part in parts}
    watches = {part.name: asyncio.create_task(_watch(part, patience.cut_off)) for part in parts if part.is_connected}
    stopping = asyncio.create_task(stop.wait())
    log.info("serving: %s", ", ".join(tasks))
    await asyncio.wait([stopping, *tasks.values(), *watches.values()], return_when=asyncio.FIRST_COMPLETED)
    failed = [name for name, task in tasks.items() if task.done()]
    cut_off = [name for name, task in watches.items() if task.done()]
    for task in (stopping, *watches.values()):
        task.cancel()
    log.info("stopping: waiting for running work to end")
    for part in parts:
        (part.end or tasks[part.name].cancel)()
    hanging = await _end(tasks, patience.stop)
    for name in hanging:
        log.error("%s does not end and is abandoned: its leases will expire", name)
    failed += [name for name, task in tasks.items() if name not in [*failed, *hanging] and _error(task) is not None]
    for name in failed:
        log.error("%s ended by itself", name, exc_info=_error(tasks[name]))
    _complain(failed, cut_off, hanging, patience)


async def _watch(part: Part, limit: float) -> None:
    """Return when the part has been cut off for so long."""
    loop = asyncio.get_running_loop()
    seen = loop.time()
    while loop.time() - seen < limit:
        await asyncio.sleep(min(1.0, limit / 10))
        if part.is_connected is None or part.is_connected():
            seen = loop.time()


async def _end(tasks: dict[str, asyncio.Task[object]], limit: float) -> list[str]:
    """Wait for the parts' end; return the names of those that hang, and leave them."""
    await asyncio.wait(tasks.values(), timeout=limit)
    hanging = [name for name, task in tasks.items() if not task.done()]
    for name in hanging:
        tasks[name].cancel()
    if hanging:
        await asyncio.wait([tasks[name] for name in hanging], timeout=1.0)
    return hanging


def _error(task: asyncio.Task[object]) -> BaseException | None:
    return task.exception() if task.done() and not task.cancelled() else None


def _complain(failed: list[str], cut_off: list[str], hanging: list[str], patience: Patience) -> None:
    said = [
        (failed, "ended by itself; the log says why"),
        (cut_off, f"could not connect for {patience.cut_off:g} s"),
        (hanging, f"did not end within {patience.stop:g} s and was abandoned: its leases will expire"),
    ]
    if words := [f"{' and '.join(names)} {what}" for names, what in said if names]:
        raise ServeError("; ".join(words))


def end_soon(error: ServeError | None) -> None:
    """End the process in a moment, come what may: a thread that hangs in a call to the outside cannot be canceled."""

    def leave() -> None:
        hanging = [thread.name for thread in threading.enumerate() if not thread.daemon]
        log.warning("abandoned, since it does not end: %s", ", ".join(hanging))
        logging.shutdown()
        if error is not None:
            sys.stderr.write(f"countersign: {error}\n")
            sys.stderr.flush()
        os._exit(0 if error is None else 1)

    last = threading.Timer(THREADS_LIMIT, leave)
    last.daemon = True
    last.start()


class Role(StrEnum):
    """A part of the work that a process may take on."""

    EDGE = "edge"
    BOT = "bot"
    WORKER = "worker"
    SWEEPS = "sweeps"
    CONSOLE = "console"
