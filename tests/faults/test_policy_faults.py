"""Whatever is wrong with policy's answer, no effect leaves; when OPA is back, the run goes on (fail closed)."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from policy.contract import Outcome, Verdict
from runtime.worker import Worker
from tests.bench import Bench
from tests.integration.conftest import Targets
from tests.opa_server import copy_policies, question, session_at, start_opa
from tests.patience import MINUTE, POLICY

TRIES = 8
NOTE = {"incident": "I1", "text": "seen", "api_token": "t"}
COMPLETE: dict[str, Any] = {
    "outcome": "allow",
    "tier": "low",
    "requirement": None,
    "reasons": [],
    "obligations": [],
}
ASKS = {
    "quorum": 2,
    "groups": ["compliance"],
    "all_groups": False,
    "exclude": [],
    "expires_in": "PT8H",
    "reason_required": False,
    "escalate_to": [],
}


def _needs(quorum: int) -> dict[str, Any]:
    return {**COMPLETE, "outcome": "needs_approval", "requirement": {**ASKS, "quorum": quorum}}


ANSWERS: dict[str, Any] = {
    "null answer": None,
    "members missing": {"outcome": "allow"},
    "unknown outcome": {**COMPLETE, "outcome": "perhaps"},
    "quorum zero": _needs(0),
    "quorum negative": _needs(-1),
    "extra member": {**COMPLETE, "by_the_way": 1},
}
BODIES = {
    "empty object": {},
    "null result": {"result": None},
    "true": {"result": True},
    "no answer in it": {"result": {}},
    "one answer too many": {"result": {"0": COMPLETE, "1": COMPLETE}},
    **{name: {"result": {"0": answer}} for name, answer in ANSWERS.items()},
}


@dataclass
class Proxy:
    """Stands before the real OPA and answers in its place, as it is told."""

    real: str
    released: asyncio.Event
    fault: Callable[[web.Request], Any] | None = None
    asked: int = 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        if self.fault is not None:
            return await self.fault(request)  # type: ignore[no-any-return]
        return await self._passed_on(request)

    async def _passed_on(self, request: web.Request) -> web.Response:
        body = await request.read()
        async with (
            session_at(self.real) as session,
            session.request(request.method, request.path_qs, data=body) as answer,
        ):
            return web.Response(body=await answer.read(), status=answer.status, content_type="application/json")

    def bends(self, place: str, answer: Any) -> None:
        """Put another answer in the place of one of OPA's."""

        async def fault(request: web.Request) -> web.Response:
            passed = await self._passed_on(request)
            if request.path.endswith("/decisions"):
                document = json.loads(cast("bytes", passed.body))
                document["result"][place] = answer
                return web.json_response(document)
            return passed

        self.fault = fault

    def says(self, body: Any, status: int = 200) -> None:
        """Answer with a body; what OPA would add around the result is there, so that the result alone is wrong."""

        async def fault(_: web.Request) -> web.Response:
            whole = {"decision_id": "d", "provenance": {"bundles": {"b": {"revision": "0" * 64}}}, **body}
            return web.Response(text=json.dumps(whole), status=status, content_type="application/json")

        self.fault = fault

    def hangs(self) -> None:
        async def fault(_: web.Request) -> web.Response:
            await self.released.wait()
            return web.Response()

        self.fault = fault

    def drips(self) -> None:
        async def fault(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse()
            await response.prepare(request)
            await response.write(b'{"result": ')
            await self.released.wait()
            return response

        self.fault = fault


@asynccontextmanager
async def _behind_proxy(bench: Bench, url: str) -> AsyncIterator[tuple[Bench, Proxy]]:
    proxy = Proxy(url, asyncio.Event())
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", proxy.handle)
    async with TestServer(app) as server, OpaEngine(str(server.make_url("")).rstrip("/"), timeout=POLICY) as policy:
        engine = replace(bench.engine, policy=policy)
        yield replace(bench, engine=engine, worker=Worker(engine)), proxy
        proxy.released.set()


async def _nothing_leaves_until_back(bench: Bench, proxy: Proxy, targets: Targets) -> None:
    run_id = (await bench.start("bench.note", NOTE)).run_id
    await bench.settle()
    await bench.later(seconds=2)
    assert proxy.asked >= 1
    assert targets.note.calls == []
    run = await bench.run(run_id)
    assert run["status"] == "running"
    said = await bench.rows("SELECT count(*) AS n FROM audit_leaves WHERE leaf->>'event' = 'policy.unavailable'")
    assert said[0]["n"] == 1, "the outage is on record once, not once a try"
    proxy.fault = None
    for _ in range(TRIES):  # a machine that is busy may take longer than the product waits, once or twice
        await bench.later(minutes=1)
        if (await bench.run(run_id))["status"] != "running":
            break
    assert (await bench.run(run_id))["status"] == "succeeded"
    assert len(targets.note.calls) == 1


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
async def test_a_malformed_answer_is_no_answer(
    bench: Bench, opa: OpaChild, targets: Targets, body: dict[str, Any]
) -> None:
    async with _behind_proxy(bench, opa.url) as (behind, proxy):
        proxy.says(body)
        await _nothing_leaves_until_back(behind, proxy, targets)


@pytest.mark.parametrize(
    "obligation",
    [
        {"type": "step-up", "id": "mfa", "amr_values": ["hwk"]},
        {"type": "custom", "id": "log", "name": "write it down"},
        {"type": "session_termination", "id": "end"},
        {"type": "notification", "id": "tell", "to": ["compliance"]},
        "log it",
    ],
)
async def test_an_answer_with_an_obligation_that_the_gate_does_not_know_is_no_answer(
    bench: Bench, opa: OpaChild, targets: Targets, obligation: Any
) -> None:
    async with _behind_proxy(bench, opa.url) as (behind, proxy):
        proxy.bends("0", {**COMPLETE, "obligations": [obligation]})
        await _nothing_leaves_until_back(behind, proxy, targets)


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
async def test_a_malformed_answer_among_sixteen_is_no_answer_and_the_others_are(opa: OpaChild, answer: Any) -> None:
    proxy = Proxy(opa.url, asyncio.Event())
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", proxy.handle)
    proxy.bends("5", answer)
    async with TestServer(app) as server, OpaEngine(str(server.make_url("")).rstrip("/"), timeout=MINUTE) as policy:
        found = await policy.ask_all([question()] * 16)
    assert [place for place, one in enumerate(found) if not isinstance(one, Verdict)] == [5]
    assert {one.answer.outcome for one in found if isinstance(one, Verdict)} == {Outcome.NEEDS_APPROVAL}


async def test_an_error_of_opa_is_no_answer(bench: Bench, opa: OpaChild, targets: Targets) -> None:
    async with _behind_proxy(bench, opa.url) as (behind, proxy):
        proxy.says({"result": {"0": COMPLETE}}, status=500)
        await _nothing_leaves_until_back(behind, proxy, targets)


@pytest.mark.parametrize("how", ["hangs", "drips"])
async def test_a_late_answer_is_no_answer(bench: Bench, opa: OpaChild, targets: Targets, how: str) -> None:
    async with _behind_proxy(bench, opa.url) as (behind, proxy):
        getattr(proxy, how)()
        await _nothing_leaves_until_back(behind, proxy, targets)


async def test_no_opa_is_no_answer_and_the_effect_fails_at_its_deadline(bench: Bench, targets: Targets) -> None:
    async with OpaEngine("http://127.0.0.1:9", timeout=POLICY) as policy:
        engine = replace(bench.engine, policy=policy)
        alone = replace(bench, engine=engine, worker=Worker(engine))
        run_id = (await alone.start("bench.note", NOTE)).run_id
        await alone.settle()
        await alone.later(hours=23)
        assert (await alone.run(run_id))["status"] == "running"
        await alone.later(hours=2)
    run = await bench.run(run_id)
    assert run["status"] == "failed_terminal"
    assert "until the deadline" in run["error"]
    assert targets.note.calls == []


async def test_opa_that_comes_back_lets_the_run_go_on(bench: Bench, targets: Targets, tmp_path: Path) -> None:
    rego = copy_policies(tmp_path / "rego")
    async with start_opa(rego, tmp_path / "work") as child, OpaEngine(child.url, timeout=MINUTE) as policy:
        engine = replace(bench.engine, policy=policy)
        other = replace(bench, engine=engine, worker=Worker(engine))
        await child.stop()
        run_id = (await other.start("bench.note", NOTE)).run_id
        await other.settle()
        assert targets.note.calls == []
        await child.start()
        await other.later(minutes=1)
        assert (await other.run(run_id))["status"] == "succeeded"


async def test_a_policy_that_changed_to_deny_after_the_votes_has_the_last_word(
    bench: Bench, targets: Targets, tmp_path: Path
) -> None:
    rego = copy_policies(tmp_path / "rego")
    async with start_opa(rego, tmp_path / "work") as child, OpaEngine(child.url, timeout=MINUTE) as policy:
        engine = replace(bench.engine, policy=policy)
        other = replace(bench, engine=engine, worker=Worker(engine))
        run_id = (await other.start("bench.file", {"company": "ACME", "text": "r"})).run_id
        await other.settle()
        approval = await other.approval_id()
        assert (await other.click("ann", approval)).counted
        assert (await other.click("ben", approval)).counted
        data = rego / "countersign_config/acme/data.json"
        data.write_text(data.read_text().replace('"file_report"', '"file_nothing"'))
        await child.stop()
        await child.start()
        await other.settle()
        run = await other.run(run_id)
    assert run["status"] == "failed_terminal"
    assert "denied by policy" in run["error"]
    assert targets.file.calls == []


async def test_an_approval_that_expired_before_it_was_used_is_void_and_asked_for_anew(
    bench: Bench, opa: OpaChild, targets: Targets
) -> None:
    async with _behind_proxy(bench, opa.url) as (behind, proxy):
        run_id = (await behind.start("bench.file", {"company": "ACME", "text": "r"})).run_id
        await behind.settle()
        first = await behind.approval_id()
        proxy.says({"result": {"0": COMPLETE}}, status=500)
        assert (await behind.click("ann", first)).counted
        assert (await behind.click("ben", first)).counted
        await behind.settle()
        await behind.later(hours=8)
        proxy.fault = None
        await behind.later(minutes=5)
        assert targets.file.calls == []
        second = await behind.approval_id()
        assert second != first
        assert (await behind.click("ann", second)).counted
        assert (await behind.click("ben", second)).counted
        await behind.settle()
        assert (await behind.run(run_id))["status"] == "succeeded"
    assert len(targets.file.calls) == 1
    asked = [row["document"]["input"] for row in await bench.rows("SELECT document FROM policy_decisions ORDER BY seq")]
    filed = [question for question in asked if question["effect"]["operation"] == "file_report"]
    assert [question["approval"] is not None for question in filed] == [False, True, True]
    assert all(vote["at"] < question["approval"]["expires_at"] for question in filed for vote in question["votes"])
