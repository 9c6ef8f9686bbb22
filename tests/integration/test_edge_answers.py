"""Answers over HTTP: every refusal has its status and a sentence, is on record, and leaves the wait as it was."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
from aiohttp.test_utils import TestServer
from countersign_kyc.standins import build
from countersign_kyc.standins import settings as standin_settings

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
    sandbox,
    settings_of,
)

KINDS = ("certificate_of_incorporation", "shareholder_register")
RESULT = {"documents": [{"type": kind, "name": f"{kind}.pdf", "sha256": "0" * 64} for kind in KINDS]}


@dataclass
class Stage:
    """A system, its edge, and the client portal that it asks for documents."""

    system: System
    edge: Edge
    portal: str
    dsn: str

    async def asked(self, ref: str) -> dict[str, Any]:
        """Bring a case to its documents; return what the portal was asked."""
        case = str(uuid4())
        await self.edge.trigger(ref, payload={**CASE, "case_id": case})
        await Worker(self.system.engine).drain()
        async with (
            aiohttp.ClientSession() as http,
            http.get(f"{self.portal}/__standin/portal/requests") as response,
        ):
            requests: list[dict[str, Any]] = (await response.json())["requests"]
        return next(request for request in requests if request["case_id"] == case)

    async def answer(self, asked: dict[str, Any], id_: str, **change: Any) -> Answer:
        """Answer as the portal would, but for the change; what is None is left out."""
        word = {"id": id_, "type": "completed", "result": RESULT}
        word |= {name: asked[name] for name in ("correlation_key", "token")}
        return await self.edge.notify(**{name: value for name, value in (word | change).items() if value is not None})

    def step(self, asked: dict[str, Any]) -> str:
        """Return where the step stands that asked."""
        query = "SELECT s.status FROM steps s JOIN waits w USING (run_id) WHERE w.token = %s AND s.path = w.step"
        return str(rows(self.dsn, query, asked["token"])[0]["status"])


@pytest.fixture(scope="module")
async def stage(postgres: str, opa: OpaChild, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with staged(postgres, opa, tmp_path_factory.mktemp("answers")) as stage:
        yield stage


@asynccontextmanager
async def staged(postgres: str, opa: OpaChild, home: Path, way: Callable[[str], str] = str) -> AsyncIterator[Stage]:
    """Run a system with its portal beside it, over a database named after its home, which it reaches by a way."""
    async with AsyncExitStack() as stack:
        slack = await stack.enter_async_context(sandbox())
        server = await stack.enter_async_context(TestServer(build()))
        portal = str(server.make_url("")).rstrip("/")
        dsn = stack.enter_context(database(postgres, home.name))
        without = {"bloomberg_client_id": "", "callback_url": "https://countersign.example/v1/notifications"}
        pack = {"kyc": {**standin_settings(portal), **without}}  # Bloomberg answers after seconds
        system = await stack.enter_async_context(
            composed(settings_of(way(dsn), opa.url, home, slack_api_url=f"{slack}/api/", pack=pack))
        )
        yield Stage(system, await stack.enter_async_context(edge_of(system)), portal, dsn)


@pytest.mark.parametrize(
    ("change", "status", "says"),
    [
        ({"token": None}, 403, "the token that came with the request is missing"),
        ({"token": "another"}, 409, "the token is that of another request"),
        ({"result": {"documents": [{"type": 7}]}}, 422, "result: /documents/0"),
        ({"result": {}}, 422, "result: /: 'documents' is a required property"),
        ({"by": "servicenow"}, 403, "this caller may not answer for request_client_documents"),
    ],
)
async def test_an_answer_that_may_not_count_is_refused_with_a_sentence_and_the_wait_goes_on(
    stage: Stage, change: dict[str, Any], status: int, says: str
) -> None:
    name = f"refused {status} {says}"
    asked = await stage.asked(name)
    refused = await stage.answer(asked, name, **change)
    assert is_problem(refused, status, says)
    assert (await stage.answer(asked, name, **change)).body == refused.body, "sent again, it gets the same answer"
    assert stage.step(asked) == "parked"
    put_right = await stage.answer(asked, f"{name} put right")
    assert (put_right.status, put_right.body["status"]) == (202, "applied")
    assert [wait["status"] for wait in put_right.body["waits"]] == ["applied"]
    assert stage.step(asked) == "succeeded"


async def test_an_answer_to_a_step_that_people_answer_hears_so(stage: Stage) -> None:
    asked = await stage.asked("people")
    await stage.answer(asked, "people")
    await Worker(stage.system.engine).drain()
    key = f"acme:await_compliance_review:{asked['case_id']}"
    answer = await stage.edge.notify(
        id="people 2", type="completed", correlation_key=key, result={"decision": "approved"}
    )
    assert is_problem(answer, 409, "step review is answered by people, not by callers")


async def test_the_run_shows_how_far_the_other_side_has_come(stage: Stage) -> None:
    asked = await stage.asked("progress")
    half = {"type": "progress", "result": None, "message": "two of four", "data": {"got": 2}}
    told = await stage.answer(asked, "progress", **half)
    assert (told.status, told.body["status"], told.body["outcomes"]) == (202, "applied", {"applied": 1})
    (wait,) = rows(stage.dsn, "SELECT run_id, step FROM waits WHERE token = %s", asked["token"])
    steps = {step["path"]: step for step in (await stage.edge.run(wait["run_id"])).body["steps"]}
    shown = steps[wait["step"]]["progress"]
    assert (shown["message"], shown["data"], shown["count"]) == ("two of four", {"got": 2}, 1)
    assert stage.step(asked) == "parked"


async def test_one_id_cannot_mean_two_answers(stage: Stage) -> None:
    asked = await stage.asked("twice")
    first = await stage.answer(asked, "twice")
    assert (await stage.answer(asked, "twice")).body == first.body
    changes: list[dict[str, Any]] = [{"result": {}}, {"type": "failed"}, {"type": "progress"}, {"token": "another"}]
    for change in changes:
        assert is_problem(await stage.answer(asked, "twice", **change), 409, "used before, for another answer")


async def test_an_answer_before_its_wait_is_told_that_it_is_kept(stage: Stage) -> None:
    answer = await stage.edge.notify(id="early", type="completed", correlation_key="nobody-yet", result={})
    assert (answer.status, answer.body["status"]) == (202, "early")
    assert "kept for 7 days" in answer.body["reason"]


async def test_an_integer_beyond_any_float_is_422_at_both_endpoints(stage: Stage) -> None:
    number = b"1" + b"0" * 309
    trigger = b'{"ref": "1", "payload": {"n": ' + number + b"}}"
    answer = b'{"id": "1", "type": "completed", "correlation_key": "k", "result": {"n": ' + number + b"}}"
    for path, body in (("/v1/triggers/kyc.onboarding", trigger), ("/v1/notifications", answer)):
        assert is_problem(await stage.edge.send("POST", path, body), 422, "write it as text")


@pytest.mark.parametrize("length", [512, 513])
async def test_a_correlation_key_is_as_long_as_an_index_can_hold(stage: Stage, length: int) -> None:
    key = "".join(chr(0x10000 + (7919 * n) % 0xFFFF) for n in range(length))
    answer = await stage.edge.notify(id=f"long {length}", type="completed", correlation_key=key)
    assert answer.status == (202 if length == 512 else 422)
