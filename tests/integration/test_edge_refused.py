"""Requests that a caller may not make are on record in the tenant's chain: that, how often, and what was tried."""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from countersign.embedded.opa import OpaChild
from countersign.system import System
from edge.callers import EVERY, Tallies
from receipts.acts import MOST_TRIED, RequestRefused, Tried
from receipts.chain import Leaf, in_place
from receipts.tenant_acts import act_of, chain_of
from tests.integration.program_stage import Answer, Edge, composed, edge_of, is_problem, rows, settings_of, signed_now
from tests.integration.test_edge_answers import Stage, staged
from tests.patience import until

ANSWER = {"ref": "1", "decision": "approved", "reason": "seen", "stamp": "0" * 16}
ROUTE = "POST /v1/tasks/{task_id}/answer"


@dataclass
class Office:
    """A system whose edge each test starts, and its database."""

    system: System
    dsn: str

    def acts(self) -> list[tuple[str, RequestRefused]]:
        return refused(self.dsn)

    def counts(self) -> dict[str, int]:
        counted = Counter[str]()
        for _, act in self.acts():
            counted[act.rule] += act.count
        return dict(counted)

    async def is_on_record(self) -> bool:
        return bool(self.acts())


@pytest.fixture
async def office(dsn: str, opa: OpaChild, tmp_path: Path) -> AsyncIterator[Office]:
    async with composed(settings_of(dsn, opa.url, tmp_path, caller_rate=1e6, caller_burst=1_000_000)) as system:
        yield Office(system, dsn)


