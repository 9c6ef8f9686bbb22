"""Reviews over HTTP: a caller brings the word of people for whom the directory lets it answer, and of nobody else.

Callers find the evidence of the runs that they may see, and of no others.
"""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from edge.signing import headers
from runtime.clock import utc_now
from runtime.worker import Worker
from tests.integration.program_stage import (
    SECRETS,
    Answer,
    Edge,
    composed,
    database,
    edge_of,
    is_problem,
    rows,
    settings_of,
)
from tests.integration.test_edge_answers import Stage, staged
from tests.patience import until


@pytest.fixture(scope="module")
async def stage(postgres: str, opa: OpaChild, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with staged(postgres, opa, tmp_path_factory.mktemp("tasks")) as stage:
        yield stage


async def review(stage: Stage, ref: str) -> dict[str, Any]:
    """Bring a case to its review, and return that as its officers see it over HTTP."""
    asked = await stage.asked(ref)
    await stage.answer(asked, f"{ref} documents")
    await Worker(stage.system.engine).drain()
    query = "SELECT a.approval_id, a.run_id FROM approvals a JOIN waits w USING (run_id) WHERE w.token = %s"
    (row,) = rows(stage.dsn, query, asked["token"])
    seen = await get(stage, f"/v1/tasks/{row['approval_id']}?as=boris")
    assert seen.status == 200, seen.body
    return dict(seen.body)


async def get(stage: Stage, path: str, by: str = "servicenow") -> Answer:
    return await stage.edge.send("GET", path, by=by)


async def post(stage: Stage, task: dict[str, Any], what: str, by: str = "servicenow", **sent: Any) -> Answer:
    body = {"as": "boris", "ref": f"{task['task_id']} {what}", **sent}
    if what == "answer":
        body = {"decision": "approved", "reason": "seen and checked", "stamp": task["stamp"], **body}
    return await stage.edge.send("POST", f"/v1/tasks/{task['task_id']}/{what}", json.dumps(body).encode(), by=by)


async def test_a_review_is_listed_claimed_answered_and_its_vote_says_who_brought_it(stage: Stage) -> None:
    task = await review(stage, "whole")
    assert (task["status"], task["assignee"], task["groups"]) == ("requested", None, ["compliance"])
    listed = await get(stage, f"/v1/tasks?as=boris&run={task['run_id']}")
    assert [one["task_id"] for one in listed.body["tasks"]] == [task["task_id"]]
    assert (await post(stage, task, "claim")).status == 200
    assert is_problem(await post(stage, task, "answer", ref="anna", **{"as": "anna"}), 409, "Boris Lind has claimed it")
    mine = await get(stage, "/v1/tasks?as=anna&assignee=boris")
    assert [one["task_id"] for one in mine.body["tasks"]] == [task["task_id"]]
    answered = await post(stage, task, "answer")
    assert (answered.status, answered.body) == (200, {"task_id": task["task_id"], "status": "approved"})
    assert (await post(stage, task, "answer")).body == answered.body, "sent again, it gets the same answer"
    (vote,) = rows(stage.dsn, "SELECT person, via, brought_by FROM votes WHERE approval_id = %s", task["task_id"])
    assert vote == {"person": "boris", "via": "edge", "brought_by": "servicenow"}
    assert is_problem(await post(stage, task, "answer", ref="other", decision="rejected"), 409, "approved")


@pytest.mark.parametrize(
    ("by", "sent", "status", "says"),
    [
        ("servicenow", {"as": "sena"}, 403, "servicenow may not answer for sena"),
        ("onboarding-portal", {}, 403, "the caller that started a run cannot bring answers to it"),
        ("servicenow", {"as": "ivan"}, 404, "no task"),
        ("servicenow", {"as": "rita"}, 404, "no task"),
        ("servicenow", {"stamp": "0" * 16}, 409, "it has changed since it was seen"),
        ("servicenow", {"decision": "rejected", "reason": ""}, 422, "a reason is needed"),
        ("servicenow", {"decision": "maybe"}, 422, "decision"),
        ("servicenow", {"stamp": None}, 422, "stamp"),
        ("servicenow", {"more": 1}, 422, "more"),
    ],
)
async def test_what_may_not_count_is_refused_with_a_sentence_and_the_review_stays_open(
    stage: Stage, by: str, sent: dict[str, Any], status: int, says: str
) -> None:
    task = await review(stage, f"refused {by} {sent}")
    assert is_problem(await post(stage, task, "answer", by=by, **sent), status, says)
    assert (await get(stage, f"/v1/tasks/{task['task_id']}?as=boris")).body["status"] == "requested"


async def test_an_answer_by_the_caller_that_started_the_run_is_on_record_in_the_tenants_chain(stage: Stage) -> None:
    task = await review(stage, "brought")
    assert (await post(stage, task, "claim", by="onboarding-portal")).status == 403
    await until(lambda: _brought(stage, f"/v1/tasks/{task['task_id']}/claim"))


async def _brought(stage: Stage, path: str) -> bool:
    query = "SELECT leaf->'data' AS said FROM tenant_leaves WHERE leaf->'data'->>'rule' = 'vote.brought'"
    tried = [one for row in rows(stage.dsn, query) for one in row["said"]["tried"]]
    return {"subject": "boris", "path": path} in tried


async def test_a_review_is_given_back_by_who_has_claimed_it(stage: Stage) -> None:
    task = await review(stage, "back")
    assert is_problem(await post(stage, task, "release"), 409, "has not claimed it")
    await post(stage, task, "claim")
    assert (await post(stage, task, "release", ref="again")).status == 200
    assert (await get(stage, f"/v1/tasks/{task['task_id']}?as=boris")).body["assignee"] is None


async def test_reviews_come_a_page_at_a_time(stage: Stage) -> None:
    for number in range(3):
        await review(stage, f"page {number}")
    everything = (await get(stage, "/v1/tasks?as=boris")).body
    assert everything["next"] is None
    found, after = [], ""
    while True:
        page = (await get(stage, f"/v1/tasks?as=boris&limit=2{after}")).body
        found += page["tasks"]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"
    assert [task["task_id"] for task in found] == [task["task_id"] for task in everything["tasks"]]
    assert len(found) >= 3


async def test_no_page_of_reviews_follows_on_what_is_none(stage: Stage) -> None:
    answer = await get(stage, "/v1/tasks?as=boris&after=apr_0")
    assert (answer.status, "after: there is no task apr_0" in json.dumps(answer.body)) == (422, True)


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/v1/tasks", 422, "as"),
        ("/v1/tasks?as=boris&as=anna", 422, "appears twice"),
        ("/v1/tasks?as=boris&limit=0", 422, "limit"),
        ("/v1/tasks?as=boris&status=open", 422, "status"),
        ("/v1/tasks?as=sena", 403, "may not answer for sena"),
        ("/v1/tasks/apr_none?as=boris", 404, "no task apr_none"),
    ],
)
async def test_what_is_asked_for_in_a_wrong_way_is_said(stage: Stage, path: str, status: int, says: str) -> None:
    assert is_problem(await get(stage, path), status, says)


