"""Readiness: a true probe, several processes, and slow callers.

The probe is true: a process is ready when the database takes writes, policy answers, and Slack lets it in.

``serve --processes N``: a parent starts the others, keeps them running, ends all of them and leaves none behind.

A serving process, and hundreds who send a part of a request and then nothing: they cost little, and not for long.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from countersign.doctor.database import examined
from countersign.doctor.readiness import Readiness
from countersign.embedded.opa import OpaChild
from countersign.parts import Role
from countersign.settings import Settings
from countersign.system import compose
from policy.contract import PolicyText, PolicyUnavailableError, Question, Verdict
from policy.engine import PolicyEngine
from policy.operator_contract import Authorization, OperatorQuestion
from runtime.clock import utc_now
from tests.integration.program_stage import (
    SOON,
    Edge,
    Program,
    composed,
    database,
    edge_of,
    environment,
    is_problem,
    program,
    rows,
    sandbox,
    serving,
    settings_of,
    until_ready,
)
from tests.opa_server import copy_policies, own_opa
from tests.patience import MINUTE


@dataclass
class Counting:
    """A real engine, whose questions are counted."""

    policy: PolicyEngine
    asked: int = 0

    async def ask(self, question: Question) -> Verdict:
        self.asked += 1
        return await self.policy.ask(question)

    async def ask_all(self, questions: Sequence[Question]) -> list[Verdict | PolicyUnavailableError]:
        self.asked += len(questions)
        return await self.policy.ask_all(questions)

    async def judge(self, question: OperatorQuestion) -> Authorization:
        return await self.policy.judge(question)

    def text(self, digest: str) -> PolicyText:
        return self.policy.text(digest)


CANARY = "canary-9d02"


async def test_a_part_that_is_away_makes_the_process_not_ready(dsn: str, tmp_path: Path) -> None:
    async with composed(settings_of(dsn, "http://127.0.0.1:1", tmp_path)) as system, edge_of(system) as edge:
        answer = await edge.send("GET", "/readyz", signed={})
        assert is_problem(answer, 503)
        assert answer.body["detail"] == "not in order: policy"
        assert (await edge.send("GET", "/healthz", signed={})).status == 200


FULL = (
    "CREATE FUNCTION full_() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'full' USING ERRCODE = '53100'; END $$;"
    "CREATE TRIGGER full_ BEFORE INSERT ON policy_texts FOR EACH ROW EXECUTE FUNCTION full_();"
    "CREATE TRIGGER full_ BEFORE INSERT ON runs FOR EACH ROW EXECUTE FUNCTION full_()"
)


@pytest.mark.parametrize(
    "ill", ["ALTER DATABASE {} SET default_transaction_read_only = on", FULL], ids=["read-only", "full"]
)
async def test_a_database_that_takes_no_writes_is_not_ready_and_503(
    dsn: str, opa: OpaChild, tmp_path: Path, caplog: pytest.LogCaptureFixture, ill: str
) -> None:
    async with composed(settings_of(dsn, opa.url, tmp_path)):
        with psycopg.connect(dsn, autocommit=True) as conn:
            conn.execute(ill.format(urlsplit(dsn).path.removeprefix("/")).encode())
    roles = frozenset(Role)
    async with compose(settings_of(dsn, opa.url, tmp_path), roles) as system, edge_of(system) as edge:
        assert (await edge.send("GET", "/readyz", signed={})).body["detail"] == "not in order: database"
        answer = await edge.trigger("eleven")
        assert is_problem(answer, 503, "takes no writes")
        assert answer.headers["Retry-After"]
    assert not [record for record in caplog.records if record.exc_info]


async def test_a_process_whose_policy_answers_nonsense_is_not_ready(
    dsn: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    policies = copy_policies(tmp_path / "rego")
    decision = policies / "countersign/decision.rego"
    decision.write_text(decision.read_text().replace('"needs_approval"', '"maybe"'))
    async with own_opa(policies, tmp_path) as url, composed(settings_of(dsn, url, tmp_path)) as system:
        assert await Readiness(system, list)() == ["policy"]
    assert any("policy: acme: access::revoke: policy unavailable" in said for said in caplog.messages), caplog.messages


async def test_a_policy_that_passed_is_not_examined_at_each_probe(dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    async with composed(settings_of(dsn, opa.url, tmp_path)) as system:
        policy, now = system.engine.policy, system.engine.clock()
        passed = await examined(policy, "acme", now, passed="")
        counting = Counting(policy)
        assert await examined(counting, "acme", now, passed) == passed
        assert counting.asked == 1
        assert await examined(counting, "acme", now, passed="") == passed
        assert counting.asked > 10


async def test_a_probe_writes_nothing_that_stays(dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    async with composed(settings_of(dsn, opa.url, tmp_path)) as system:
        before = rows(dsn, "SELECT count(*) FROM policy_texts")
        assert await Readiness(system, list)() == []
        assert rows(dsn, "SELECT count(*) FROM policy_texts") == before


async def test_however_often_it_is_asked_the_probe_looks_once_in_a_while(
    dsn: str, opa: OpaChild, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[int] = []

    def slack() -> list[str]:
        asked.append(1)
        return ["web api: away"]

    async with composed(settings_of(dsn, opa.url, tmp_path)) as system, edge_of(system, slack_faults=slack) as edge:
        answers = await asyncio.gather(*(edge.send("GET", "/readyz", signed={}) for _ in range(20)))
    assert {answer.status for answer in answers} == {503}
    assert len(asked) < 5
    assert len([record for record in caplog.records if "not ready" in record.getMessage()]) == 1


async def test_a_process_is_not_ready_until_slack_answers_and_while_it_is_away(
    dsn: str, opa: OpaChild, tmp_path: Path
) -> None:
    async with serving(settings_of(dsn, opa.url, tmp_path, port=0), "bot") as (_, edge):
        assert (await edge.send("GET", "/readyz", signed={})).body["detail"] == "not in order: slack"
        assert (await edge.send("GET", "/healthz", signed={})).status == 200
    async with sandbox() as slack:
        settings = settings_of(dsn, opa.url, tmp_path, port=0, slack_api_url=f"{slack}/api/")
        async with serving(settings, "bot") as (_, edge):
            await until_ready(edge)


async def test_a_process_without_a_part_in_slack_is_ready_without_it(dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    async with serving(settings_of(dsn, opa.url, tmp_path, port=0), "edge") as (_, edge):
        assert (await edge.send("GET", "/readyz", signed={})).status == 200


async def test_a_process_whose_app_token_is_refused_is_not_ready(dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    async with sandbox() as slack:
        more = {"slack_api_url": f"{slack}/api/", "port": 0}
        refused_token = settings_of(dsn, opa.url, tmp_path, **more, slack_app_token=f"xapp-{CANARY}")
        async with serving(refused_token, "bot") as (running, edge):
            await running.said("invalid_auth")
            assert (await edge.send("GET", "/readyz", signed={})).body["detail"] == "not in order: slack"
        right_token = settings_of(dsn, opa.url, tmp_path, **more, slack_app_token="xapp-sandbox-app-token")
        async with serving(right_token, "bot") as (_, edge):
            await until_ready(edge)


MANY = ("--role=worker", "--role=sweeps")


@pytest.fixture
def settings(dsn: str, opa: OpaChild, tmp_path: Path) -> Settings:
    return settings_of(dsn, opa.url, tmp_path, port=0)


@asynccontextmanager
async def _two(settings: Settings) -> AsyncIterator[tuple[Program, list[int]]]:
    """Run two processes under one parent; give the parent, and the ids of both."""
    async with program("serve", *MANY, "--processes=2", env=environment(settings)) as parent:
        for _ in range(2):
            await parent.said("serving: ")
        yield parent, _children(parent)


def _children(parent: Program) -> list[int]:
    pid = parent.process.pid
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False


async def _until_gone(pids: list[int]) -> None:
    async with asyncio.timeout(MINUTE):
        while any(_runs(pid) for pid in pids):
            await asyncio.sleep(SOON)


async def test_a_process_that_dies_is_started_again_and_all_end_when_the_parent_is_told_to(settings: Settings) -> None:
    async with _two(settings) as (parent, (first, second)):
        os.kill(second, signal.SIGKILL)
        await parent.said("process 2 ended with -9; starting it again")
        await parent.said("serving: ")
        both = _children(parent)
        assert len(both) == 2
        assert first in both
        assert second not in both
        parent.process.terminate()
        assert await parent.ended() == 0
        assert [pid for pid in both if _runs(pid)] == []
        assert len([line for line in parent.lines if line["message"].startswith("stopping: ")]) == 2


async def test_no_process_is_left_behind_by_a_parent_that_is_killed(settings: Settings) -> None:
    async with _two(settings) as (parent, both):
        parent.process.kill()
        await _until_gone(both)


async def test_a_start_that_is_refused_is_refused_once(settings: Settings) -> None:
    nowhere = Settings(database_url="postgresql://u@127.0.0.1:1/x").database_url
    env = environment(settings.model_copy(update={"database_url": nowhere}))
    async with program("serve", *MANY, "--processes=2", env=env) as parent:
        assert await parent.ended() == 1
        said = [line["message"] for line in parent.lines if line["message"].startswith("countersign: ")]
    assert said[0].startswith("countersign: the database cannot be used: ")
    assert said[1:] == ["countersign: process 1 ended at its start; its output is above\n"]


async def test_what_people_and_callers_reach_is_one_process(settings: Settings) -> None:
    async with program("serve", "--processes=2", env=environment(settings)) as refused:
        assert await refused.ended() == 1
    assert refused.lines[-1]["message"].startswith("countersign: the roles bot, console and edge need a single process")


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
