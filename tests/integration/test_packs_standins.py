"""The command lines of the stand-ins."""

import asyncio
import re
import sys

import aiohttp
import pytest


@pytest.mark.parametrize(
    "module",
    ["countersign_access_request.standins", "countersign_kyc.standins", "countersign_incident_triage.standins"],
)
async def test_standins_serve_on_this_machine_until_ended(module: str) -> None:
    command = (sys.executable, "-u", "-m", module, "--port", "0")
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout
    try:
        said = re.search(r"http://127\.0\.0\.1:\d+", (await process.stdout.readline()).decode())
        assert said
        async with aiohttp.ClientSession() as session, session.get(f"{said[0]}/__standin/actions") as response:
            assert await response.json() == {"count": 0, "actions": [], "faults_to_come": 0}
    finally:
        process.terminate()
        await process.wait()
    assert process.returncode == 0
