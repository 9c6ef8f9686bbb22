"""The one supervisor of child processes: starts them, starts them again when they die, and ends them with us."""

import asyncio
import ctypes
import logging
import os
import secrets
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import aiohttp

from countersign.embedded.home import PRIVATE
from countersign.foreseen_errors import CountersignError
from countersign.settings import START_HEADER, variable

START_LIMIT = 120.0
"""Seconds until a child has to answer: a machine may be busy with others, and the wait ends as soon as it answers."""
STOP_LIMIT = 15.0
"""Seconds that a child has for what it has begun."""
TRIES = 3
"""A child that ends so often in a row without having answered is given up."""

_PAUSE, _LOOK, _WORDS = 0.5, 0.1, 2000
# Loaded before any fork, after which little may be called.
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
_PR_SET_PDEATHSIG = 1

T = TypeVar("T")
Probe = Callable[[aiohttp.ClientSession], Awaitable[bool]]
"""Asks once whether a child answers; what the network raises counts as no."""

log = logging.getLogger(__name__)


class ChildError(CountersignError):
    """A child does not do its work; the message has its last words and where the rest of them stands."""


class Child:
    """One process. `kill` is the plug being pulled; `start` puts it back. `env` is all that is in its environment.

    Without a log file it speaks where we do, and who may read its files is as with ours. `tries` is how often in a row
    it may end without having answered. While it is a candidate, without which all goes on, its end ends nothing else.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        env: Mapping[str, str],
        log_file: Path | None,
        probe: Probe,
        *,
        cwd: Path | None = None,
        patience: float = STOP_LIMIT,
        tries: int = TRIES,
        is_candidate: bool = False,
    ) -> None:
        self.name, self.probe, self.tries, self.is_candidate = name, probe, tries, is_candidate
        self.answered = asyncio.Event()
        self.failure: ChildError | None = None  # why it was given up as a candidate
        self.process: Process | None = None
        self._plug = asyncio.Event()
        self._command, self._env, self._cwd = command, env, cwd
        self.log_file, self._words_from = log_file, 0
        self._patience = patience

    async def start(self) -> None:
        """Start the process; what it says goes to its log."""
        self.answered.clear()
        try:
            with self._speaking_to() as out:
                self.process = await self._launch(out)
        except OSError as error:
            raise ChildError(f"{self.name} cannot be started: {error}") from error
        self._plug.set()

    async def _launch(self, out: BinaryIO | None) -> Process:
        return await asyncio.create_subprocess_exec(
            *self._command,
            env=dict(self._env),
            cwd=self._cwd,
            stdin=DEVNULL,
            stdout=out,
            stderr=out,
            umask=-1 if out is None else PRIVATE,
            start_new_session=True,  # Ctrl-C is for us: children end when they are told to, and in order
            preexec_fn=partial(_end_with, os.getpid()) if _LIBC else None,
        )

    @contextmanager
    def _speaking_to(self) -> Iterator[BinaryIO | None]:
        """Give its log, in which its words begin here; or nothing, where it speaks to whom we speak."""
        if self.log_file is None:
            yield None
            return
        with self.log_file.open("ab") as out:
            self._words_from = out.tell()
            yield out

    async def plugged(self) -> Process:
        """Return the process as soon as the plug is in."""
        await self._plug.wait()
        assert self.process is not None  # noqa: S101 - the plug goes in after the process was made
        return self.process

    def is_plugged(self, process: Process) -> bool:
        """Return whether this is still the process that the plug belongs to."""
        return self._plug.is_set() and self.process is process

    async def kill(self) -> None:
        """End it at once, as a power cut would."""
        self._plug.clear()
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()

    async def stop(self) -> None:
        """Ask it to drain and end; insist if it does not."""
        self._plug.clear()
        if self.process is None or self.process.returncode is not None:
            return
        self.process.terminate()
        try:
            async with asyncio.timeout(self._patience):
                await self.process.wait()
        except TimeoutError:
            await self.kill()

    @property
    def is_running(self) -> bool:
        """Return whether the process is there."""
        return self.process is not None and self.process.returncode is None

    def last_words(self) -> str:
        """Return the end of what the process has said since its start, and the file in which the rest stands."""
        if self.log_file is None:
            return "its output is above"
        said = b""
        if self.log_file.exists():
            with self.log_file.open("rb") as file:
                file.seek(self._words_from)
                said = file.read()
        words = said[-_WORDS:].decode(errors="replace").strip()
        return (
            f"its last words, in {self.log_file}:\n{words}"
            if words
            else f"it printed nothing; its log is {self.log_file}"
        )


class Supervisor:
    """Keeps children running, until it is told to stop or has to give one up."""

    def __init__(self) -> None:
        self.stopping = asyncio.Event()
        """Set it as soon as the end is near: what ends from then on is not started again."""
        self._given_up = asyncio.Event()
        self._failure: ChildError | None = None

    @asynccontextmanager
    async def running(self, child: Child) -> AsyncIterator[Child]:
        """Keep the child running while the block lasts."""
        await child.start()
        keeper = asyncio.create_task(self._keep(child))
        try:
            yield child
        finally:
            keeper.cancel()
            await asyncio.gather(keeper, return_exceptions=True)
            await child.stop()

    async def until_answers(self, child: Child) -> None:
        """Wait until the child answers as itself; raise ChildError if it does not, or another one was given up."""
        try:
            async with asyncio.timeout(START_LIMIT):
                await self.guard(child.answered.wait())
        except TimeoutError as error:
            message = f"{child.name} does not answer within {START_LIMIT:.0f} s; {child.last_words()}"
            raise ChildError(message) from error
        if child.failure is not None:
            raise child.failure

    async def guard(self, work: Coroutine[Any, Any, T]) -> T:
        """Do the work; a child that is given up meanwhile ends it with ChildError."""
        task, given_up = asyncio.create_task(work), asyncio.create_task(self._given_up.wait())
        try:
            await asyncio.wait([task, given_up], return_when=asyncio.FIRST_COMPLETED)
            if self._failure is not None:
                raise self._failure
            return await task
        finally:
            task.cancel()
            given_up.cancel()
            await asyncio.gather(task, given_up, return_exceptions=True)

    async def until_told(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Do the work until SIGTERM or SIGINT, which cancel it; return its result, or None where one came."""
        task, loop = asyncio.create_task(work), asyncio.get_running_loop()

        def stop() -> None:
            # at once: whoever ends us may have ended our children in the same moment
            self.stopping.set()
            task.cancel()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop)
        try:
            await asyncio.wait([task])
            return None if task.cancelled() else task.result()
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

    async def _keep(self, child: Child) -> None:
        try:
            await self._start_again(child)
        except ChildError as error:
            if child.is_candidate:
                child.failure = error
                child.answered.set()  # it never will: nobody waits for it any longer
            else:
                self._failure = error
                self._given_up.set()

    async def _start_again(self, child: Child) -> None:
        """Start the child whenever it ends by itself; raise ChildError when it ended too often without an answer."""
        vain = 0
        while process := await child.plugged():
            answered = await _answers(child, process)
            code = await process.wait()
            if await self._told_to_stop():
                return
            if not child.is_plugged(process):
                continue
            vain = 0 if answered else vain + 1
            if vain == child.tries:
                often = f" {vain} times" if vain > 1 else ""
                raise ChildError(f"{child.name} ended{often} at its start; {child.last_words()}")
            log.error("%s ended with %s; starting it again (its log: %s)", child.name, code, child.log_file or "this")
            await child.start()

    async def _told_to_stop(self) -> bool:
        """Wait a little, since whoever ends a whole group of processes ends us in the same moment."""
        try:
            async with asyncio.timeout(_PAUSE):
                await self.stopping.wait()
        except TimeoutError:
            return False
        return True


