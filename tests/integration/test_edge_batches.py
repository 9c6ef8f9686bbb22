"""Batches of triggers over HTTP: each has its own outcome, harms no other, and counts against its caller's rate."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from countersign.embedded.opa import OpaChild
from edge.triggers import BATCH_LIMIT, MOST
from tests.integration.program_stage import CASE, Answer, Edge, composed, edge_of, is_problem, rows, settings_of
from tests.integration.test_edge_refused import refused
from tests.integration.test_readiness import FULL
from tests.patience import until

PATH = "/v1/triggers:batch"
KIND = "kyc.onboarding"


@pytest.fixture
async def edge(dsn: str, opa: OpaChild, tmp_path: Path) -> AsyncIterator[Edge]:
    async with (
        composed(settings_of(dsn, opa.url, tmp_path, caller_rate=0.01, caller_burst=MOST)) as system,
        edge_of(system) as edge,
    ):
        yield edge


def one(ref: str, **more: Any) -> dict[str, Any]:
    return {"type": KIND, "ref": ref, "payload": CASE, "on_behalf_of": "rita", **more}


async def batch(edge: Edge, *triggers: Any, by: str = "onboarding-portal") -> Answer:
    return await edge.send("POST", PATH, json.dumps({"triggers": triggers}).encode(), by=by)


def outcomes(answer: Answer) -> list[str]:
    assert answer.status == 202
    return [told["outcome"] for told in answer.body["outcomes"]]


async def test_each_trigger_of_a_batch_starts_its_run_and_the_same_batch_starts_nothing_twice(edge: Edge) -> None:
    sent = [one(f"b{number}") for number in range(200)]
    first, again = await batch(edge, *sent), await batch(edge, *sent)
    assert (outcomes(first), outcomes(again)) == (["started"] * 200, ["known"] * 200)
    runs = [[told["run_id"] for told in answer.body["outcomes"]] for answer in (first, again)]
    assert runs[0] == runs[1]
    assert len(set(runs[0])) == 200
    assert [told["ref"] for told in first.body["outcomes"]] == [f"b{number}" for number in range(200)]


async def test_a_batch_knows_what_came_alone_and_what_comes_twice_in_it(edge: Edge) -> None:
    alone = await edge.trigger("b1")
    answer = await batch(edge, one("b1"), one("b2"), one("b2"))
    assert outcomes(answer) == ["known", "started", "known"]
    told = answer.body["outcomes"]
    assert told[0] == {"outcome": "known", "ref": "b1", "run_id": alone.body["run_id"]}
    assert told[1]["run_id"] == told[2]["run_id"]


async def test_what_is_wrong_in_a_batch_is_refused_in_its_place_as_it_would_be_alone(edge: Edge, dsn: str) -> None:
    await edge.trigger("old")
    answer = await batch(
        edge,
        one("b1"),
        7,
        {"type": KIND, "ref": "b2"},
        one("b3", colour="red"),
        one("b4", payload={}),
        one("b5", type="not.mine"),
        one("b6", on_behalf_of="nobody"),
        one("b7", version=99),
        one("old", on_behalf_of="anna"),
        one("b8"),
    )
    assert outcomes(answer) == ["started", *["refused"] * 8, "started"]
    told = answer.body["outcomes"][1:-1]
    assert [one["problem"]["status"] for one in told] == [422, 422, 422, 422, 403, 422, 409, 409]
    assert [one.get("ref") for one in told] == [None, "b2", "b3", "b4", "b5", "b6", "b7", "old"]
    says = [
        "no JSON object",
        "payload: Field required",
        "colour: Extra",
        "payload:",
        "may not send",
        "nobody",
        "99",
        "before",
    ]
    assert [say in one["problem"]["detail"] for say, one in zip(says, told, strict=True)] == [True] * 8
    assert len(rows(dsn, "SELECT FROM runs")) == 3

    async def is_on_record() -> bool:
        return bool(refused(dsn))

    await until(is_on_record)
    [(caller, act)] = refused(dsn)
    assert (caller, act.route, act.rule, act.tried[0].subject) == (
        "onboarding-portal", f"POST {PATH}", "caller.triggers", "not.mine"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b"{}", 422, "triggers: Field required"),
        (b'{"triggers": []}', 422, "at least 1"),
        (b'{"triggers": {}}', 422, "list"),
        (json.dumps({"triggers": [1] * (MOST + 1)}).encode(), 422, f"at most {MOST}"),
        (b'{"triggers": [1], "dry_run": true}', 422, "dry_run"),
        (b'{"triggers": [', 400, "not JSON"),
        (b" " * (BATCH_LIMIT + 1), 413, str(BATCH_LIMIT)),
    ],
)
async def test_what_is_no_batch_is_refused_as_a_whole(edge: Edge, body: bytes, status: int, says: str) -> None:
    assert is_problem(await edge.send("POST", PATH, body), status, says)


async def test_a_batch_with_very_many_faults_is_answered_with_their_number(edge: Edge) -> None:
    many = {f"{number:x}": 1 for number in range(200_000)}
    answer = await batch(edge, many, one("b1"))
    assert outcomes(answer) == ["refused", "started"]
    problem = answer.body["outcomes"][0]["problem"]
    assert problem == {"status": 422, "title": "Not acceptable", "detail": "200003 faults: too many to name"}


async def test_a_large_batch_does_not_keep_other_requests_waiting(edge: Edge) -> None:
    body = b'{"triggers": [{"payload": [%b{}]}]}' % (b"{}," * (BATCH_LIMIT // 3 - 20))
    longest, ends = 0.0, asyncio.Event()

    async def watch() -> None:
        nonlocal longest
        before = time.thread_time()
        while not ends.is_set():
            await asyncio.sleep(0)
            longest, before = max(longest, time.thread_time() - before), time.thread_time()

    watching = asyncio.create_task(watch())
    assert outcomes(await edge.send("POST", PATH, body)) == ["refused"]
    ends.set()
    await watching
    assert longest < 0.2


async def test_each_trigger_of_a_batch_counts_against_its_callers_rate(edge: Edge, dsn: str) -> None:
    assert outcomes(await batch(edge, *[one(f"b{number}") for number in range(MOST - 1)])) == ["started"] * (MOST - 1)
    refused = await batch(edge, one("late1"), one("late2"))
    assert is_problem(refused, 429, "onboarding-portal sends too many requests")
    assert is_problem(await batch(edge, one("later")), 429)
    assert not rows(dsn, "SELECT FROM runs WHERE trigger_ref LIKE 'late%%'")


async def test_a_batch_that_finds_the_disk_full_says_of_each_that_it_may_be_sent_again(edge: Edge, dsn: str) -> None:
    with psycopg.connect(dsn) as conn:
        conn.execute(FULL.encode())
    answer = await batch(edge, one("b1"), one("b2"))
    assert outcomes(answer) == ["failed", "failed"]
    assert [told["problem"]["status"] for told in answer.body["outcomes"]] == [503, 503]
    assert "takes no writes just now; try again" in answer.body["outcomes"][0]["problem"]["detail"]

    async def is_on_record() -> bool:
        return bool(refused(dsn))

    await until(is_on_record)
    assert {(caller, act.route, act.rule) for caller, act in refused(dsn)} == {
        ("onboarding-portal", f"POST {PATH}", "database.away")
    }


async def test_an_error_of_ours_in_a_batch_is_logged_and_tells_nothing(
    edge: Edge, dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    with psycopg.connect(dsn) as conn:
        conn.execute("ALTER TABLE runs RENAME COLUMN salt TO pepper")
    caplog.clear()
    answer = await batch(edge, one("b1"))
    assert outcomes(answer) == ["failed"]
    assert answer.body["outcomes"][0]["problem"] == {
        "status": 500, "title": "Internal error", "detail": "the request could not be handled"
    }  # fmt: skip
    assert [record.name for record in caplog.records if record.levelname == "ERROR"] == ["edge.triggers"]