async def test_a_query_is_part_of_what_is_signed(stage: Stage) -> None:

    now = int(utc_now().timestamp())
    signed = headers("servicenow", SECRETS["servicenow"], now, "GET", "/v1/tasks?as=ivan", b"")
    assert is_problem(await stage.edge.send("GET", "/v1/tasks?as=boris", signed=signed), 401)


PATH = "/v1/evidence/search"
INCIDENT = {"sys_id": "0" * 32, "number": "INC0010042", "priority": 3}


@dataclass
class EvidenceStage:
    """An edge with two onboardings and an incident."""

    edge: Edge
    runs: dict[str, str]

    async def search(self, by: str = "onboarding-portal", **asked: Any) -> Answer:
        return await self.edge.send("POST", PATH, json.dumps(asked).encode(), by=by)

    async def found(self, by: str = "onboarding-portal", **asked: Any) -> list[str]:
        return [run["reference"] for run in (await self.search(by, **asked)).body["runs"]]


@pytest.fixture(scope="module")
async def evidence_stage(
    postgres: str, opa: OpaChild, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[EvidenceStage]:
    home: Path = tmp_path_factory.mktemp("edge")
    with database(postgres, "edge_evidence") as dsn:
        async with composed(settings_of(dsn, opa.url, home)) as system, edge_of(system) as edge:
            runs = {ref: (await edge.trigger(ref)).body["run_id"] for ref in ("case-1", "case-2")}
            body = json.dumps({"ref": "inc-1", "payload": INCIDENT}).encode()
            assert (await edge.send("POST", "/v1/triggers/servicenow.incident", body, by="servicenow")).status == 202
            yield EvidenceStage(edge, runs)


async def test_a_caller_finds_the_runs_of_the_types_that_it_may_trigger(evidence_stage: EvidenceStage) -> None:
    assert await evidence_stage.found() == ["case-2", "case-1"]
    assert await evidence_stage.found(by="servicenow") == [f"incident:{INCIDENT['sys_id']}"]
    assert await evidence_stage.found(by="servicenow", reference="case") == []


async def test_what_is_found_says_how_it_stands_with_the_evidence(evidence_stage: EvidenceStage) -> None:
    (run,) = (await evidence_stage.search(reference="CASE-1")).body["runs"]
    assert (run["run_id"], run["state"], run["status"]) == (evidence_stage.runs["case-1"], "open", "queued")
    assert (run["sha256"], run["requested_by"], run["waits_for"]) == (None, "rita", [])


async def test_values_of_the_trigger_are_not_looked_through_for_callers(evidence_stage: EvidenceStage) -> None:
    assert await evidence_stage.found(reference="example") == []


async def test_runs_are_narrowed_by_person_runbook_state_and_days(evidence_stage: EvidenceStage) -> None:
    today = str(utc_now().date())
    asked: dict[str, Any] = {"person": "rita", "states": ["open"], "from": "2026-01-01", "outcome": "queued"}
    assert len(await evidence_stage.found(**asked)) == 2
    assert await evidence_stage.found(definition="incident-triage") == []
    assert await evidence_stage.found(to="2020-01-01") == []
    assert len(await evidence_stage.found(to=today)) == 2


async def test_pages_follow_each_other(evidence_stage: EvidenceStage) -> None:
    first = (await evidence_stage.search(limit=1)).body
    assert [run["reference"] for run in first["runs"]] == ["case-2"]
    rest = (await evidence_stage.search(limit=1, after=first["after"])).body
    assert ([run["reference"] for run in rest["runs"]], rest["after"]) == (["case-1"], None)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"customer": "x"}, "customer: Extra inputs are not permitted"),
        ({"first_day": "2026-01-01"}, "first_day: Extra inputs"),
        ({"from": "yesterday"}, "from: Value error, 'yesterday' is not written as a day"),
        ({"from": "2026-02-01", "to": "2026-01-01"}, "2026-02-01 is after 2026-01-01"),
        ({"states": ["lost"]}, "states.0: "),
        ({"limit": 1001}, "limit: "),
        ({"limit": "5"}, "limit: "),
        ({"after": "run_0"}, "after: there is no run run_0"),
    ],
)
async def test_what_cannot_be_sought_is_said(evidence_stage: EvidenceStage, asked: dict[str, Any], says: str) -> None:
    assert is_problem(await evidence_stage.search(**asked), 422, says)


async def test_nobody_searches_unsigned(evidence_stage: EvidenceStage) -> None:
    assert is_problem(await evidence_stage.edge.send("POST", PATH, b"{}", signed={}), 401)
