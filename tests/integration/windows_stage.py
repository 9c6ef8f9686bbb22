"""A bench whose policy lets filings and notes be carried out on Tuesdays alone, by the clock of Oslo."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from policy.client import OpaEngine
from tests.bench import Bench, open_bench
from tests.integration.conftest import PACK, Targets
from tests.integration.glass_stage import GLASS
from tests.opa_server import copy_policies, kept_opa
from tests.patience import MINUTE

FILE = {"company": "ACME", "text": "report"}
NOTE = {"incident": "I1", "text": "seen", "api_token": "hunter2-hunter2"}
TUESDAYS = {
    "between": [{"days": ["tue"], "from": "09:00", "until": "17:00"}],
    "time_zone": "Europe/Oslo",
    "within": "P3D",
}
OPENS = "2026-01-06T08:00:00.000000Z"
"""The first Tuesday after the bench's clock begins, on a Monday at 09:00 UTC."""
_TIMED = (("register", "file_report"), ("servicenow", "add_work_note"))


def say_when(folder: Path, execute: dict[str, Any]) -> Path:
    """Return a copy of the policies by which filings and notes are carried out at these times."""
    policies = copy_policies(folder / "rego")
    file = policies / "countersign_config/acme/data.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    for connector, operation in _TIMED:
        config["connectors"][connector]["operations"][operation]["execute"] = execute
    config["requirements"]["high"]["break_glass"] = GLASS
    file.write_text(json.dumps(config), encoding="utf-8")
    return policies


@asynccontextmanager
async def windows_policy(folder: Path, execute: dict[str, Any]) -> AsyncIterator[OpaEngine]:
    """Serve that policy."""
    policies = say_when(folder, execute)
    async with OpaEngine((await kept_opa(policies)).url, timeout=MINUTE) as policy:
        yield policy


@asynccontextmanager
async def windows_bench(
    dsn: str, targets: Targets, folder: Path, execute: dict[str, Any] = TUESDAYS
) -> AsyncIterator[Bench]:
    """Open a bench on which filings and notes have their times."""
    async with windows_policy(folder, execute) as policy, open_bench(dsn, policy, [PACK], targets.handlers()) as found:
        yield found


async def approve_filing(bench: Bench, ref: str = "1") -> str:
    """Have a filing asked for and approved; return its run."""
    run_id = (await bench.start("bench.file", FILE, ref)).run_id
    await bench.settle()
    for person in ("ann", "ben"):
        assert (await bench.click(person, await bench.approval_id())).counted
    await bench.settle()
    return run_id
