"""The world: our program in processes, everything around it in others, and a proxy on every link between them."""

import asyncio
import json
import os
import resource
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psycopg
from psycopg.rows import dict_row

from countersign.embedded.ports import free_port
from countersign.loaded_files import load_people
from countersign.settings import ROOT, Settings
from tests.faults.world import chat, people, upstream
from tests.faults.world.history import History, true_time
from tests.faults.world.policies import PolicyLife, PolicyVersions, versions_of
from tests.faults.world.program import Order
from tests.faults.world.proxy import Proxy, to_port, to_socket
from tests.faults.world.servers import PACK, TENANT, Postgres, opa
from tests.faults.world.upstream import Fate
from tests.following_opa import following_opa
from tests.integration.servers import PASSWORD, USER, MinioServer
from tests.logins import PROGRAM, as_directory
from tests.opa_server import opa_program

CLIENT, CLIENT_SECRET = "world-client", "world-client-secret-" * 3
LEASE_SECONDS = 3.0
FRONT, WORKERS = "front", ("worker-1", "worker-2")
SLOTS = (FRONT, *WORKERS)
KINDS = ("note", "pay", "wipe", "leave", "ask", "pause", "tree")
LINKS = ("database", "policy", "archive", "slack", "clicks", "upstream")

Row = dict[str, Any]


@dataclass(frozen=True)
class Arms:
    """At which hit of which points a process is killed, or stands still."""

    points: dict[str, int]
    stops: dict[str, int]


@dataclass
class Slot:
    """A place for one process of ours. Its order is what the next start of it follows."""

    order: Order
    pid: int | None = None
    wanted: bool = True
    starts: int = 0
    gone: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class Parts:
    """What several worlds may share: servers, and the process that ours are forked from."""

    postgres: Postgres
    opa_port: int
    minio: MinioServer
    zygote: "Zygote"


class Zygote:
    """The process that ours are forked from."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._slots: dict[str, Slot] = {}
        self._told: dict[str, asyncio.Future[int]] = {}

    def adopt(self, slots: Mapping[str, Slot]) -> None:
        """Tell these slots of what becomes of their processes."""
        self._slots.update({slot.order.name: slot for slot in slots.values()})

    async def start(self, slot: Slot) -> None:
        """Fork a process that follows the slot's order."""
        told = self._told[slot.order.name] = asyncio.get_running_loop().create_future()
        slot.gone.clear()
        slot.starts += 1
        assert self._process.stdin is not None
        self._process.stdin.write(f"{slot.order.line()}\n".encode())
        slot.pid = await told

    async def listen(self) -> None:
        """Hear of starts and ends, as long as it lives."""
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            told = json.loads(line)
            if "status" not in told:
                self._say_started(self._told.pop(told["name"]), told["pid"])
            elif (slot := self._slots[told["name"]]).pid in (told["pid"], None):
                slot.pid = None
                slot.gone.set()

    def _say_started(self, told: asyncio.Future[int], pid: int) -> None:
        """Tell who waits for it; where nobody does any more, the world has ended, and so has the process."""
        if told.done():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        else:
            told.set_result(pid)


@asynccontextmanager
async def zygote(folder: Path) -> AsyncIterator[Zygote]:
    """Start the process that ours are forked from; the pack of the world is installed for it."""
    plugin = folder / "plugin" / "countersign_world-1.dist-info"
    plugin.mkdir(parents=True)
    (plugin / "METADATA").write_text("Metadata-Version: 2.1\nName: countersign-world\nVersion: 1\n")
    offered = "[countersign.handlers]\nworld = countersign_world.handlers:handlers\n"
    declared = "[countersign.settings]\nworld = countersign_world.handlers:WorldSettings\n"
    (plugin / "entry_points.txt").write_text(offered + declared)
    paths = os.pathsep.join([str(plugin.parent), str(PACK), str(ROOT)])
    with (folder / "zygote.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.faults.world.zygote", cwd=ROOT, env={**os.environ, "PYTHONPATH": paths},
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=log,
        )  # fmt: skip
    forks = Zygote(process)
    listening = asyncio.create_task(forks.listen())
    try:
        yield forks
    finally:
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()
        await listening


