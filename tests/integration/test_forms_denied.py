"""Forms whose request policy denies at once: they stay open and say why, and nothing is started until it is mended."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from policy.contract import Outcome, Question, Reason, Verdict
from runtime.model.person import Person
from runtime.services.requests import Filled, FormError, RequestService, Started
from sandbox.harness import SandboxUser
from tests.bench import TENANT
from tests.integration.chat_stage import Chat, chatting
from tests.integration.conftest import PACK, Targets
from tests.integration.limits_stage import LARGE, open_payments, status
from tests.integration.network import Answer, FaultProxy, fault_proxy, no_fault
from tests.integration.seen import whispered
from tests.integration.test_chat_forms import grant, opened, runs
from tests.opa_server import Between
from tests.patience import MINUTE

HEAD = """
name: {name}
version: 1
title: Note {name}
trigger:
  type: {name}.asked
{about}  schema:
    type: object
    additionalProperties: false
    properties: {properties}
steps:
"""
NOTE = """
  - id: note
    verb: note
    params: {incident: "${trigger.incident}", text: "${trigger.text}"}
"""
HANDLED = """
  - id: note
    verb: note
    params: {incident: "${trigger.incident}", text: "${trigger.text}"}
    on:
      failure:
        - id: instead
          verb: note
          params: {incident: I1, text: instead}
"""
FIXED = """
  - id: note
    verb: note
    params: {incident: "I1/2", text: fixed}
"""
LATER = """
  - id: look
    verb: look
    params: {}
  - id: note
    verb: note
    needs: [look]
    params: {incident: "${trigger.incident}", text: "${trigger.text}"}
"""
OPEN = """
  - id: note
    verb: note
    params: {incident: "${trigger.incident}", text: "${trigger.text}"}
  - id: pause
    needs: [note]
    wait: {signal: news, timeout: P1D}
"""
SUBJECT = """  about: "case:${trigger.text}"
  signal: news
"""
TEXTS = "{text: {type: string}, incident: {type: string}}"
RUNBOOKS = {
    "plain": HEAD.format(name="plain", about="", properties=TEXTS) + NOTE,
    "handled": HEAD.format(name="handled", about="", properties=TEXTS) + HANDLED,
    "fixed": HEAD.format(name="fixed", about="", properties="{}") + FIXED,
    "later": HEAD.format(name="later", about="", properties=TEXTS) + LATER,
    "about": HEAD.format(name="about", about=SUBJECT, properties=TEXTS) + OPEN,
}
DENIED = {"text": "seen", "incident": "I1/2"}
"""Its target has a slash, which the tenant's configuration allows for no incident."""
MENDED = {"text": "seen", "incident": "I1"}
RITA = Person("rita", "Rita", ("onboarding",))


@dataclass
class Deciding(Between):
    """The real policy, and a denial of whatever it is told to deny."""

    denies: bool = False
    questions: list[Question] = field(default_factory=list)

    async def changed(self, question: Question, verdict: Verdict) -> Verdict:
        self.questions.append(question)
        if not self.denies:
            return verdict
        reasons = [Reason(code="test.closed", msg="Closed for today")]
        return verdict.model_copy(
            update={"answer": verdict.answer.model_copy(update={"outcome": Outcome.DENY, "reasons": reasons})}
        )


@dataclass
class Stage:
    """A chat, the way to its policy, and the policy."""

    chat: Chat
    proxy: FaultProxy
    policy: Deciding

    @property
    def front(self) -> RequestService:
        return RequestService(self.chat.bench.engine, TENANT, self.chat.bench.catalog)

    async def person(self, runbook: str) -> SandboxUser:
        await grant(self.chat, "rita", f"{runbook}.asked")
        return await self.chat.person("rita")

    async def start(self, payload: dict[str, Any], runbook: str = "plain", form: str = "V1") -> Started:
        return await self.front.starting.start(RITA, Filled(form, runbook, 1, payload))

    async def counted(self) -> dict[str, int]:
        """Return how many rows each table has that a request may touch."""
        tables = ("runs", "steps", "effects", "policy_decisions", "notifications", "audit_leaves", "tenant_leaves")
        return {table: (await self.chat.bench.rows(f"SELECT count(*) AS n FROM {table}"))[0]["n"] for table in tables}

    async def status(self) -> str:
        (run,) = await self.chat.bench.rows("SELECT status FROM runs")
        return str(run["status"])


@pytest.fixture
async def stage(dsn: str, opa: OpaChild, targets: Targets, tmp_path: Path) -> AsyncIterator[Stage]:
    (tmp_path / "runbooks").mkdir()
    for name, text in RUNBOOKS.items():
        (tmp_path / "runbooks" / f"{name}.yaml").write_text(text, encoding="utf-8")
    with fault_proxy(opa.url) as proxy:
        async with OpaEngine(proxy.endpoint, timeout=MINUTE) as real:
            policy = Deciding(real)
            async with chatting(dsn, policy, targets, PACK, tmp_path) as chat:
                yield Stage(chat, proxy, policy)


async def test_a_form_that_policy_denies_at_once_stays_open_with_policys_reason(stage: Stage, targets: Targets) -> None:
    rita = await stage.person("plain")
    await opened(stage.chat, rita, "plain")
    before = await stage.counted()
    errors = (await rita.submit(DENIED))["errors"]
    assert list(errors) == ["incident"]  # the first field, as the form shows them
    assert "Policy denies this request" in errors["incident"]
    assert "The tenant may not use this operation on this target (rule connectors.target)" in errors["incident"]
    assert "Nothing was started" in errors["incident"]
    assert await stage.counted() == before
    assert (await rita.submit(MENDED))["ok"]
    (run,) = await runs(stage.chat)
    assert run["trigger"] == MENDED
    assert run["run_id"] in await whispered(rita, "Request recorded")
    await stage.chat.bench.settle()
    assert (await stage.status(), len(targets.note.calls)) == ("succeeded", 1)


