"""Callers find the evidence of the runs that they may see, and of no others."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from runtime.clock import utc_now
from tests.integration.program_stage import Answer, Edge, composed, database, edge_of, is_problem, settings_of

PATH = "/v1/evidence/search"
INCIDENT = {"sys_id": "0" * 32, "number": "INC0010042", "priority": 3}


@dataclass
class Stage:
    """An edge with two onboardings and an incident."""

    edge: Edge
    runs: dict[str, str]

    async def search(self, by: str = "onboarding-portal", **asked: Any) -> Answer:
        return await self.edge.send("POST", PATH, json.dumps(asked).encode(), by=by)

    async def found(self, by: str = "onboarding-portal", **asked: Any) -> list[str]:
        return [run["reference"] for run in (await self.search(by, **asked)).body["runs"]]


@pytest.fixture(scope="module")
async def stage(postgres: str, opa: OpaChild, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    home: Path = tmp_path_factory.mktemp("edge")
    with database(postgres, "edge_evidence") as dsn:
        async with composed(settings_of(dsn, opa.url, home)) as system, edge_of(system) as edge:
            runs = {ref: (await edge.trigger(ref)).body["run_id"] for ref in ("case-1", "case-2")}
            body = json.dumps({"ref": "inc-1", "payload": INCIDENT}).encode()
            assert (await edge.send("POST", "/v1/triggers/servicenow.incident", body, by="servicenow")).status == 202
            yield Stage(edge, runs)


async def test_a_caller_finds_the_runs_of_the_types_that_it_may_trigger(stage: Stage) -> None:
    assert await stage.found() == ["case-2", "case-1"]
    assert await stage.found(by="servicenow") == [f"incident:{INCIDENT['sys_id']}"]
    assert await stage.found(by="servicenow", reference="case") == []


async def test_what_is_found_says_how_it_stands_with_the_evidence(stage: Stage) -> None:
    (run,) = (await stage.search(reference="CASE-1")).body["runs"]
    assert (run["run_id"], run["state"], run["status"]) == (stage.runs["case-1"], "open", "queued")
    assert (run["sha256"], run["requested_by"], run["waits_for"]) == (None, "rita", [])


async def test_values_of_the_trigger_are_not_looked_through_for_callers(stage: Stage) -> None:
    assert await stage.found(reference="example") == []


async def test_runs_are_narrowed_by_person_runbook_state_and_days(stage: Stage) -> None:
    today = str(utc_now().date())
    asked: dict[str, Any] = {"person": "rita", "states": ["open"], "from": "2026-01-01", "outcome": "queued"}
    assert len(await stage.found(**asked)) == 2
    assert await stage.found(definition="incident-triage") == []
    assert await stage.found(to="2020-01-01") == []
    assert len(await stage.found(to=today)) == 2


async def test_pages_follow_each_other(stage: Stage) -> None:
    first = (await stage.search(limit=1)).body
    assert [run["reference"] for run in first["runs"]] == ["case-2"]
    rest = (await stage.search(limit=1, after=first["after"])).body
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
async def test_what_cannot_be_sought_is_said(stage: Stage, asked: dict[str, Any], says: str) -> None:
    assert is_problem(await stage.search(**asked), 422, says)


async def test_nobody_searches_unsigned(stage: Stage) -> None:
    assert is_problem(await stage.edge.send("POST", PATH, b"{}", signed={}), 401)
