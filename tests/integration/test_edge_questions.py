"""Questions over HTTP: a caller finds those about what it brought in, answers them for itself, and sees no others."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from runtime.model.person import SlackAccount
from runtime.model.votes import CardAct
from runtime.services.approvals import ApprovalService
from runtime.services.clicks import Click
from runtime.worker.worker import Worker
from tests.integration.program_stage import Answer, is_problem, rows
from tests.integration.test_edge_answers import Stage, staged

PORTAL = "onboarding-portal"


@pytest.fixture(scope="module")
async def stage(postgres: str, opa: OpaChild, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with staged(postgres, opa, tmp_path_factory.mktemp("questions")) as stage:
        yield stage


async def _asked(stage: Stage, ref: str) -> str:
    """Bring a case to its review, and have an officer ask about it; return the question."""
    asked = await stage.asked(ref)
    await stage.answer(asked, f"{ref} documents")
    await Worker(stage.system.engine).drain()
    query = "SELECT a.approval_id FROM approvals a JOIN waits w USING (run_id) WHERE w.token = %s"
    (row,) = rows(stage.dsn, query, asked["token"])
    desk = ApprovalService(stage.system.engine, stage.system.engine.tenant)
    click = Click(
        dedupe_key=ref,
        approval_id=row["approval_id"],
        stamp="",
        verdict=CardAct.ASK,
        reason="who signs for them?",
        account=SlackAccount("T0HOST", "U0BORIS"),
        person_id="boris",
        refusal=None,
        request_id="req-ask",
    )
    assert (await desk.apply(await desk.record(click))).counted
    (found,) = rows(stage.dsn, "SELECT question_id FROM questions WHERE approval_id = %s", row["approval_id"])
    return str(found["question_id"])


async def _reply(stage: Stage, question: str, by: str = PORTAL, **sent: Any) -> Answer:
    body = json.dumps({"ref": f"{question} 1", "text": "their two directors", **sent}).encode()
    return await stage.edge.send("POST", f"/v1/questions/{question}/answer", body, by=by)


async def test_a_caller_finds_a_question_and_answers_it_once(stage: Stage) -> None:
    question = await _asked(stage, "asked")
    waiting = await stage.edge.send("GET", "/v1/questions", by=PORTAL)
    (seen,) = waiting.body["questions"]
    assert (seen["question_id"], seen["question"], seen["person"]) == (question, "who signs for them?", "boris")
    for _ in range(2):
        replied = await _reply(stage, question)
        assert (replied.status, replied.body) == (200, {"question_id": question}), "sent again, it gets the same"
    (kept,) = rows(stage.dsn, "SELECT answer FROM questions WHERE question_id = %s", question)
    assert (kept["answer"]["by"], kept["answer"]["kind"]) == (PORTAL, "agent")
    assert kept["answer"]["text"] == "their two directors"
    assert (await stage.edge.send("GET", "/v1/questions", by=PORTAL)).body == {"questions": []}
    assert is_problem(await _reply(stage, question, ref="another"), 404, "no open question")
    assert is_problem(await _reply(stage, question, text="nobody"), 409, "used before")


async def test_a_question_about_what_others_brought_in_is_not_there(stage: Stage) -> None:
    question = await _asked(stage, "foreign")
    assert (await stage.edge.send("GET", "/v1/questions", by="servicenow")).body == {"questions": []}
    assert is_problem(await _reply(stage, question, by="servicenow"), 404, "no open question")
    assert (await _reply(stage, question)).status == 200


@pytest.mark.parametrize(
    ("sent", "status", "says"),
    [
        ({"text": ""}, 422, "text"),
        ({"text": "  "}, 422, "in a few words"),
        ({"text": "x" * 2001}, 422, "text"),
        ({"more": 1}, 422, "more"),
    ],
)
async def test_what_is_no_answer_is_refused_and_changes_nothing(
    stage: Stage, sent: dict[str, Any], status: int, says: str
) -> None:
    question = await _asked(stage, f"wrong {sent}"[:40])
    assert is_problem(await _reply(stage, question, **sent), status, says)
    (kept,) = rows(stage.dsn, "SELECT answer FROM questions WHERE question_id = %s", question)
    assert kept["answer"] is None