async def _answers(child: Child, process: Process) -> bool:
    """Ask until the child answers, or its process has ended; return whether it did answer."""
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as session:
        while process.returncode is None:
            try:
                if await child.probe(session):
                    child.answered.set()
                    return True
            except (aiohttp.ClientError, TimeoutError, ValueError):
                pass  # not yet, or it is not ours
            await asyncio.sleep(_LOOK)
    return False


def python_child(
    name: str, arguments: Sequence[str], env: Mapping[str, str], logs: Path | None, url: str, **more: Any
) -> Child:
    """Return a `python -m …` child that shows its start's nonce when `url` is asked: no other server passes for it."""
    nonce = new_nonce()
    whole = {**os.environ, **env, variable("start"): nonce}

    async def probe(session: aiohttp.ClientSession) -> bool:
        async with session.get(url) as response:
            return response.ok and response.headers.get(START_HEADER) == nonce

    log_file = None if logs is None else logs / f"{name}.log"
    return Child(name, [sys.executable, *arguments], whole, log_file, probe, **more)


def new_nonce() -> str:
    """Return a word that no other start knows."""
    return secrets.token_hex(16)


def _end_with(parent: int) -> None:
    """Have the kernel end the child when its parent dies, however it dies."""
    if _LIBC:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it has died already
        os._exit(1)
