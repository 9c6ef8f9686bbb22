"""What comes in over HTTP beside answers: word of progress, one answer for many waits, and signals."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

from countersign.embedded.opa import OpaChild
from countersign.system import System
from runtime.worker.worker import Worker
from tests.integration.program_stage import (
    CASE,
    Answer,
    Edge,
    composed,
    database,
    edge_of,
    is_problem,
    rows,
    settings_of,
)


@dataclass
class Stage:
    """A system and its edge; what its connectors would reach is not there."""

    system: System
    edge: Edge
    dsn: str

    async def run(self, ref: str) -> str:
        """Start a run, which waits for its first step; return its id."""
        claim = await self.edge.trigger(ref, payload={**CASE, "case_id": str(uuid4())})
        return str(claim.body["run_id"])

    async def signal(self, path: str, by: str = "onboarding-portal", **sent: Any) -> Answer:
        return await self.edge.send("POST", path, json.dumps(sent).encode(), by=by)


@pytest.fixture(scope="module")
async def stage(postgres: str, opa: OpaChild, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with AsyncExitStack() as stack:
        dsn = stack.enter_context(database(postgres, "incoming"))
        settings = settings_of(dsn, opa.url, tmp_path_factory.mktemp("incoming"))
        system = await stack.enter_async_context(composed(settings))
        yield Stage(system, await stack.enter_async_context(edge_of(system)), dsn)


async def test_a_signal_is_kept_for_its_run_and_sent_again_gets_the_same_answer(stage: Stage) -> None:
    run_id = await stage.run("kept")
    sent: dict[str, Any] = {"ref": "kept 1", "name": "client_called", "data": {"at": "noon"}}
    answer = await stage.signal(f"/v1/runs/{run_id}/signals", **sent)
    assert (answer.status, answer.body["status"], answer.body["run_id"]) == (202, "early", run_id)
    assert "kept as long as the run goes on" in answer.body["reason"]
    assert (await stage.signal(f"/v1/runs/{run_id}/signals", **sent)).body == answer.body
    assert is_problem(
        await stage.signal(f"/v1/runs/{run_id}/signals", **{**sent, "data": {}}), 409, "for another signal"
    )


async def test_an_answers_id_is_no_signals_ref_however_it_is_spelt(stage: Stage) -> None:
    run_id = await stage.run("spelt")
    answer: dict[str, Any] = {"id": "signal:spelt", "type": "completed", "correlation_key": "acme:none", "token": "t"}
    assert (await stage.edge.notify(**answer, result={})).status == 202
    sent = await stage.signal(f"/v1/runs/{run_id}/signals", ref="spelt", name="client_called")
    assert (sent.status, sent.body["status"]) == (202, "early")


async def test_a_signal_by_reference_finds_its_run(stage: Stage) -> None:
    run_id = await stage.run("by reference")
    answer = await stage.signal("/v1/signals", ref="r1", name="client_called", reference="by reference")
    assert (answer.status, answer.body["run_id"]) == (202, run_id)
    nobody = await stage.signal("/v1/signals", ref="r2", name="client_called", reference="nobody")
    assert is_problem(nobody, 404, "no run under the reference nobody")


async def test_a_caller_without_the_grant_finds_no_run_to_send_a_signal_to(stage: Stage) -> None:
    run_id = await stage.run("not theirs")
    sent = {"ref": "n1", "name": "client_called"}
    assert is_problem(await stage.signal(f"/v1/runs/{run_id}/signals", by="servicenow", **sent), 404, "no run")
    assert is_problem(await stage.signal("/v1/runs/%00/signals", **sent), 404, "path.run_id")
    assert not rows(stage.dsn, "SELECT 1 FROM notifications WHERE payload ->> 'run_id' = %s", run_id)


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ({"ref": "1", "name": "Not a name"}, "name"),
        ({"ref": "1", "name": "called", "data": []}, "data"),
        ({"ref": "1", "name": "called", "more": 1}, "more"),
        ({"name": "called"}, "ref"),
    ],
)
async def test_a_malformed_signal_is_refused_and_names_what_is_wrong(
    stage: Stage, sent: dict[str, Any], says: str
) -> None:
    assert is_problem(await stage.signal("/v1/runs/run_1/signals", **sent), 422, says)


async def test_data_goes_with_progress_alone(stage: Stage) -> None:
    word: dict[str, Any] = {"id": "d1", "type": "completed", "correlation_key": "k", "data": {"got": 1}}
    assert is_problem(await stage.edge.notify(**word), 422, "only word of progress has it")


async def test_a_run_shows_the_newest_word_of_progress_of_each_step(stage: Stage) -> None:
    run_id = await stage.run("shown")
    await Worker(stage.system.engine).drain()
    before = await stage.edge.run(run_id)
    assert {step["progress"] for step in before.body["steps"]} == {None}
