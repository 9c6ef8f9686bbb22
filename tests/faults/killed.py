"""Programs that kill themselves (SIGKILL) at a point of theirs, each forked from a process that has imported them."""

import asyncio
import multiprocessing
import signal
from collections.abc import Awaitable, Callable

from tests.patience import MINUTE, until

_forking = multiprocessing.get_context("forkserver")
_forking.set_forkserver_preload(["tests.faults.dying", "tests.faults.spending"])


async def killed(program: Callable[..., None], *given: str) -> None:
    """Run a program in a process of its own until it is killed, as it has to be."""
    process = _forking.Process(target=program, args=given, daemon=True)  # ends with us, whatever happens
    process.start()
    await asyncio.to_thread(process.join, MINUTE)
    assert process.exitcode == -signal.SIGKILL
    process.close()


async def killed_once(holds: Callable[[], Awaitable[bool]], program: Callable[..., None], *given: str) -> None:
    """Run a program in a process of its own, and kill it once something holds."""
    process = _forking.Process(target=program, args=given, daemon=True)
    process.start()
    try:
        await until(holds)
    finally:
        process.kill()
    await asyncio.to_thread(process.join, MINUTE)
    assert process.exitcode == -signal.SIGKILL
    process.close()


async def ended(program: Callable[..., None], *given: str, patience: float = MINUTE) -> int | None:
    """Run a program in a process of its own until it ends or is killed, within some seconds; return with what."""
    process = _forking.Process(target=program, args=given, daemon=True)
    process.start()
    await asyncio.to_thread(process.join, patience)
    code = process.exitcode
    process.close()
    return code
