"""Webhooks at the edge about one incident: the answer names the run, and says what became of the second."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from countersign.embedded.opa import OpaChild
from tests.integration.program_stage import Answer, Edge, composed, edge_of, is_problem, rows, settings_of

SYS_ID = "a" * 32


@pytest.fixture
async def edge(dsn: str, opa: OpaChild, tmp_path: Path) -> AsyncIterator[Edge]:
    async with composed(settings_of(dsn, opa.url, tmp_path)) as system, edge_of(system) as found:
        yield found


async def hook(edge: Edge, ref: str, priority: int = 3) -> Answer:
    """Send the webhook of an incident."""
    body = {"ref": ref, "payload": {"sys_id": SYS_ID, "number": "INC0010042", "priority": priority}}
    return await edge.send("POST", "/v1/triggers/servicenow.incident", json.dumps(body).encode(), by="servicenow")


async def test_the_answer_to_the_second_webhook_names_the_run_and_the_signal(edge: Edge) -> None:
    first, second = await hook(edge, "1"), await hook(edge, "2", priority=1)
    assert (first.status, first.body) == (202, {"run_id": first.body["run_id"], "is_new": True})
    assert second.status == 202
    assert second.body == {
        "run_id": first.body["run_id"],
        "is_new": False,
        "signal": {
            "name": "incident_updated",
            "status": "early",
            "reason": "no step waits for this signal yet; it is kept as long as the run goes on",
        },
    }


async def test_a_webhook_that_is_delivered_again_has_the_same_answer(edge: Edge, dsn: str) -> None:
    first, second = await hook(edge, "1"), await hook(edge, "2")
    assert (await hook(edge, "1")).body == {**first.body, "is_new": False}
    assert (await hook(edge, "2")).body == second.body
    assert is_problem(await hook(edge, "2", priority=1), 409, "was claimed before")
    assert len(rows(dsn, "SELECT 1 FROM runs")) == len(rows(dsn, "SELECT 1 FROM notifications")) == 1


async def test_webhooks_at_one_moment_are_one_run_and_signals_to_it(edge: Edge, dsn: str) -> None:
    answers = await asyncio.gather(*(hook(edge, str(number)) for number in range(12)))
    assert {answer.status for answer in answers} == {202}
    assert len({answer.body["run_id"] for answer in answers}) == 1
    assert sorted("signal" in answer.body for answer in answers) == [False] + [True] * 11
    assert len(rows(dsn, "SELECT 1 FROM runs")) == 1
    assert len(rows(dsn, "SELECT 1 FROM notifications WHERE kind = 'signal'")) == 11
