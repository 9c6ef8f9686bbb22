"""Evaluates expressions that cost much, each in a process of its own, which has a limit of time and of memory.

What the limits stop is a transient error and says nothing about the expression: its step or plan is tried again.
Whether it may be evaluated at all was decided before, by its cost.
"""

import asyncio
import json
import os
import sys
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from runtime.definitions.cel.outcomes import Costly, Outcome

SECONDS = 120.0
"""For so long an expression may be evaluated."""
MEMORY = 2 * 1024 * 1024 * 1024
"""Bytes of address space that its process may have."""
_AT_ONCE = 2
_KEPT = 64
"""Values that are kept until their plan is made."""
_PASSED_ON = ("LD_LIBRARY_PATH", "PATH", "PYTHONPATH")
"""What of the environment the process gets: it holds no secret."""


class StoppedError(Exception):
    """A costly expression was not evaluated to its end; later it may be."""


class Evaluator:
    """Evaluates costly expressions, and keeps what they gave for the plans that need it.

    `packs` are those whose functions expressions may call.
    """

    def __init__(self, packs: Sequence[str] = (), seconds: float = SECONDS, memory: int = MEMORY) -> None:
        self._packs = tuple(packs)
        self._seconds = seconds
        self._memory = memory
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._outcomes: OrderedDict[str, Outcome] = OrderedDict()

    @property
    def known(self) -> Mapping[str, Outcome]:
        """Return what costly expressions gave, by their keys."""
        return self._outcomes

    async def evaluate(self, costly: Costly) -> None:
        """Evaluate an expression, so that it is known; raise StoppedError where that takes too long, or fails."""
        async with self._slots:
            if costly.key not in self._outcomes:
                self._outcomes[costly.key] = await self._ask(costly)
                while len(self._outcomes) > _KEPT:
                    self._outcomes.popitem(last=False)

    async def _ask(self, costly: Costly) -> Outcome:
        wanted = json.dumps({"packs": self._packs, "costly": asdict(costly)}).encode()
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "runtime.evaluating",
            str(self._memory),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
        )
        try:
            async with asyncio.timeout(self._seconds):
                answer, _ = await process.communicate(wanted)
        except TimeoutError:
            raise StoppedError(f"expression '{costly.source}' took more than {self._seconds:g} seconds") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            raise StoppedError(f"expression '{costly.source}': its process ended with {process.returncode}")
        return Outcome(**json.loads(answer))
