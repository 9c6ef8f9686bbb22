"""Step repairs over HTTP: entitled callers alone bring a person's word on one, and it counts as any other does."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
from yarl import URL

from edge.app import Api, build_edge
from edge.callers import Refusals
from edge.server import Limits, Server
from edge.signing import headers
from runtime.definitions.loading.catalog import load_catalog
from runtime.handlers import RefusedError
from runtime.model.limits import Rate
from runtime.services.caller_acts import CompensationApi
from runtime.services.callers import TriggerApi
from runtime.services.signals import SignalService
from runtime.services.tasks import TaskService
from tests.bench import TENANT
from tests.integration.conftest import PACK, Targets
from tests.integration.test_step_repair import LOOK, VALUE, Opener, Stage, started
from tests.patience import MINUTE, until

__all__ = ["started"]


SECRET = "a secret of the portal, long enough"
GRANTS = {
    "triggers": [],
    "on_behalf": True,
    "completes": [],
    "repairs": ["bench.held"],
    "answers_for": ["omar", "ann", "mallory"],
}


@dataclass
class Portal:
    """A caller that brings what people say."""

    url: str
    stage: Stage
    http: aiohttp.ClientSession

    async def says(self, act: str, step: str = "look", **more: Any) -> tuple[int, dict[str, Any]]:
        said = {"id": "w1", "on_behalf_of": "omar", "reason": "by telephone", "version": 0, **more}
        path, body = f"/v1/runs/{self.stage.run_id}/steps/{step}/{act}", json.dumps(said).encode()
        now = int(self.stage.bench.clock().timestamp())
        signed = headers("portal-bot", SECRET, now, "POST", path, body)
        async with self.http.post(URL(self.url + path, encoded=True), data=body, headers=signed) as response:
            return response.status, await response.json(content_type=None)


@asynccontextmanager
async def portal(stage: Stage, targets: Targets, grants: dict[str, Any]) -> AsyncIterator[Portal]:
    """Serve the edge of a bench to a caller with these grants."""
    await stage.bench.meddle("UPDATE actors SET grants = %s WHERE actor_id = 'portal-bot'", json.dumps(grants))
    desk = TriggerApi(stage.bench.engine, TENANT, load_catalog([PACK], stage.bench.engine.handlers))

    async def ready() -> list[str]:
        return []

    engine = stage.bench.engine
    inbound = SignalService(engine, TENANT), TaskService(engine, TENANT), CompensationApi(engine, TENANT)
    refusals = Refusals(desk.put_refused, desk.now)
    app = build_edge(ready, api=Api(desk, *inbound, {"portal-bot": SECRET}, Rate(100, 100), refusals), slack=None)
    listener = socket.create_server(("127.0.0.1", 0))
    server = Server(app, Limits(connections=50, seconds=MINUTE), headers=[])
    task = asyncio.create_task(server.serve([listener]))
    try:
        async with refusals.recorded(MINUTE), aiohttp.ClientSession() as http:
            yield Portal(f"http://127.0.0.1:{listener.getsockname()[1]}", stage, http)
    finally:
        server.should_exit = True
        await task
        listener.close()


async def test_an_entitled_caller_brings_a_persons_word_once(started: Opener, targets: Targets) -> None:
    targets.look.answers = [RefusedError("closed")]
    async with started(LOOK + VALUE) as stage, portal(stage, targets, GRANTS) as caller:
        status, body = await caller.says("supply", result={"value": "many"})
        assert (status, "is not of type 'integer'" in body["detail"]) == (422, True)
        version = (await stage.bench.run(stage.run_id))["steps"]["look"]["version"]
        said = {"id": "w2", "version": version, "result": {"value": 4}}
        first, again = await caller.says("supply", **said), await caller.says("supply", **said)
        assert first == again == (200, {"run_id": stage.run_id, "step": "look", "act": "supply"})
        (leaf,) = await stage.leaves("repair.decided")
        assert leaf["actor"] == {"id": "omar", "kind": "person"}
        assert (await caller.says("skip", **said | {"result": None}))[0] == 422
        assert (await caller.says("skip", id="w2", version=version))[0] == 409
        await stage.bench.settle()
        assert (await stage.status())["run"] == "succeeded"


@pytest.mark.parametrize(
    ("grants", "more", "status"),
    [
        ({"repairs": []}, {}, 404),
        ({"repairs": ["bench.other"]}, {}, 404),
        ({"on_behalf": False}, {}, 403),
        ({}, {"on_behalf_of": "mallory"}, 422),
        ({}, {"on_behalf_of": None}, 422),
        ({}, {"on_behalf_of": "ann"}, 403),
        ({"answers_for": ["ann"]}, {}, 403),
        ({}, {"version": 1}, 409),
        ({}, {"act": "undo"}, 404),
        ({}, {"step": "other"}, 404),
        ({}, {"reason": ""}, 422),
    ],
)
async def test_whoever_is_not_entitled_or_did_not_see_the_run_changes_nothing(
    started: Opener, targets: Targets, grants: dict[str, Any], more: dict[str, Any], status: int
) -> None:
    targets.look.answers = [RefusedError("closed")]
    async with started(LOOK) as stage, portal(stage, targets, GRANTS | grants) as caller:
        said = {"act": "skip", **more}
        assert (await caller.says(**said))[0] == status
        assert (await stage.status())["look"] == "needs_attention"


async def test_a_person_whom_policy_denies_is_on_record_in_the_tenants_chain(started: Opener, targets: Targets) -> None:
    targets.look.answers = [RefusedError("closed")]
    async with started(LOOK) as stage, portal(stage, targets, GRANTS) as caller:
        assert (await caller.says("skip", on_behalf_of="ann"))[0] == 403
        await until(lambda: _refused(stage, "act.denied", "ann"))


async def _refused(stage: Stage, rule: str, subject: str) -> bool:
    query = "SELECT leaf->'data' AS said FROM tenant_leaves WHERE leaf->>'event' = 'request.refused'"
    (said,) = [row["said"] for row in await stage.bench.rows(query)] or [None]
    path = f"/v1/runs/{stage.run_id}/steps/look/skip"
    return said is not None and (said["rule"], said["tried"]) == (rule, [{"subject": subject, "path": path}])
