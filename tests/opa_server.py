"""A real OPA for tests: the pinned program, a copy of the policies that a test may change, and a question to ask.

A policy may stand between the runtime and the real one, for tests that change what is answered.
"""

import asyncio
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp

from countersign.embedded.children import Supervisor
from countersign.embedded.opa import OpaChild
from countersign.embedded.ports import free_port
from countersign.embedded.servers import OPA, find
from policy.address import socket_path
from policy.bundle import PolicyFolders, build_bundle
from policy.contract import PolicyText, PolicyUnavailableError, Question, Verdict
from policy.engine import PolicyEngine
from policy.operator_contract import Authorization, OperatorQuestion
from policy.transport import connect
from tests.patience import MINUTE

POLICIES = Path(__file__).resolve().parents[1] / "rego"
PACKS = tuple(sorted(folder.parent for folder in POLICIES.parent.glob("packs/*/rego")))
SHIPPED = PolicyFolders(POLICIES, PACKS)
POLL = 0.05
"""Seconds between two looks of an OPA at what it follows, where a test says nothing else."""


def opa_program() -> Path:
    """Return the program that COUNTERSIGN_OPA names, else the pinned one."""
    program = os.environ.get("COUNTERSIGN_OPA") or find(OPA)
    assert program, "opa is missing: `make test` sets it up"
    return Path(program)


def copy_policies(folder: Path) -> Path:
    """Copy the policies of this repository into a folder that is not there yet."""
    return shutil.copytree(POLICIES, folder)


def edit_policy(folder: Path, name: str, before: str, after: str) -> None:
    """Change a file of a policy in a folder."""
    text = (folder / name).read_text()
    assert before in text
    (folder / name).write_text(text.replace(before, after))


@asynccontextmanager
async def start_opa(policies: Path, work: Path, *, poll: float = POLL) -> AsyncIterator[OpaChild]:
    """Serve core policies and the packs' rules until the context ends, and look every `poll` seconds for changes."""
    async with opa_child(PolicyFolders(policies, PACKS), work, poll=poll) as child:
        yield child


def opa_child(
    policies: PolicyFolders,
    work: Path,
    *,
    program: Path | None = None,
    supervisor: Supervisor | None = None,
    poll: float = POLL,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> OpaChild:
    """Return an OPA that is not started, whose key stands beside its folder, and which nobody else supervises."""
    key, opa = work.parent / "keys/policy.pem", program or opa_program()
    return OpaChild(opa, policies, work, supervisor or Supervisor(), key=key, poll=poll, sleep=sleep)


def session_at(url: str) -> aiohttp.ClientSession:
    """Return a session that asks the OPA behind a socket, whatever is asked, by paths alone."""
    path = socket_path(url)
    assert path, url
    return aiohttp.ClientSession("http://localhost", connector=aiohttp.UnixConnector(path))


_kept: dict[str, OpaChild] = {}
_keeping = AsyncExitStack()


async def kept_opa(policies: Path, *packs: Path) -> OpaChild:
    """Serve policies, and rules of more packs, as they are now until `stop_kept`: the same text has the same server."""
    revision = build_bundle(PolicyFolders(policies, (*PACKS, *packs))).revision
    if revision not in _kept:
        folder = Path(_keeping.enter_context(TemporaryDirectory(prefix="countersign-opa-")))
        own = shutil.copytree(policies, folder / "rego")
        more = tuple(shutil.copytree(pack, folder / pack.name) for pack in packs)
        served = opa_child(PolicyFolders(own, (*PACKS, *more)), folder / "opa", poll=MINUTE)
        _kept[revision] = await _keeping.enter_async_context(served)
    return _kept[revision]


async def stop_kept() -> None:
    """End the servers that were kept."""
    _kept.clear()
    await _keeping.aclose()


@asynccontextmanager
async def own_opa(policies: Path, work: Path) -> AsyncIterator[str]:
    """Serve core policies and the packs' rules with an OPA of one's own, which nobody vets; yield its address."""
    (work / "bundle.tar.gz").write_bytes(build_bundle(PolicyFolders(policies, PACKS)).data)
    address = f"127.0.0.1:{free_port()}"
    arguments = ("run", "--server", "--addr", address, "--set=decision_logs.console=true", "--bundle", "bundle.tar.gz")
    with (work / "opa.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            opa_program(), *arguments, cwd=work, env={}, stdout=log, stderr=log
        )
    try:
        async with asyncio.timeout(MINUTE), connect(f"http://{address}", 1.0) as client:
            while not await client.is_healthy():
                assert process.returncode is None, (work / "opa.log").read_text()
                await asyncio.sleep(0.02)
        yield f"http://{address}"
    finally:
        process.terminate()
        await process.wait()


def question(votes: list[dict[str, Any]] | None = None, writes: int = 0, **effect: Any) -> Question:
    """Return a question about filing a report for the tenant that the repository's policies know."""
    return Question.model_validate(
        {
            "time": "2026-01-05T10:00:00Z",
            "tenant": "acme",
            "actor": {"id": "ann", "kind": "person", "groups": ["compliance"], "submitted_by": "hook"},
            "run": {"id": "r1", "definition": "kyc", "version": 1, "trigger_type": "case"},
            "step": "file",
            "effect": {
                "connector": "register",
                "operation": "file_report",
                "target": "register:5493001KJTIIGC8Y1R12",
                "fields": {"lei": "5493001KJTIIGC8Y1R12"},
                "tier": "high",
                "reversible": False,
                "digest": "00" * 32,
                **effect,
            },
            "approval": {"requested_at": "2026-01-05T09:00:00Z", "expires_at": "2026-01-05T17:00:00Z"}
            if votes
            else None,
            "votes": votes or [],
            "counters": {"writes": writes},
        }
    )


def vote(person: str, verdict: str = "approve", group: str = "compliance") -> dict[str, Any]:
    """Return one vote of the input."""
    return {"person": person, "groups": [group], "verdict": verdict, "at": "2026-01-05T09:30:00Z"}


@dataclass
class Between(ABC):
    """Asks the real policy, and answers what `changed` makes of its verdicts; that may raise that policy is away."""

    real: PolicyEngine

    @abstractmethod
    async def changed(self, question: Question, verdict: Verdict) -> Verdict: ...

    async def ask(self, question: Question) -> Verdict:
        return await self.changed(question, await self.real.ask(question))

    async def ask_all(self, questions: Sequence[Question]) -> list[Verdict | PolicyUnavailableError]:
        answers = zip(questions, await self.real.ask_all(questions), strict=True)
        return [await self._made_of(one, found) if isinstance(found, Verdict) else found for one, found in answers]

    async def _made_of(self, question: Question, verdict: Verdict) -> Verdict | PolicyUnavailableError:
        try:
            return await self.changed(question, verdict)
        except PolicyUnavailableError as error:
            return error

    async def judge(self, question: OperatorQuestion) -> Authorization:
        return await self.real.judge(question)

    def text(self, digest: str) -> PolicyText:
        return self.real.text(digest)
