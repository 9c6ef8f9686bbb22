"""OPA as a supervised child on loopback, serving policies and following its changes (embedded mode)."""

import asyncio
import ctypes
import logging
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from pathlib import Path
from typing import Self

from policy.bundle import Bundle, build_bundle
from policy.text import PolicyError, PolicyFolders
from policy.transport import connect
from policy.vet import vet_binary, vet_bundle

_log = logging.getLogger(__name__)

_BUNDLE = "bundle.tar.gz"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_START_LIMIT, _STOP_LIMIT, _HEALTH_PAUSE = 15.0, 5.0, 0.02
# Loaded before any fork, after which little may be called.
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
_PR_SET_PDEATHSIG = 1


class OpaChild:
    """One `opa` process for as long as the context lasts; `url` stays the same when it is restarted.

    The folders are read every `poll` seconds. A change that stays is bundled, vetted and then swapped in with one
    rename, so that OPA serves either the old policy or the new one whole. What does not pass is logged once, and the
    old one stays.
    """

    def __init__(self, opa: Path, policies: PolicyFolders, work: Path, *, poll: float = 0.5) -> None:
        self._opa = opa.absolute()
        self._policies = policies
        self._work = work
        self._served = work / "served"
        self._poll = poll
        self._address = f"127.0.0.1:{free_port()}"
        self._process: Process | None = None
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def url(self) -> str:
        """Where the child answers."""
        return f"http://{self._address}"

    @property
    def pid(self) -> int | None:
        """The process that answers now."""
        return self._process.pid if self._process else None

    async def __aenter__(self) -> Self:
        """Start the child."""
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop the child."""
        await self.stop()

    async def start(self) -> None:
        """Serve the folders as they are now, or raise PolicyError if it, or the binary, is not fit for that."""
        self._served.mkdir(parents=True, exist_ok=True)
        await vet_binary(self._opa)
        bundle = build_bundle(self._policies)
        await self._publish(bundle)
        await self._launch()
        self._tasks = [asyncio.create_task(self._supervise()), asyncio.create_task(self._follow(bundle.revision))]

    async def stop(self) -> None:
        """End the child and what looks after it."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        if self._process:
            await _end(self._process)

    async def _follow(self, handled: str) -> None:
        before = handled
        while True:
            await asyncio.sleep(self._poll)
            found = await asyncio.to_thread(_look, self._policies)
            now = found.revision if isinstance(found, Bundle) else str(found)
            if now == before != handled:  # twice the same: nothing is being saved just now
                handled = now
                await self._replace(found)
            before = now

    async def _replace(self, found: Bundle | PolicyError) -> None:
        try:
            if isinstance(found, PolicyError):
                raise found
            await self._publish(found)
        except (PolicyError, OSError) as error:
            _log.error("the changed policy is not served, the old one stays: %s", error)

    async def _publish(self, bundle: Bundle) -> None:
        candidate = self._work / _BUNDLE
        candidate.write_bytes(bundle.data)
        await vet_bundle(self._opa, bundle, candidate, self._policies.schemas)
        candidate.replace(self._served / _BUNDLE)
        _log.info("serving policy %s", bundle.revision)

    async def _supervise(self) -> None:
        pause = _FIRST_PAUSE
        while self._process:
            code = await self._process.wait()
            _log.error("opa ended with %s; starting it again", code)
            await asyncio.sleep(pause)
            try:
                await self._launch()
                pause = _FIRST_PAUSE
            except PolicyError as error:
                _log.error("opa does not start: %s", error)
                pause = min(pause * 2, _LONGEST_PAUSE)

    async def _launch(self) -> None:
        try:
            self._process = process = await self._spawn()
        except OSError as error:
            raise PolicyError(f"{self._opa}: {error}") from error
        try:
            await self._until_healthy(process)
        except BaseException:
            await _end(process)
            raise

    async def _spawn(self) -> Process:
        with (self._work / "opa.log").open("ab") as log:
            return await asyncio.create_subprocess_exec(
                self._opa,
                *("run", "--server", "--addr", self._address, "--log-level", "error", "--skip-version-check"),
                *("--shutdown-grace-period", "1", "--watch", "--bundle", _BUNDLE),
                # Without a decision log OPA gives no decision ids; rego/system/log.rego keeps the log itself empty.
                *("--set", "decision_logs.console=true"),
                cwd=self._served,
                stdin=DEVNULL,
                stdout=log,
                stderr=log,
                env={},  # policies can read the environment
                preexec_fn=end_with_parent if _LIBC else None,
            )

    async def _until_healthy(self, process: Process) -> None:
        try:
            async with asyncio.timeout(_START_LIMIT), connect(self.url, 1.0) as client:
                while not await client.check_health():
                    if process.returncode is not None:
                        raise PolicyError(f"it ended with {process.returncode}; see {self._work / 'opa.log'}")
                    await asyncio.sleep(_HEALTH_PAUSE)
        except TimeoutError as error:
            raise PolicyError(f"it does not answer on {self._address} after {_START_LIMIT:.0f} s") from error


def _look(policies: PolicyFolders) -> Bundle | PolicyError:
    try:
        return build_bundle(policies)
    except PolicyError as error:
        return error


async def _end(process: Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        async with asyncio.timeout(_STOP_LIMIT):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def end_with_parent() -> None:
    """Have the kernel end the child when this process dies, however it dies."""
    if _LIBC:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def free_port() -> int:
    """Return a port of the loopback address that is free at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
