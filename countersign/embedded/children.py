"""Child processes of embedded mode: started, logged to a file, started again when they die, and ended with us."""

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from countersign.embedded.opa import end_with_parent

STOP_LIMIT = 15.0
"""Seconds that a child has for what it has begun."""

log = logging.getLogger(__name__)


class Child:
    """One `python -m …` process. `kill` is the plug being pulled; `start` puts it back."""

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        env: Mapping[str, str],
        logs: Path,
        *,
        patience: float = STOP_LIMIT,
    ) -> None:
        self.name = name
        self._patience = patience
        self._arguments = arguments
        self._env = env
        self._log = logs / f"{name}.log"
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start the process; what it says goes to its log."""
        with self._log.open("ab") as out:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *self._arguments,
                env={**os.environ, **self._env},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                preexec_fn=end_with_parent,
            )

    async def kill(self) -> None:
        """End it at once, as a power cut would."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    async def stop(self) -> None:
        """Ask it to drain and end; insist if it does not."""
        if self._process is None or self._process.returncode is not None:
            return
        self._process.terminate()
        try:
            async with asyncio.timeout(self._patience):
                await self._process.wait()
        except TimeoutError:
            await self.kill()

    async def keep_running(self) -> None:
        """Start it again whenever it ends; runs until canceled."""
        while self._process is not None:
            code = await self._process.wait()
            log.error("%s ended with %s; starting it again (its log: %s)", self.name, code, self._log)
            await asyncio.sleep(1)
            await self.start()

    @property
    def is_running(self) -> bool:
        """Return whether the process is there."""
        return self._process is not None and self._process.returncode is None

    def last_words(self) -> str:
        """Return the end of its log, for an error message."""
        return self._log.read_text(encoding="utf-8", errors="replace")[-2000:] if self._log.exists() else ""


@asynccontextmanager
async def running(child: Child) -> AsyncIterator[Child]:
    """Run the child while the block lasts."""
    await child.start()
    try:
        yield child
    finally:
        await child.stop()
