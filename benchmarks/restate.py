"""Drives Restate: its server and one service process, through its public HTTP doors."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from benchmarks.connectors import Stamps, listening
from benchmarks.dbos import PeerError
from benchmarks.machine import cpu_seconds
from countersign.embedded.ports import free_port

APP = Path(__file__).resolve().with_name("restate_app.py")
AT_ONCE, STEPS, START_LIMIT = 16, 10, 60.0


@dataclass(frozen=True)
class Restate:
    """A server with its service; `pids` are both processes'."""

    ingress: str
    http: aiohttp.ClientSession
    stamps: Stamps
    pids: tuple[int, int]

    async def chain(self, case: str) -> float:
        """Run a chain to its end; return the seconds that it took."""
        began = time.perf_counter()
        await self._post("bench/chain", case)
        return time.perf_counter() - began

    async def steps(self, name: str, seconds: float) -> tuple[float, float]:
        """Run chains side by side for so long; return steps a second, and CPU microseconds a step."""
        await asyncio.gather(*(self.chain(f"{name}-warm-{number}") for number in range(AT_ONCE)))
        before, began = cpu_seconds(self.pids), time.perf_counter()
        done = await asyncio.gather(*(self._chains(f"{name}-{n}", began + seconds) for n in range(AT_ONCE)))
        steps, took = sum(done) * STEPS, time.perf_counter() - began
        return steps / took, (cpu_seconds(self.pids) - before) * 1e6 / steps

    async def _chains(self, name: str, until: float) -> int:
        done = 0
        while time.perf_counter() < until:
            await self.chain(f"{name}-{done}")
            done += 1
        return done

    async def park(self, name: str, count: int) -> list[str]:
        """Start runs that wait; return when all do."""
        cases = [f"{name}-{number}" for number in range(count)]
        await asyncio.gather(*(self._post("bench/waiter/send", case) for case in cases))
        for case in cases:
            await self.stamps.of(case, "ask")
        return cases

    async def park_timed(self, name: str, count: int) -> tuple[list[str], float]:
        """Park runs; return them, and how many a second that were."""
        began = time.perf_counter()
        cases = await self.park(name, count)
        return cases, count / (time.perf_counter() - began)

    async def resume(self, case: str) -> float:
        """Answer for a wait; return the seconds until it went on."""
        began = time.time()
        await self._answer(case)
        return (await self.stamps.of(case, "note")).at - began

    async def resume_all(self, cases: list[str]) -> float:
        """Answer for all; return how many a second went on to their end."""
        began = time.perf_counter()
        await asyncio.gather(*(self._answer(case) for case in cases))
        for case in cases:
            await self.stamps.of(case, "end")
        return len(cases) / (time.perf_counter() - began)

    async def _answer(self, case: str) -> None:
        token = (await self.stamps.of(case, "ask")).token
        await self._post(f"restate/awakeables/{token}/resolve", "yes")

    async def _post(self, path: str, body: str) -> None:
        async with self.http.post(f"{self.ingress}/{path}", json=body) as response:
            if not response.ok:
                raise PeerError(f"Restate answered {response.status}: {await response.text()}")


@asynccontextmanager
async def running(server: Path, python: Path, folder: Path) -> AsyncIterator[Restate]:
    """Run server and service while the block lasts."""
    ports = {name: free_port() for name in ("bind", "ingress", "admin", "service")}
    async with AsyncExitStack() as stack:
        stamps = await stack.enter_async_context(listening())
        arguments = (str(python), "-P", str(APP), str(ports["service"]), str(stamps.port))
        service = await stack.enter_async_context(_process(folder, {}, *arguments))
        env = {
            "RESTATE_BIND_PORT": str(ports["bind"]),
            "RESTATE_INGRESS__BIND_PORT": str(ports["ingress"]),
            "RESTATE_ADMIN__BIND_PORT": str(ports["admin"]),
            "RESTATE_LISTEN_MODE": "tcp",
            "RESTATE_BIND_IP": "127.0.0.1",
            "RESTATE_BASE_DIR": str(folder / f"restate-{ports['bind']}"),
            "RESTATE_DISABLE_TELEMETRY": "true",
            "RESTATE_LOG_FILTER": "warn",
        }
        process = await stack.enter_async_context(_process(folder, env, str(server), "--no-logo"))
        connector = aiohttp.TCPConnector(limit=64)
        http = await stack.enter_async_context(aiohttp.ClientSession(connector=connector))
        await _register(http, ports["admin"], ports["service"])
        yield Restate(f"http://127.0.0.1:{ports['ingress']}", http, stamps, (process, service))


@asynccontextmanager
async def _process(folder: Path, env: dict[str, str], *command: str) -> AsyncIterator[int]:
    with (folder / "restate.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(*command, env={**os.environ, **env}, stdout=log, stderr=log)
    try:
        yield process.pid
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _register(http: aiohttp.ClientSession, admin: int, service: int) -> None:
    """Tell the server where the service is, as soon as both are there."""
    told = {"uri": f"http://127.0.0.1:{service}"}
    until = time.monotonic() + START_LIMIT
    while time.monotonic() < until:
        try:
            async with http.post(f"http://127.0.0.1:{admin}/deployments", json=told) as response:
                if response.ok:
                    return
        except aiohttp.ClientError:
            pass
        await asyncio.sleep(0.2)
    raise PeerError("Restate did not take its service; restate.log says why")
