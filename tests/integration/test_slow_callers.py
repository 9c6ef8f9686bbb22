"""A serving process, and hundreds who send a part of a request and then nothing: they cost little, and not for long."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from countersign.embedded.opa import OpaChild
from runtime.clock import utc_now
from tests.integration.program_stage import SOON, Edge, Program, database, serving, settings_of
from tests.patience import MINUTE

COUNT = 300
SECONDS = 2.0
ROOM = 60
"""MB that all of them together may cost; unbounded they cost 140 and more."""

FORGED = {
    "/slack/events": "X-Slack-Request-Timestamp: {now}\r\nX-Slack-Signature: v0={digest}\r\n",
    "/v1/triggers/kyc.onboarding": "Countersign-Caller: onboarding-portal\r\nCountersign-Timestamp: {now}\r\n"
    "Countersign-Signature: v1={digest}\r\n",
}


@dataclass
class Process:
    """A process, and a client of its edge."""

    program: Program
    edge: Edge

    def megabytes(self) -> int:
        """Return the memory that it has in use."""
        status = Path(f"/proc/{self.program.process.pid}/status").read_text(encoding="ascii")
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) // 1024

    async def slow(self, request: bytes) -> None:
        """Send a part of a request; return when the process has had enough."""
        parts = urlsplit(self.edge.url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        writer.write(request)
        try:
            while await reader.read(65536):
                pass
        except ConnectionError:
            pass
        finally:
            writer.transport.abort()


@pytest.fixture(scope="module")
async def process(postgres: str, opa: OpaChild, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Process]:
    with database(postgres, "slow_callers") as dsn:
        limits = {"request_seconds": SECONDS, "http_connections": COUNT // 3}
        settings = settings_of(dsn, opa.url, tmp_path_factory.mktemp("slow"), port=0, **limits)
        async with serving(settings, "edge", "bot") as (program, edge):
            yield Process(program, edge)


def unfinished(path: str, kind: str) -> bytes:
    if kind == "head":
        return f"POST {path} HTTP/1.1\r\nX-Slow: ".encode() + b"x" * 10_000
    now = int(utc_now().timestamp())
    signed = FORGED[path].format(now=now, digest="0" * 64) if kind == "forged" else ""
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 262144\r\n{signed}\r\n".encode() + b"x" * 250_000


@pytest.mark.parametrize("path", FORGED)
@pytest.mark.parametrize("kind", ["unsigned", "forged", "head"])
async def test_slow_ones_cost_little_and_are_gone_soon_and_a_signed_call_is_answered_meanwhile(
    process: Process, path: str, kind: str
) -> None:
    assert (await process.edge.run("nobody")).status == 404
    before = most = process.megabytes()
    request = unfinished(path, kind)
    slow = asyncio.gather(*(process.slow(request) for _ in range(COUNT)))
    async with asyncio.timeout(MINUTE):
        while not slow.done():
            assert (await process.edge.run("nobody")).status == 404
            most = max(most, process.megabytes())
            await asyncio.sleep(SOON)
        await slow
    assert most - before < ROOM
