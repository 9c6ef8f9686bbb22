"""Confined `opa`: a process that runs Rego which nobody vouches for, and may take no more than it is given.

Its memory, its CPU time and the bytes that it prints are bounded, it writes no file, and it has an empty environment.
On a busy machine it waits as long as it must: one command is bounded by its work, all of them together by the clock.
What a built-in of OPA could reach is bounded by the capabilities that it is started with.
"""

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from policy.errors import PolicyError

MIB = 1024**2
_CHUNK = 64 * 1024
_GO = {"GOGC": "400", "GOMAXPROCS": "2"}
"""It lives for a second: collecting garbage early would be half of its work. Two threads, however many cores."""
_CONFINE = 'ulimit -c 0 && ulimit -f 0 && ulimit -t "$0" && ulimit -d "$1" && shift && exec nice -n "$@"'
"""Without core dumps and files; with so many seconds of CPU time, of all threads, after which the kernel kills it; with
so many KiB of data, which is what Go can write to, and not what it reserves."""
_BROKEN = "\ngoroutine "
"""What Go prints below whatever it says of its own end. It ends so without memory, with one of several sentences."""


@dataclass(frozen=True)
class Bounds:
    """What one process may take: seconds of CPU time, bytes of memory, and bytes that it prints.

    `said` bounds what it says beside its result, such as the lines of `print`. Everything that is asked of one policy
    together takes no more than `overall` seconds by the clock, of which `near` may go to rules that came near. `nice`
    is how far it steps back behind other processes, 0 to 19.
    """

    seconds: int
    overall: float
    near: float
    memory: int
    printed: int
    said: int
    nice: int = 10


DESK = Bounds(seconds=10, overall=120.0, near=60.0, memory=1024 * MIB, printed=64 * MIB, said=MIB, nice=0)
"""For a person at a terminal, who has the machine."""
FRONT = Bounds(seconds=5, overall=20.0, near=10.0, memory=256 * MIB, printed=16 * MIB, said=MIB // 4)
"""For a process that also answers others."""
RESCUE = Bounds(seconds=20, overall=60.0, near=0.0, memory=256 * MIB, printed=16 * MIB, said=MIB // 4)
"""For a rollback of the policy, for which it is better to wait on a busy machine than to have no answer."""


class NoOpaError(PolicyError):
    """There is no `opa` to ask."""


async def confined(opa: Path, *arguments: str, bounds: Bounds, stdin: str = "{}") -> tuple[str, str]:
    """Return what one opa command prints, and what it says beside that; raise PolicyError.

    When this ends, by an error or canceled too, so has the process.
    """
    process = await _started(opa, arguments, bounds)
    try:
        async with asyncio.timeout(bounds.overall):
            printed, said, _ = await asyncio.gather(
                _read(process, process.stdout, bounds.printed),
                _read(process, process.stderr, bounds.said),
                _feed(process.stdin, stdin.encode()),
            )
            code = await process.wait()
    except TimeoutError as error:
        raise PolicyError(f"the policy does not answer within {bounds.overall:g} s") from error
    finally:
        await _ended(process)
    return _outcome(arguments[0], code, printed, said, bounds)


async def _started(opa: Path, arguments: tuple[str, ...], bounds: Bounds) -> Process:
    if not os.access(opa, os.X_OK):
        raise NoOpaError(f"{opa}: there is no such program")
    before, env = confinement(bounds)
    words = (*before, str(opa.absolute()), *arguments)
    return await asyncio.create_subprocess_exec(*words, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=env)


def confinement(bounds: Bounds) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the words that stand before a command which may take so much CPU time and memory, and its environment."""
    words = ("/bin/sh", "-c", _CONFINE, str(bounds.seconds), str(bounds.memory // 1024), str(bounds.nice))
    # Go collects garbage more often, the nearer it comes to this
    return words, {**_GO, "GOMEMLIMIT": str(bounds.memory * 3 // 4)}


async def _read(process: Process, stream: asyncio.StreamReader | None, most: int) -> bytes:
    """Return what the process prints, of what is too much one byte; it is killed then."""
    data = bytearray()
    while stream is not None and (chunk := await stream.read(_CHUNK)):
        data += chunk[: most + 1 - len(data)]
        if len(data) > most:
            _kill(process)
    return bytes(data)


async def _feed(stream: asyncio.StreamWriter | None, text: bytes) -> None:
    """Write what is asked; a process that ends before it has read that says why by itself."""
    if stream is not None:
        with suppress(ConnectionError):
            stream.write(text)
            await stream.drain()
        stream.close()


def _kill(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()


async def _ended(process: Process) -> None:
    """Have the process end, whatever it does, and take up its status and the little that is still in its pipes."""
    if process.returncode is None:
        _kill(process)
    await process.communicate()


def _outcome(command: str, code: int, printed: bytes, said: bytes, bounds: Bounds) -> tuple[str, str]:
    texts = printed.decode(errors="replace"), said.decode(errors="replace")
    if code and _BROKEN in texts[1]:
        raise PolicyError(f"the policy needs more than {bounds.memory // MIB} MiB of memory")
    for text, most in ((printed, bounds.printed), (said, bounds.said)):
        if len(text) > most:
            raise PolicyError(f"the policy prints more than {most // 1024} KiB")
    if code == -signal.SIGKILL:
        raise PolicyError(f"the policy needs more than {bounds.seconds} s of CPU time")
    if code:
        raise PolicyError("".join(texts).strip() or f"opa {command} exits with {code}")
    return texts