@pytest.fixture(scope="module")
async def stage(postgres: str, opa: OpaChild, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with staged(postgres, opa, tmp_path_factory.mktemp("denials")) as stage:
        yield stage


def refused(dsn: str) -> list[tuple[str, RequestRefused]]:
    """Return the refused requests that are on record, each with its caller."""
    query = "SELECT tenant, seq, hash, leaf FROM tenant_leaves WHERE leaf->>'event' = 'request.refused' ORDER BY seq"
    found = []
    for row in rows(dsn, query):
        (leaf,) = in_place(chain_of(row["tenant"]), [(row["seq"], row["hash"].hex(), row["leaf"])])
        said = Leaf.model_validate(leaf)
        assert said.actor.kind == "agent"
        act = act_of(said)
        assert isinstance(act, RequestRefused)
        assert act.first_at <= act.last_at <= said.at
        found.append((said.actor.id, act))
    return found


async def vote_for(edge: Edge, person: str, task: str = "apr_1") -> Answer:
    """Bring an answer of a person to a task, as a caller that answers for other people."""
    return await edge.send(
        "POST", f"/v1/tasks/{task}/answer", json.dumps({**ANSWER, "as": person}).encode(), by="servicenow"
    )


async def test_a_vote_for_a_person_whom_the_caller_may_not_answer_for_leaves_one_act(office: Office) -> None:
    async with edge_of(office.system) as edge:
        assert is_problem(await vote_for(edge, "sena"), 403, "servicenow may not answer for sena")
        await until(office.is_on_record)
    ((caller, act),) = office.acts()
    assert (caller, act.route, act.rule, act.count) == ("servicenow", ROUTE, "caller.answers_for", 1)
    assert [vars(one) for one in act.tried] == [{"subject": "sena", "path": "/v1/tasks/apr_1/answer"}]


async def test_a_thousand_refusals_leave_few_acts_whose_counts_are_a_thousand(office: Office) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with edge_of(office.system) as edge:
        for hundred in range(10):
            answers = await asyncio.gather(*(vote_for(edge, "sena", f"apr_{hundred}_{one}") for one in range(100)))
            assert {answer.status for answer in answers} == {403}
    acts = [act for _, act in office.acts()]
    assert sum(act.count for act in acts) == 1000
    assert len(acts) <= 3 + (loop.time() - began) / EVERY
    assert max(len(act.tried) for act in acts) == MOST_TRIED
    assert len({one.path for act in acts for one in act.tried}) == sum(len(act.tried) for act in acts)


async def test_each_caller_route_and_rule_is_counted_by_itself(office: Office) -> None:
    async with edge_of(office.system) as edge:
        await vote_for(edge, "sena")
        await edge.send("GET", "/v1/tasks?as=sena", by="servicenow")
        await edge.send("GET", "/v1/tasks?as=sena")
        await edge.trigger("1", by="servicenow")
        await edge.trigger("1", by="stranger")
    told = [(caller, act.route, act.rule, act.tried[0].subject, act.count) for caller, act in office.acts()]
    assert sorted(told) == [
        ("onboarding-portal", "GET /v1/tasks", "caller.answers_for", "sena", 1),
        ("servicenow", "GET /v1/tasks", "caller.answers_for", "sena", 1),
        ("servicenow", ROUTE, "caller.answers_for", "sena", 1),
        ("servicenow", "POST /v1/triggers/{type_}", "caller.triggers", "kyc.onboarding", 1),
        ("stranger", "POST /v1/triggers/{type_}", "caller.unknown", "stranger", 1),
    ]


async def test_a_caller_that_may_not_speak_for_people_is_on_record_with_the_person(office: Office) -> None:
    sent = json.dumps({"ref": "1", "payload": {}, "on_behalf_of": "rita"}).encode()
    async with edge_of(office.system) as edge:
        assert (await edge.send("POST", "/v1/triggers/servicenow.incident", sent, by="servicenow")).status == 403
    ((_, act),) = office.acts()
    assert (act.rule, act.tried[0].subject) == ("caller.on_behalf", "rita")


async def test_what_is_long_is_on_record_as_far_as_it_goes(office: Office) -> None:
    async with edge_of(office.system) as edge:
        assert (await vote_for(edge, "s" * 200, "t" * 128)).status == 403
        assert (await edge.send("POST", f"/v1/triggers/{'y' * 200}", b"{}")).status == 403
    (_, vote), (_, trigger) = office.acts()
    assert vote.tried[0].subject == "s" * 200
    assert trigger.tried[0].path == f"/v1/triggers/{'y' * 200}"[:200]


async def test_what_is_answered_with_another_status_leaves_no_act(office: Office) -> None:
    forged = {**signed_now("GET", "/v1/runs/x", b""), "Countersign-Signature": f"v1={'0' * 64}"}
    async with edge_of(office.system) as edge:
        assert (await edge.send("GET", "/v1/runs/x", signed=forged)).status == 401
        assert (await edge.send("POST", "/v1/triggers/other", b"{}", signed={})).status == 401
        assert (await edge.run("run_none")).status == 404
        assert (await vote_for(edge, "boris")).status == 404
        assert (await edge.send("GET", "/v1/tasks", by="servicenow")).status == 422
        assert (await edge.trigger("one")).status == 202
    assert office.acts() == []


async def test_a_refusal_does_not_wait_for_its_record(office: Office) -> None:
    async with edge_of(office.system) as edge:
        with psycopg.connect(office.dsn) as other:
            other.execute("SELECT 1 FROM tenants FOR UPDATE")
            assert (await vote_for(edge, "sena")).status == 403
            waiting = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            await until(lambda: asyncio.to_thread(rows, office.dsn, waiting))
            assert (await vote_for(edge, "sena")).status == 403
            assert office.acts() == []
        await until(office.is_on_record)
    assert [(act.count, act.rule) for _, act in office.acts()] == [(1, "caller.answers_for")] * 2


@contextmanager
def without_writes(dsn: str) -> Iterator[None]:
    """Let the program read its database, and put nothing in a tenant's chain."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("ALTER TABLE tenant_leaves ADD CONSTRAINT no_more CHECK (seq < 0) NOT VALID")
        try:
            yield
        finally:
            conn.execute("ALTER TABLE tenant_leaves DROP CONSTRAINT no_more")


@contextmanager
def down(dsn: str) -> Iterator[None]:
    """Cut everybody off the database, and let nobody in."""
    name = str(conninfo_to_dict(dsn)["dbname"])
    with psycopg.connect(make_conninfo(dsn, dbname="postgres"), autocommit=True) as conn:
        conn.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        try:
            conn.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
            yield
        finally:
            conn.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")


def _says(log: pytest.LogCaptureFixture, words: str) -> Callable[[], Any]:
    async def says() -> bool:
        return words in log.text

    return says


async def _refused_unrecorded(edge: Edge, log: pytest.LogCaptureFixture) -> None:
    """Be refused, and wait until the record of that has failed."""
    assert (await vote_for(edge, "sena")).status == 403
    await until(_says(log, "refused requests that are not on record yet: 1"))


async def test_a_refusal_stands_where_it_cannot_be_recorded_and_is_recorded_later(
    office: Office, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    async with edge_of(office.system) as edge:
        with without_writes(office.dsn):
            await _refused_unrecorded(edge, caplog)
            assert (await vote_for(edge, "olga")).status == 403
        assert office.acts() == []
    ((_, act),) = office.acts()
    assert (act.count, [one.subject for one in act.tried]) == (2, ["sena", "olga"])


async def test_a_refusal_is_on_record_once_the_database_is_back(
    office: Office, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    async with edge_of(office.system) as edge:
        with without_writes(office.dsn):
            await _refused_unrecorded(edge, caplog)
        with down(office.dsn):
            assert is_problem(await vote_for(edge, "sena"), 503), "who may do what stands in the database"
        answers = [503]
        await until(lambda: _is_denied(edge, answers))
    assert office.counts() == {"caller.answers_for": 2, "database.away": answers.count(503)}


async def _is_denied(edge: Edge, answers: list[int]) -> bool:
    answers.append((await vote_for(edge, "sena")).status)
    return answers[-1] == 403


async def test_what_could_not_be_answered_is_on_record_with_its_caller_once_the_database_is_back(
    office: Office,
) -> None:
    async with edge_of(office.system) as edge:
        with down(office.dsn):
            assert is_problem(await edge.send("GET", "/v1/tasks/apr_1", by="servicenow"), 503)
            assert (await edge.send("POST", "/v1/triggers/other", b"{}", signed={})).status == 401
    ((caller, act),) = office.acts()
    assert (caller, act.route, act.rule, act.count) == ("servicenow", "GET /v1/tasks/{task_id}", "database.away", 1)
    assert [vars(one) for one in act.tried] == [{"subject": "servicenow", "path": "/v1/tasks/apr_1"}]


def test_what_is_counted_is_written_within_ten_seconds() -> None:
    tallies, now = Tallies(), 100.0
    at = "2026-01-05T09:00:00.000000Z"
    one = RequestRefused(
        route="GET /", rule="act.denied", count=1, first_at=at, last_at=at, tried=[Tried(subject="a", path="/")]
    )
    for moment in (now, now + 0.5, now + 3.0):
        tallies.add("portal", one)
        assert [act.count for _, act in tallies.take(moment)] == ([1] if moment == now else [])
    assert tallies.next_due() == now + 10
    assert [act.count for _, act in tallies.take(now + 10)] == [2]


async def test_a_process_that_ends_without_its_database_says_how_many_refusals_are_on_no_record(
    office: Office, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    with without_writes(office.dsn):
        async with edge_of(office.system) as edge:
            answers = [await vote_for(edge, "sena") for _ in range(3)]
            assert {answer.status for answer in answers} == {403}
    assert "refused requests that are on no record: 3" in caplog.text
    assert office.acts() == []


async def test_answers_that_may_not_count_are_on_record_with_what_they_were_for(stage: Stage) -> None:
    asked = await stage.asked("refused")
    assert (await stage.answer(asked, "no token", token=None)).status == 403
    assert (await stage.answer(asked, "other caller", by="servicenow")).status == 403
    await until(lambda: _has(stage, "onboarding-portal", "answer.no_token", asked["correlation_key"]))
    await until(lambda: _has(stage, "servicenow", "answer.not_yours", asked["correlation_key"]))


async def _has(stage: Stage, caller: str, rule: str, subject: str) -> bool:
    found = [act for who, act in refused(stage.dsn) if (who, act.rule) == (caller, rule)]
    return any(one.subject == subject for act in found for one in act.tried)