class World:
    """One world, with a database of its own."""

    def __init__(self, parts: Parts, folder: Path, name: str, seed: int) -> None:
        self.parts, self.folder, self.name, self.seed = parts, folder, name, seed
        self.histories = folder / "histories"
        self.history = History(self.histories / "harness.jsonl")
        self.dsn = parts.postgres.make(name)
        self.links: dict[str, Proxy] = {}
        self.slots: dict[str, Slot] = {}
        self.versions: PolicyVersions | None = None
        self.front_port, self.chat_port, self.upstream_port = free_port(), free_port(), free_port()
        self._looking = asyncio.Lock()
        self._look: psycopg.AsyncConnection[Row] | None = None
        self.edge = f"http://127.0.0.1:{self.front_port}"
        self.chat = f"http://127.0.0.1:{self.chat_port}"

    async def start(
        self, stack: AsyncExitStack, bug: str, fate: Fate, arms: Mapping[str, Arms], life: PolicyLife
    ) -> None:
        """Start everything."""
        directory = self.folder / "directory.yaml"
        directory.write_text(json.dumps(people.directory(CLIENT, KINDS)), encoding="utf-8")
        login = Settings(tenant=TENANT, directory_database_url=as_directory(self.dsn))
        await load_people(login, directory)
        opa_port = await self._begin_policy(stack, life)
        ways = {
            "database": to_socket(self.parts.postgres.socket),
            "policy": to_port(opa_port),
            "archive": to_port(int(self.parts.minio.endpoint.rpartition(":")[2])),
            "slack": to_port(self.chat_port),
            "clicks": to_port(self.front_port),
            "upstream": to_port(self.upstream_port),
        }
        for link, way in ways.items():
            self.links[link] = Proxy(way)
            await self.links[link].start()
            stack.push_async_callback(self.links[link].stop)
        workspace = chat.write_workspace(self.folder, f"http://127.0.0.1:{self.links['clicks'].port}/slack/events")
        await self._beside(stack, "chat", "--port", str(self.chat_port), "--workspace", str(workspace))
        await self._beside(stack, "upstream", "--port", str(self.upstream_port), "--seed", str(self.seed), "--history",
                           str(self.histories / "upstream.jsonl"), "--edge", self.edge, "--first", fate)  # fmt: skip
        self.parts.minio.make_bucket(self._bucket)
        for name in SLOTS:
            self.slots[name] = Slot(self._order(name, directory, bug))
            if name in arms:
                self.arm(name, arms[name])
        self.parts.zygote.adopt(self.slots)
        for slot in self.slots.values():
            keeper = asyncio.create_task(self._keep(slot))
            stack.push_async_callback(_end, keeper)

    async def _begin_policy(self, stack: AsyncExitStack, life: PolicyLife) -> int:
        """Install the first version, unless this is for development; return the port of the OPA that answers."""
        if life is PolicyLife.DEVELOPMENT:
            return self.parts.opa_port
        versions = await stack.enter_async_context(versions_of(self.dsn, self.folder, self.histories))
        self.versions = versions
        await versions.install()
        if life is PolicyLife.STUCK:
            return self.parts.opa_port
        opa = following_opa(self.folder / "opa", self.dsn, versions.bundle, versions.key.public)
        return await stack.enter_async_context(opa)

    @property
    def _bucket(self) -> str:
        return self.name.replace("_", "-")

    async def _beside(self, stack: AsyncExitStack, module: str, *arguments: str) -> None:
        with (self.folder / f"{module}.log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", f"tests.faults.world.{module}", *arguments, cwd=ROOT, stdout=log, stderr=log
            )
        stack.push_async_callback(_kill, process)

    def _order(self, name: str, directory: Path, bug: str) -> Order:
        clock = self.folder / f"{name}.clock"
        return Order(
            name=f"{self.name}-{name}",
            argv=["serve", "--processes=1", *(f"--role={role}" for role in _roles(name))],
            env=self._environment(name, directory),
            log=str(self.folder / f"{name}.log"),
            clock=str(clock),
            history=str(self.histories / f"{name}.jsonl"),
            arms=str(self.folder / f"{name}.arms"),
            bug=bug,
        )

    def _environment(self, name: str, directory: Path) -> dict[str, str]:
        given = {
            "tenant": TENANT,
            "home": self.folder / f"home-{name}",
            "signing_key": self.folder / "keys" / "evidence.pem",
            "database_url": f"postgresql://{PROGRAM}@127.0.0.1:{self.links['database'].port}/{self.name}"
            "?sslmode=disable&gssencmode=disable&connect_timeout=5",
            "database_patience": 600,
            "opa_url": f"http://127.0.0.1:{self.links['policy'].port}",
            "opa_timeout": 2.0,
            "opa": opa_program(),
            "policy_keys": [str(self.folder / "keys" / "policy.pub.pem")] if self.versions else [],
            "packs": [str(PACK)],
            "pack": {"world": {"url": f"http://127.0.0.1:{self.links['upstream'].port}"}},
            "directory": directory,
            "slack_bot_token": chat.BOT_TOKEN,
            "slack_signing_secrets": [chat.SIGNING_SECRET],
            "slack_api_url": f"http://127.0.0.1:{self.links['slack'].port}/api/",
            "slack_channel": chat.channel_of("approvals"),
            "slack_channels": {group: chat.channel_of(group) for group in ("compliance", *chat.DESKS)},
            "callers": {CLIENT: CLIENT_SECRET, upstream.CALLER: upstream.SECRET},
            "caller_rate": 1000,
            "person_rate": 1000,
            "caller_burst": 10_000,
            "lease_seconds": LEASE_SECONDS,
            "sweep_seconds": 0.5,
            "checkpoint_seconds": 1.0,
            "log_level": "warning",
            "log_format": "text",
            "concurrency": 16,
            "port": self.front_port if name == FRONT else 0,
            **(self._bucket_settings() if name == WORKERS[0] else {}),
        }
        plain = {
            key: value if isinstance(value, str) else json.dumps(value, default=str) for key, value in given.items()
        }
        own = {f"COUNTERSIGN_{key.upper()}": value.strip('"') for key, value in plain.items()}
        return {"PATH": os.defpath, "HOME": str(self.folder), **own}

    def _bucket_settings(self) -> dict[str, object]:
        return {
            "s3_bucket": self._bucket,
            "s3_endpoint": f"http://127.0.0.1:{self.links['archive'].port}",
            "s3_access_key": USER,
            "s3_secret_key": PASSWORD,
            "retention_mode": "GOVERNANCE",
            "retention_days": 1,
        }

    async def _keep(self, slot: Slot) -> None:
        """Start a process again whenever it is gone, as a machine's keeper does."""
        while True:
            if slot.wanted:
                await self.parts.zygote.start(slot)
                await slot.gone.wait()
            await asyncio.sleep(0.1)

    def arm(self, name: str, arms: Arms) -> None:
        """Have a slot's process end, or stand still, at these points and no others."""
        _write(Path(self.slots[name].order.arms), asdict(arms))

    def signal(self, name: str, number: signal.Signals) -> bool:
        """Send a slot's process a signal; return whether there was one."""
        pid = self.slots[name].pid
        if pid is None:
            return False
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        return True

    def set_clock(self, name: str, step: float, drift: float) -> None:
        """Put the wall clock of a slot's machine wrong by so many seconds, and by more with every second."""
        _write(Path(self.slots[name].order.clock), {"step": step, "drift": drift, "since": true_time()})

    def fill_disk(self, name: str, *, full: bool) -> None:
        """Let no file of a slot's process grow beyond a few bytes, or any file again."""
        pid = self.slots[name].pid
        if pid is not None:
            with suppress(ProcessLookupError):
                limit = 256 if full else resource.RLIM_INFINITY
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    async def rows(self, query: str, *values: Any) -> list[Row]:
        """Look into the database, past every proxy."""
        async with self._looking:
            if self._look is None or self._look.closed:
                self._look = await psycopg.AsyncConnection.connect(self.dsn, row_factory=dict_row, autocommit=True)
            return await (await self._look.execute(query.encode(), values)).fetchall()

    async def close(self) -> None:
        """Look no more."""
        if self._look is not None:
            await self._look.close()


