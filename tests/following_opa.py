"""An OPA that follows the policy version in force: it downloads the bundle from a door, and takes it if it verifies."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import psycopg
from aiohttp import web

from countersign.embedded.ports import free_port
from policy.bundle import Bundle
from policy.keys import ALGORITHM, VerificationKey
from tests.opa_server import opa_program
from tests.patience import MINUTE

_EACH = 1
"""Seconds between two looks; OPA has no part in them."""
_IN_FORCE = """
    SELECT digest, bundle FROM policy_versions
     WHERE version = (SELECT version FROM policy_activations ORDER BY number DESC LIMIT 1)
"""


@asynccontextmanager
async def following_opa(folder: Path, dsn: str, first: Bundle, key: VerificationKey) -> AsyncIterator[int]:
    """Run it, and the door it asks, until the context ends; give its port on loopback.

    It serves the `first` bundle as long as no version is in force in the database.
    """
    folder.mkdir(parents=True, exist_ok=True)
    async with _door(dsn, first) as door:
        port = free_port()
        config = folder / "config.json"
        config.write_text(json.dumps(_config(door, key)), encoding="utf-8")
        arguments = ("run", "--server", "--addr", f"127.0.0.1:{port}", "--log-level", "error", "--skip-version-check",
                     "--config-file", str(config))  # fmt: skip
        with (folder / "opa.log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(opa_program(), *arguments, env={}, stdout=log, stderr=log)
        try:
            await _until_ready(process, port, folder / "opa.log")
            yield port
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _config(door: str, key: VerificationKey) -> dict[str, object]:
    look = {"min_delay_seconds": _EACH, "max_delay_seconds": _EACH}
    bundle = {"service": "door", "resource": "bundle.tar.gz", "polling": look, "signing": {"keyid": key.key_id}}
    return {
        "services": {"door": {"url": door}},
        "keys": {key.key_id: {"algorithm": ALGORITHM, "key": key.pem().decode()}},
        "bundles": {"bundle.tar.gz": bundle},
        "decision_logs": {"console": True},
    }


@asynccontextmanager
async def _door(dsn: str, first: Bundle) -> AsyncIterator[str]:
    async def bundle(request: web.Request) -> web.Response:
        try:
            digest, data = await _in_force(dsn) or (first.revision, first.data)
        except psycopg.Error:
            return web.Response(status=503)
        if request.headers.get("If-None-Match") == f'"{digest}"':
            return web.Response(status=304)
        return web.Response(body=data, headers={"ETag": f'"{digest}"'}, content_type="application/gzip")

    app = web.Application()
    app.router.add_get("/bundle.tar.gz", bundle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def _in_force(dsn: str) -> tuple[str, bytes] | None:
    """Return the digest and the bundle of the version in force."""
    async with await psycopg.AsyncConnection.connect(dsn) as conn:
        row = await (await conn.execute(_IN_FORCE)).fetchone()
    return None if row is None else (row[0], bytes(row[1]))


async def _until_ready(process: asyncio.subprocess.Process, port: int, log: Path) -> None:
    """Wait until it has a policy."""
    async with asyncio.timeout(MINUTE), aiohttp.ClientSession() as http:
        while True:
            assert process.returncode is None, log.read_text(encoding="utf-8")
            with suppress(aiohttp.ClientError):
                async with http.get(f"http://127.0.0.1:{port}/health?bundles") as answer:
                    if answer.status == web.HTTPOk.status_code:
                        return
            await asyncio.sleep(0.05)
