"""Programs that start in milliseconds: each is forked from a process that has imported the program and done no more.

What a started program has is its own: environment, streams, signals, exit status. Only the imports were made before; so
nothing may differ that an import could have read, which is why `start` refuses other variables than the program's.
"""

import asyncio
import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
from asyncio.subprocess import Process
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import BinaryIO, cast

from countersign.embedded.children import Child
from countersign.settings import ROOT

PROGRAM = "countersign"
PACKAGES = (PROGRAM, "bot", "console", "edge", "evidence", "runtime", "policy", "receipts", "witness")
OWN = ("COUNTERSIGN_", "PYTEST_")
"""How the variables begin that may differ from one program to the next."""
ROOM = 1 << 18
"""Bytes that one request may have."""


@dataclass
class Running:
    """A program that was started, used as a process of asyncio is. Its parent is the server, which tells its status."""

    pid: int
    ending: asyncio.Task[int]

    @property
    def returncode(self) -> int | None:
        """Return the exit status, or None while it runs; minus the number of a signal that ended it."""
        return self.ending.result() if self.ending.done() else None

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if not self.ending.done():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        """Wait until it has ended; return the exit status."""
        return await asyncio.shield(self.ending)


@dataclass
class Forked(Running):
    """A program that is listened to."""

    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader

    async def communicate(self) -> tuple[bytes, bytes]:
        """Return all that it still writes, after it has ended."""
        out, err, _ = await asyncio.gather(self.stdout.read(), self.stderr.read(), self.wait())
        return out, err


class Server:
    """The process that programs are forked from; it ends with us, however we end."""

    def __init__(self) -> None:
        self._env = shared(os.environ)
        self._control, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with its:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(its.fileno())],
                env=self._env,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[its.fileno()],
            )

    async def start(self, arguments: Sequence[str], env: Mapping[str, str]) -> Forked:
        """Start `countersign` with this environment, which is all of it, and listen to it."""
        with _pipe() as (out, its_out), _pipe() as (err, its_err):
            running = await self.fork(arguments, env, its_out, its_err)
        return Forked(running.pid, running.ending, await _reader(out), await _reader(err))

    async def fork(self, arguments: Sequence[str], env: Mapping[str, str], out: int, err: int) -> Running:
        """Start `countersign` with this environment, which is all of it, and with these streams."""
        assert shared(env) == self._env, "a variable that imports may have read needs a program that imports anew"
        request = json.dumps([arguments, dict(env)]).encode()
        nothing = os.open(os.devnull, os.O_RDONLY)
        with _pipe() as (told, its_told):
            socket.send_fds(self._control, [request], [nothing, out, err, its_told])
        os.close(nothing)
        reader = await _reader(told)
        return Running(int(await reader.readline()), asyncio.create_task(_status(reader)))

    def stop(self) -> None:
        """End the server."""
        self._control.close()
        self._process.wait()


_servers: list[Server] = []


def server() -> Server:
    """Return the server of this session."""
    if not _servers:
        _servers.append(Server())
    return _servers[0]


class ForkedChild(Child):
    """A child of embedded mode that is forked: for tests that start and kill it, and are not about its start."""

    @classmethod
    def of(cls, child: Child) -> "ForkedChild":
        """Return a `countersign` child, which nobody has started yet, as one that is forked."""
        return cls(child.name, child._command, child._env, child.log_file, child.probe)

    async def _launch(self, out: BinaryIO | None) -> Process:
        assert out is not None
        python, module, program, *arguments = map(str, self._command)
        assert (python, module, program) == (sys.executable, "-m", PROGRAM)
        running = await server().fork(arguments, self._env, out.fileno(), out.fileno())
        return cast("Process", running)  # as far as a supervisor knows it


def stop_server() -> None:
    """End the server of this session, if there is one."""
    while _servers:
        _servers.pop().stop()


def shared(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that must not differ between programs."""
    return {name: value for name, value in env.items() if not name.startswith(OWN)}


@contextmanager
def _pipe() -> Iterator[tuple[int, int]]:
    """Give both ends of a pipe; the second, which is for a program that is forked meanwhile, is closed here."""
    mine, its = os.pipe()
    try:
        yield mine, its
    finally:
        os.close(its)


async def _reader(descriptor: int) -> asyncio.StreamReader:
    """Return a stream of what is written to a pipe; it closes the pipe at its end."""
    reader = asyncio.StreamReader()
    pipe = os.fdopen(descriptor, "rb", 0)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader


async def _status(told: asyncio.StreamReader) -> int:
    return int(await told.read())


def modules() -> Iterator[str]:
    """Yield the names of all modules that the program can import of its own; those that run when imported are none."""
    for package in PACKAGES:
        found = importlib.import_module(package)
        for module in pkgutil.walk_packages(found.__path__, f"{package}."):
            if not module.name.endswith((".__main__", ".schema.env")) and ".versions." not in module.name:
                yield module.name


def serve(control: socket.socket) -> None:
    """Fork a program for each request; return in each program, and end where nobody is left to ask."""
    running: dict[int, int] = {}

    def reap(_number: int = 0, _frame: FrameType | None = None) -> None:
        for pid, told in list(running.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del running[pid]
                os.write(told, str(os.waitstatus_to_exitcode(status)).encode())
                os.close(told)

    signal.signal(signal.SIGCHLD, reap)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the tests, which end us
    while True:
        request, descriptors, _, _ = socket.recv_fds(control, ROOM, 4)
        if not request:
            os._exit(0)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        pid = os.fork()
        if pid == 0:
            control.detach()
            arguments, env = json.loads(request)
            become(arguments, env, descriptors[:3])
            return
        *streams, told = descriptors
        for descriptor in streams:
            os.close(descriptor)
        os.write(told, f"{pid}\n".encode())
        running[pid] = told
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])


def become(arguments: list[str], env: dict[str, str], streams: list[int]) -> None:
    """Be as a process is that was started with these: nothing of the server's is left but its imports."""
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    sys.argv[1:] = arguments


_ending: list[int] = []
"""The exit status of a program that has come to its end."""


def leave() -> None:
    """End a program that has done all that there is to do: to take what was imported apart is not worth its while."""
    if not _ending:
        return
    with suppress(OSError, ValueError):  # where it cannot have its last words, the interpreter says so
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_ending[0])


def play() -> None:
    """Be the program, and note its exit status where that is a number."""
    try:
        runpy.run_module(PROGRAM, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            _ending.append(end.code or 0)
        raise


def main() -> None:
    """Import the program; then be the server, and in each process that it forks be the program."""
    atexit.register(leave)  # before all others: it is called after them, when no thread runs any more
    control = socket.socket(fileno=int(sys.argv[1]))
    gc.disable()  # imports make a million objects and leave hardly one behind
    for name in modules():
        importlib.import_module(name)
    assert threading.active_count() == 1, "a thread would be missing after a fork"
    gc.collect()
    gc.freeze()  # what is shared stays shared
    gc.enable()
    serve(control)
    play()


if __name__ == "__main__":
    main()
