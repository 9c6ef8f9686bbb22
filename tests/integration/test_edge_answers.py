"""Answers over HTTP: to waits, progress, signals and triggers of versions.

Answers over HTTP: every refusal has its status and a sentence, is on record, and leaves the wait as it was.

What comes in over HTTP beside answers: word of progress, one answer for many waits, and signals.

Versions at the edge: a trigger starts what is active, may name a version, and is told where nothing starts.
"""

import json
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
from receipts.chain import Actor
from runtime.services.definition_versions import Mover
from runtime.store.definitions import find_version, lock_versions
from runtime.worker import Worker
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
        assert is_problem(await stage.answer(asked, "twice", **change), 409, "used before, for something else")


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


@dataclass
class IncomingStage:
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
async def incoming_stage(
    postgres: str, opa: OpaChild, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[IncomingStage]:
    async with AsyncExitStack() as stack:
        dsn = stack.enter_context(database(postgres, "incoming"))
        settings = settings_of(dsn, opa.url, tmp_path_factory.mktemp("incoming"))
        system = await stack.enter_async_context(composed(settings))
        yield IncomingStage(system, await stack.enter_async_context(edge_of(system)), dsn)


async def test_a_signal_is_kept_for_its_run_and_sent_again_gets_the_same_answer(incoming_stage: IncomingStage) -> None:
    run_id = await incoming_stage.run("kept")
    sent: dict[str, Any] = {"ref": "kept 1", "name": "client_called", "data": {"at": "noon"}}
    answer = await incoming_stage.signal(f"/v1/runs/{run_id}/signals", **sent)
    assert (answer.status, answer.body["status"], answer.body["run_id"]) == (202, "early", run_id)
    assert "kept as long as the run goes on" in answer.body["reason"]
    assert (await incoming_stage.signal(f"/v1/runs/{run_id}/signals", **sent)).body == answer.body
    assert is_problem(
        await incoming_stage.signal(f"/v1/runs/{run_id}/signals", **{**sent, "data": {}}), 409, "for something else"
    )


async def test_an_answers_id_is_no_signals_ref_however_it_is_spelt(incoming_stage: IncomingStage) -> None:
    run_id = await incoming_stage.run("spelt")
    answer: dict[str, Any] = {"id": "signal:spelt", "type": "completed", "correlation_key": "acme:none", "token": "t"}
    assert (await incoming_stage.edge.notify(**answer, result={})).status == 202
    sent = await incoming_stage.signal(f"/v1/runs/{run_id}/signals", ref="spelt", name="client_called")
    assert (sent.status, sent.body["status"]) == (202, "early")


async def test_a_signal_by_reference_finds_its_run(incoming_stage: IncomingStage) -> None:
    run_id = await incoming_stage.run("by reference")
    answer = await incoming_stage.signal("/v1/signals", ref="r1", name="client_called", reference="by reference")
    assert (answer.status, answer.body["run_id"]) == (202, run_id)
    nobody = await incoming_stage.signal("/v1/signals", ref="r2", name="client_called", reference="nobody")
    assert is_problem(nobody, 404, "no run under the reference nobody")


async def test_a_caller_without_the_grant_finds_no_run_to_send_a_signal_to(incoming_stage: IncomingStage) -> None:
    run_id = await incoming_stage.run("not theirs")
    sent = {"ref": "n1", "name": "client_called"}
    assert is_problem(await incoming_stage.signal(f"/v1/runs/{run_id}/signals", by="servicenow", **sent), 404, "no run")
    assert is_problem(await incoming_stage.signal("/v1/runs/%00/signals", **sent), 404, "path.run_id")
    assert not rows(incoming_stage.dsn, "SELECT 1 FROM notifications WHERE payload ->> 'run_id' = %s", run_id)


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
    incoming_stage: IncomingStage, sent: dict[str, Any], says: str
) -> None:
    assert is_problem(await incoming_stage.signal("/v1/runs/run_1/signals", **sent), 422, says)


