"""The probe is true: a process is ready when the database takes writes, policy answers, and Slack lets it in."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from countersign.doctor.database import examined
from countersign.doctor.readiness import Readiness
from countersign.embedded.opa import OpaChild
from countersign.parts import Role
from countersign.system import compose
from policy.contract import (
    Authorization,
    OperatorQuestion,
    PolicyEngine,
    PolicyText,
    PolicyUnavailableError,
    Question,
    Verdict,
)
from tests.integration.program_stage import (
    composed,
    edge_of,
    is_problem,
    rows,
    sandbox,
    serving,
    settings_of,
    until_ready,
)
from tests.opa_server import copy_policies, own_opa


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
    decision = policies / "countersign/effect/decision.rego"
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