async def test_deliveries_of_a_denied_and_then_a_mended_submission_start_one_run(stage: Stage) -> None:
    await stage.person("plain")
    for found in await asyncio.gather(*(stage.start(DENIED) for _ in range(3)), return_exceptions=True):
        assert isinstance(found, FormError)
    assert await runs(stage.chat) == []
    started = await asyncio.gather(*(stage.start(MENDED) for _ in range(3)))
    assert {one.run_id for one in started} == {run["run_id"] for run in await runs(stage.chat)}
    assert len(await runs(stage.chat)) == 1


async def test_a_submission_that_started_its_run_is_not_denied_when_it_is_delivered_again(stage: Stage) -> None:
    await stage.person("plain")
    started = await stage.start(MENDED)
    stage.policy.denies = True
    assert await stage.start(MENDED) == started
    with pytest.raises(FormError, match=r"Closed for today \(rule test\.closed\)"):
        await stage.start(MENDED, form="V2")
    assert len(await runs(stage.chat)) == 1


async def test_policy_is_asked_beforehand_what_the_gate_asks(stage: Stage) -> None:
    await stage.person("plain")
    await stage.start(MENDED)
    await stage.chat.bench.settle()
    first, second, *_ = stage.policy.questions
    assert first.run.id != second.run.id
    assert first.model_copy(update={"run": second.run}) == second


async def test_what_policy_wants_signed_is_no_denial(stage: Stage) -> None:
    await grant(stage.chat, "rita", "bench.file")
    await stage.start({"company": "Halvorsen", "text": "the owners"}, "bench-file")
    await stage.chat.bench.settle()
    assert await stage.status() == "waiting_approval"


async def test_a_denial_that_the_runbook_handles_is_left_to_the_runbook(stage: Stage, targets: Targets) -> None:
    await stage.person("handled")
    await stage.start(DENIED, "handled")
    await stage.chat.bench.settle()
    assert await stage.status() == "succeeded"
    assert [call.params["text"] for call in targets.note.calls] == ["instead"]


async def test_what_is_denied_only_later_is_left_to_the_gate(stage: Stage) -> None:
    await stage.person("later")
    await stage.start(DENIED, "later")
    await stage.chat.bench.settle()
    assert await stage.status() == "failed_terminal"


async def test_what_was_done_before_under_its_key_is_not_denied(stage: Stage, targets: Targets) -> None:
    await stage.person("plain")
    await stage.start(MENDED)
    await stage.chat.bench.settle()
    stage.policy.denies = True
    await stage.start(MENDED, form="V2")
    await stage.chat.bench.settle()
    assert [run["status"] for run in await stage.chat.bench.rows("SELECT status FROM runs")] == ["succeeded"] * 2
    assert len(targets.note.calls) == 1


async def test_what_goes_to_a_run_about_the_same_is_not_denied(stage: Stage) -> None:
    await stage.person("about")
    with pytest.raises(FormError, match="rule connectors"):
        await stage.start(DENIED, "about")
    started = await stage.start(MENDED, "about")
    assert await stage.start(DENIED, "about", "V2") == Started(started.run_id, "news")


async def test_a_form_is_denied_by_what_policy_answers_once_it_knows_whom_the_form_names(
    dsn: str, tmp_path: Path
) -> None:
    limits = {"large": {**LARGE, "requirement": "owners", "exclude": ["answered_by"]}}
    async with open_payments(dsn, tmp_path, limits) as (bench, _):
        grants = json.dumps({"triggers": ["payments.refund"]})
        await bench.meddle("UPDATE actors SET grants = %s WHERE actor_id = 'rita'", grants)
        forms = RequestService(bench.engine, TENANT, bench.catalog).starting
        asked = {"payment": "p1", "amount": "2000", "currency": "EUR"}
        with pytest.raises(FormError, match="the directory does not know all of them"):
            await forms.start(RITA, Filled("V1", "refund", 1, {**asked, "answered_by": "somebody"}))
        started = await forms.start(RITA, Filled("V1", "refund", 1, {**asked, "answered_by": "olga"}))
        await bench.settle()
        assert await status(bench, started.run_id) == "waiting_approval"


async def test_a_form_without_fields_says_in_its_place_why_it_is_denied(stage: Stage) -> None:
    rita = await stage.person("fixed")
    await opened(stage.chat, rita, "fixed")
    assert (await rita.submit({}))["ok"]
    modal = await rita.find_modal()
    assert "rule connectors.target" in str(modal["blocks"])
    assert await runs(stage.chat) == []


async def test_while_policy_is_away_a_request_is_taken_and_decided_later(stage: Stage) -> None:
    rita = await stage.person("plain")
    await opened(stage.chat, rita, "plain")
    stage.proxy.fault = lambda _method, _path: Answer(HTTPStatus.SERVICE_UNAVAILABLE)
    assert (await rita.submit(DENIED))["ok"]
    await stage.chat.bench.settle()
    assert await stage.status() == "running"
    stage.proxy.fault = no_fault
    await stage.chat.bench.later(minutes=5)
    assert await stage.status() == "failed_terminal"


async def test_a_request_does_not_wait_for_a_policy_that_takes_long(stage: Stage) -> None:
    await stage.person("plain")
    asked, goes_on = Event(), Event()

    def held(_method: str, _path: str) -> None:
        asked.set()
        goes_on.wait(MINUTE)

    stage.proxy.fault = held
    try:
        await stage.start(DENIED)  # its run is there although policy has not answered
        assert asked.is_set()
        assert len(await runs(stage.chat)) == 1
    finally:
        goes_on.set()