async def test_data_goes_with_progress_alone(incoming_stage: IncomingStage) -> None:
    word: dict[str, Any] = {"id": "d1", "type": "completed", "correlation_key": "k", "data": {"got": 1}}
    assert is_problem(await incoming_stage.edge.notify(**word), 422, "only word of progress has it")


async def test_a_run_shows_the_newest_word_of_progress_of_each_step(incoming_stage: IncomingStage) -> None:
    run_id = await incoming_stage.run("shown")
    await Worker(incoming_stage.system.engine).drain()
    before = await incoming_stage.edge.run(run_id)
    assert {step["progress"] for step in before.body["steps"]} == {None}


TENANT = "acme"


@dataclass
class VersionStage:
    """A system and its edge."""

    system: System
    edge: Edge
    dsn: str

    async def retire(self) -> None:
        """Retire the onboarding."""
        engine = self.system.engine
        async with engine.pool.connection() as conn, conn.transaction():
            await lock_versions(conn, TENANT)
            life = await find_version(conn, TENANT, "kyc-onboarding", 4)
            assert life is not None
            await Mover(conn, TENANT, Actor(id="omar", kind="person"), None, engine.clock()).retire(life)


@pytest.fixture
async def version_stage(dsn: str, opa: OpaChild, tmp_path: Path) -> AsyncIterator[VersionStage]:
    async with composed(settings_of(dsn, opa.url, tmp_path)) as system, edge_of(system) as edge:
        yield VersionStage(system, edge, dsn)


async def test_a_trigger_may_name_the_version_that_it_wants(version_stage: VersionStage) -> None:
    answer = await version_stage.edge.trigger("one", version=4)
    (run,) = rows(
        version_stage.dsn, "SELECT definition_version AS version FROM runs WHERE run_id = %s", answer.body["run_id"]
    )
    assert (answer.status, run["version"]) == (202, 4)
    refused = await version_stage.edge.trigger("two", version=1)
    assert is_problem(refused, 409, "kyc-onboarding has no version 1")
    assert [row["trigger_ref"] for row in rows(version_stage.dsn, "SELECT trigger_ref FROM runs")] == ["one"]


@pytest.mark.parametrize("version", [0, -1, 2**31, "2", 2.5, True])
async def test_a_version_that_cannot_be_is_refused(version_stage: VersionStage, version: object) -> None:
    assert is_problem(await version_stage.edge.trigger("one", version=version), 422, "version")


async def test_a_retired_runbook_starts_nothing_new_and_a_repeat_finds_its_run(version_stage: VersionStage) -> None:
    first = await version_stage.edge.trigger("one")
    await version_stage.retire()
    refused = await version_stage.edge.trigger("two")
    assert is_problem(refused, 409, "kyc-onboarding version 4 is not active but retired: nothing new starts with it")
    again = await version_stage.edge.trigger("one")
    assert (again.status, again.body) == (202, {"run_id": first.body["run_id"], "is_new": False})
    assert len(rows(version_stage.dsn, "SELECT 1 FROM runs")) == 1


async def test_nobody_triggers_an_activation_from_outside(version_stage: VersionStage) -> None:
    rows(
        version_stage.dsn,
        """UPDATE actors SET grants = '{"triggers": ["countersign.activate"], "on_behalf": false}'"""
        " WHERE actor_id = 'servicenow' RETURNING 1",
    )
    refused = await version_stage.edge.send(
        "POST", "/v1/triggers/countersign.activate", b'{"ref":"one","payload":{}}', by="servicenow"
    )
    assert is_problem(refused, 404, "no runbook takes triggers of type countersign.activate")


async def test_a_trigger_that_no_runbook_of_its_type_takes_is_told_which_there_are(version_stage: VersionStage) -> None:
    rows(version_stage.dsn, "UPDATE runbook_versions SET trigger_when = 'trigger.jurisdiction == ''XX''' RETURNING 1")
    said = "kyc-onboarding version 4 takes it when trigger.jurisdiction == 'XX'"
    refused = await version_stage.edge.trigger("one")
    assert is_problem(refused, 409, f"no runbook takes this trigger of type kyc.onboarding: {said}")
    assert rows(version_stage.dsn, "SELECT 1 FROM runs") == []
