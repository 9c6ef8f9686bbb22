"""The real MinIO, and a bucket with Object Lock in it: where the evidence of a measure goes."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from countersign.bucket import make_bucket
from countersign.embedded import work
from countersign.embedded.children import Child, Supervisor
from countersign.embedded.ports import free_port
from countersign.embedded.servers import MINIO, ensure
from countersign.settings import Settings, variable
from runtime.clock import utc_now

USER, PASSWORD, BUCKET = "countersign-bench", "countersign-bench-password", "bench"


@dataclass(frozen=True)
class Store:
    """A running MinIO; `env` has processes keep their evidence in its bucket."""

    pid: int
    env: Mapping[str, str]


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[Store]:
    """Run it over a folder while the block lasts."""
    folder.mkdir()
    program = await asyncio.to_thread(ensure, MINIO, work.to_stderr)
    url = f"http://127.0.0.1:{free_port()}"
    told = {"s3_endpoint": url, "s3_bucket": BUCKET, "s3_access_key": USER, "s3_secret_key": PASSWORD}
    supervisor, child = Supervisor(), _child(program, folder, url)
    async with supervisor.running(child):
        await supervisor.until_answers(child)
        await asyncio.to_thread(make_bucket, Settings.model_validate(told), utc_now)
        assert child.process  # noqa: S101 - it has answered
        yield Store(child.process.pid, {variable(name): value for name, value in told.items()})


def _child(program: Path, folder: Path, url: str) -> Child:
    async def probe(session: aiohttp.ClientSession) -> bool:
        async with session.get(f"{url}/minio/health/ready") as response:
            return response.ok

    address, console = url.removeprefix("http://"), f"127.0.0.1:{free_port()}"
    env = {
        "PATH": os.defpath,
        "HOME": str(folder),
        "MINIO_BROWSER": "off",
        "MINIO_UPDATE": "off",
        "MINIO_ROOT_USER": USER,
        "MINIO_ROOT_PASSWORD": PASSWORD,
    }
    command: list[str | Path] = [program, "server", "--address", address, "--console-address", console, folder / "data"]
    return Child("minio", command, env, folder / "minio.log", probe)