def _roles(name: str) -> tuple[str, ...]:
    return ("edge", "bot") if name == FRONT else ("worker", "sweeps")


def _write(file: Path, told: Mapping[str, Any]) -> None:
    """Let a file appear whole."""
    draft = file.with_suffix(f"{file.suffix}.new")
    draft.write_text(json.dumps(told), encoding="utf-8")
    draft.replace(file)


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def _kill(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    await process.wait()


@asynccontextmanager
async def world(
    parts: Parts,
    folder: Path,
    name: str,
    seed: int,
    *,
    bug: str = "",
    fate: Fate = Fate.WELL,
    arms: Mapping[str, Arms] = MappingProxyType({}),
    life: PolicyLife = PolicyLife.DEVELOPMENT,
) -> AsyncIterator[World]:
    """Run a world; at the end its processes are killed, and database and histories stay.

    `fate` is that of the first request under each key, `arms` treats the first processes, and `life` is that of the
    policy.
    """
    folder.mkdir(parents=True)
    async with AsyncExitStack() as stack:
        made = World(parts, folder, name, seed)
        stack.callback(_stop, made)
        stack.push_async_callback(made.close)
        await made.start(stack, bug, fate, arms, life)
        yield made


def _stop(made: World) -> None:
    for name, slot in made.slots.items():
        slot.wanted = False
        made.signal(name, signal.SIGKILL)


@asynccontextmanager
async def parts(folder: Path) -> AsyncIterator[Parts]:
    """Run what worlds share."""
    from tests.faults.world.servers import postgres  # noqa: PLC0415
    from tests.integration.servers import minio_server  # noqa: PLC0415

    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(postgres(folder / "postgres" / "data"))
        port = await stack.enter_async_context(opa(folder / "opa"))
        (folder / "minio").mkdir()
        bucket = stack.enter_context(minio_server(folder / "minio"))
        yield Parts(server, port, bucket, await stack.enter_async_context(zygote(folder)))
