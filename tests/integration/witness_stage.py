"""A witness as a process, and what a log sends to it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from receipts.log.add_checkpoint import AddCheckpoint, parse_size
from receipts.log.note import Algorithm, NoteSigner, VerifierKey
from receipts.signing import load_or_create
from tests.integration.program_stage import Program, program
from tests.patience import MINUTE
from tests.unit.log_sample import MemoryLog, sample_log, signer, vkey

NAME = "witness.example/w1"
OWNER = signer("log.example/acme", 1)
LOG = sample_log(40)


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    kind: str
    body: bytes


@dataclass
class Served:
    """A running witness, and a connection to it."""

    process: Program
    url: str
    http: aiohttp.ClientSession

    async def send(self, body: bytes, path: str = "/add-checkpoint", method: str = "POST") -> Answer:
        async with self.http.request(method, self.url + path, data=body) as response:
            return Answer(response.status, response.headers.get("Content-Type", ""), await response.read())

    async def size(self) -> int:
        """Ask which size was cosigned last, as a log does that does not know."""
        answer = await self.send(request(0, 0, MemoryLog()))
        return 0 if answer.status == 200 else parse_size(answer.body)


def request(old: int, new: int, log: MemoryLog = LOG) -> bytes:
    return bytes(AddCheckpoint(old, tuple(log.consistency(old, new)), log.checkpoint(OWNER, new)))


def arguments(folder: Path, listen: str = "127.0.0.1:0", log: str = str(vkey(OWNER))) -> list[str]:
    """Return the command of a witness that keeps all in a folder."""
    files = ("--key", str(folder / "key.pem"), "--state", str(folder / "state"))
    return ["witness", "--name", NAME, "--log", log, *files, "--listen", listen]


def env(folder: Path) -> dict[str, str]:
    return {"COUNTERSIGN_HOME": str(folder)}


def key_of(folder: Path) -> VerifierKey:
    """Return the witness's key."""
    return NoteSigner(NAME, load_or_create(folder / "key.pem")).verifier(Algorithm.COSIGNATURE_V1)


@asynccontextmanager
async def running(folder: Path, log: str = str(vkey(OWNER))) -> AsyncIterator[Served]:
    """Run a witness until the block ends; it listens when the block begins."""
    async with (
        program(*arguments(folder, log=log), env=env(folder)) as process,
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(MINUTE)) as http,
    ):
        listening = (await process.said("listens on"))["message"]
        assert f"the witness {key_of(folder)} listens" in listening
        await process.said("serving: http")
        yield Served(process, f"http://127.0.0.1:{listening.split()[-1]}", http)
