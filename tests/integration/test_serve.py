"""The program as real processes: what refuses a start, what a signal lets come to its end, and both ways to Slack."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from countersign_kyc.standins import build
from countersign_kyc.standins import settings as standin_settings

from countersign.embedded.opa import OpaChild
from countersign.embedded.ports import free_port
from countersign.settings import Settings
from edge.signing import headers
from runtime.clock import utc_now
from runtime.inbox import inbox
from runtime.services.operator import OperatorService
from sandbox.harness import SandboxUser
from tests.integration.program_stage import (
    CASE,
    SECRETS,
    Edge,
    composed,
    database,
    edge_of,
    environment,
    load,
    program,
    rows,
    sandbox,
    serving,
    settings_of,
    until_ready,
)
from tests.integration.servers import PASSWORD, USER, minio_server
from tests.patience import MINUTE, until

CANARY = "canary-c40e"
ASKED = "SELECT status FROM effects WHERE operation = 'request_documents'"
BOUND = 25.0
"""Seconds that a stop may take on a busy machine; left alone, a hanging archive takes a minute and a half."""
DOCUMENTS = [
    {"type": kind, "name": f"{kind}.pdf", "sha256": "0" * 64}
    for kind in ("certificate_of_incorporation", "shareholder_register")
]


@dataclass
class World:
    """The KYC pack's other systems. The portal waits with its first answer if it is told to."""

    url: str = ""
    hold: bool = False
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    release: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def pack(self) -> dict[str, dict[str, str]]:
        return {"kyc": {**standin_settings(self.url), "callback_url": f"{self.url}/v1/notifications"}}

    async def requests(self) -> list[dict[str, Any]]:
        async with aiohttp.ClientSession() as http, http.get(f"{self.url}/__standin/portal/requests") as response:
            return list((await response.json())["requests"])


@asynccontextmanager
async def a_world(*, hold: bool = False) -> AsyncIterator[World]:
    world = World(hold=hold)

    @web.middleware
    async def holding(request: web.Request, handler: Any) -> web.StreamResponse:
        if world.hold and request.path.endswith("/portal/requests") and request.method == "POST":
            world.asked.set()
            await world.release.wait()
        answer: web.StreamResponse = await handler(request)
        return answer

    app = build()
    app.middlewares.insert(0, holding)
    async with TestServer(app) as server:
        world.url = str(server.make_url("")).rstrip("/")
        yield world


async def refused(settings: Settings, *more: str) -> str:
    """Start the program, which must refuse; return the one sentence that it says."""
    async with program("serve", *more, env=environment(settings)) as running:
        assert await running.ended() == 1
        assert [line for line in running.lines if "Traceback" in line["message"]] == []
        return str(running.lines[-1]["message"])


@pytest.fixture
def settings(dsn: str, opa: OpaChild, tmp_path: Path) -> Settings:
    return settings_of(dsn, opa.url, tmp_path, port=0)


async def test_a_start_is_refused_while_migrations_are_behind(postgres: str, settings: Settings) -> None:
    with database(postgres, "not_migrated", template="template0") as dsn:
        said = await refused(settings.model_copy(update={"database_url": Settings(database_url=dsn).database_url}))
    assert said.startswith("countersign: the database is at migration none and this program needs ")
    assert said.endswith(": run `countersign migrate`\n")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"database_url": "postgresql://u:pw-canary@127.0.0.1:1/x"}, "the database cannot be used: connection failed"),
        ({"slack_signing_secrets": []}, "no click can be heard: set COUNTERSIGN_SLACK_SIGNING_SECRETS"),
        ({"directory": "none.yaml"}, "none.yaml:1: $: cannot be read: No such file or directory"),
        ({"host": "192.0.2.1"}, "cannot listen on 192.0.2.1 port 0"),
    ],
)
async def test_a_start_is_refused_with_one_sentence(
    dsn: str, opa: OpaChild, tmp_path: Path, change: dict[str, Any], says: str
) -> None:
    await load(settings_of(dsn, opa.url, tmp_path))
    said = await refused(settings_of(dsn, opa.url, tmp_path, **{"port": 0, **change}))
    assert said.startswith(f"countersign: {says}")
    assert "pw-canary" not in said


async def test_a_start_is_refused_where_evidence_has_to_be_locked_and_its_bucket_is_not(
    dsn: str, opa: OpaChild, tmp_path: Path
) -> None:
    with minio_server(tmp_path) as minio:
        minio.make_bucket("plain", locked=False)
        s3 = {"s3_endpoint": minio.endpoint, "s3_access_key": USER, "s3_secret_key": PASSWORD, "s3_bucket": "plain"}
        said = await refused(settings_of(dsn, opa.url, tmp_path, port=0, **s3), "--role=worker", "--processes=1")
        assert said.startswith("countersign: the bucket plain has no Object Lock: whatever is in it can be deleted; ")
        assert said.endswith("or set COUNTERSIGN_REQUIRE_LOCK=false\n")
        settings = settings_of(dsn, opa.url, tmp_path, port=0, require_lock=False, **s3)
        async with serving(settings, "worker") as (running, _):
            running.process.terminate()
            assert await running.ended() == 0, running.lines
            assert not [line for line in running.lines if "retention" in line["message"]]
        async with serving(settings.model_copy(update={"retention_days": 1}), "worker") as (running, _):
            running.process.terminate()
            assert await running.ended() == 0
            (line,) = [line for line in running.lines if "retention" in line["message"]]
            assert line["level"] == "warning"
            assert line["message"] == (
                "the bucket plain has no Object Lock: whatever is in it can be deleted;"
                " no bundle gets the retention of COUNTERSIGN_RETENTION_DAYS"
            )


async def test_a_start_without_a_part_names_its_setting(settings: Settings) -> None:
    env = {name: value for name, value in environment(settings).items() if name != "COUNTERSIGN_OPA_URL"}
    async with program("serve", env=env) as running:
        assert await running.ended() == 1
        assert running.lines[-1]["message"].startswith("countersign: COUNTERSIGN_OPA_URL is not set")


async def test_a_port_that_is_taken_refuses_the_start(dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    async with serving(settings_of(dsn, opa.url, tmp_path, port=0), "edge") as (_, edge):
        port = urlsplit(edge.url).port
        said = await refused(settings_of(dsn, opa.url, tmp_path, port=port), "--role=edge")
    assert said.startswith(f"countersign: cannot listen on 127.0.0.1 port {port}: Address already in use; name others")


async def test_an_invalid_definition_refuses_a_strict_start_and_is_unavailable_to_a_lenient_one(
    dsn: str, opa: OpaChild, tmp_path: Path
) -> None:
    runbooks = tmp_path / "bad/runbooks"
    runbooks.mkdir(parents=True)
    (runbooks / "wrong.yaml").write_text("name: wrong\nversion: 1\n", encoding="utf-8")
    packs = [*Settings().packs, tmp_path / "bad"]
    said = await refused(settings_of(dsn, opa.url, tmp_path, port=0, packs=packs))
    assert "wrong.yaml:" in said
    lenient = settings_of(dsn, opa.url, tmp_path, port=0, packs=packs, definitions="warn")
    async with serving(lenient, "edge") as (running, edge):
        assert any(line["message"].startswith("not available: ") for line in running.lines)
        assert (await edge.trigger("1")).status == 202


async def test_processes_that_start_at_once_load_one_directory(settings: Settings) -> None:
    async with AsyncExitStack() as stack:
        slack = await stack.enter_async_context(sandbox())
        settings = settings.model_copy(update={"slack_api_url": f"{slack}/api/"})
        several = await asyncio.gather(
            *(stack.enter_async_context(serving(settings, role)) for role in ("edge", "sweeps", "bot"))
        )
        for _, edge in several:
            await until_ready(edge)
        assert [(await edge.trigger("1")).status for _, edge in several] == [202, 404, 404]


async def test_a_worker_finishes_what_it_has_begun_before_it_ends(dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    async with a_world(hold=True) as world:
        settings = settings_of(dsn, opa.url, tmp_path, port=0, pack=world.pack)
        async with serving(settings, "edge", "worker") as (running, edge):
            await edge.trigger("1")
            await asyncio.wait_for(world.asked.wait(), MINUTE)
            running.process.send_signal(signal.SIGTERM)
            await running.said("stopping")
            assert rows(dsn, ASKED) == [{"status": "leased"}]
            world.release.set()
            assert await running.ended() == 0
    assert rows(dsn, ASKED) == [{"status": "dispatched"}]
    assert rows(dsn, "SELECT status FROM steps WHERE path = 'documents'") == [{"status": "parked"}]


async def test_a_request_under_way_is_answered_before_the_process_ends(settings: Settings) -> None:
    body = json.dumps({"ref": "1", "payload": CASE, "on_behalf_of": "rita"}).encode()
    path = "/v1/triggers/kyc.onboarding"
    signed = headers("onboarding-portal", SECRETS["onboarding-portal"], int(utc_now().timestamp()), "POST", path, body)
    lines = {**signed, "Host": "edge", "Content-Length": str(len(body)), "Expect": "100-continue"}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    async with serving(settings, "edge") as (running, edge):
        parts = urlsplit(edge.url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        writer.write(f"POST {path} HTTP/1.1\r\n{head}\r\n".encode())
        assert b"100 Continue" in await reader.readline()
        running.process.terminate()
        await running.said("stopping")
        writer.write(body)
        answer = await asyncio.wait_for(reader.read(), MINUTE)
        writer.close()
        await writer.wait_closed()
        assert b"HTTP/1.1 202 Accepted" in answer
        assert await running.ended() == 0


async def a_canceled_run(settings: Settings) -> None:
    """Leave an agent's run that was canceled: it waits for nothing but its evidence."""
    payload = {"sys_id": "0" * 32, "number": "INC0010042", "priority": 3}
    async with composed(settings) as system, edge_of(system) as edge:
        body = json.dumps({"ref": "1", "payload": payload}).encode()
        answer = await edge.send("POST", "/v1/triggers/servicenow.incident", body, by="servicenow")
        desk = OperatorService(system.engine.pool, system.engine.clock, settings.tenant)
        await inbox.apply(system.engine, await desk.cancel("omar", answer.body["run_id"], "not needed", None))


async def test_a_signal_ends_a_process_whose_archive_hangs(dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    asked, requests = asyncio.Event(), 0

    async def hangs(_: web.Request) -> web.Response:
        nonlocal requests
        requests += 1
        if requests > 1:  # the first is the start's, which does not wait for long
            asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", hangs)
    async with TestServer(app) as archive:
        s3 = {
            "s3_endpoint": str(archive.make_url("")),
            "s3_bucket": "b",
            "s3_access_key": "a" * 8,
            "s3_secret_key": "s" * 8,
        }
        settings = settings_of(dsn, opa.url, tmp_path, port=0, **s3)
        await a_canceled_run(settings)
        async with serving(settings, "worker") as (running, _):
            await asyncio.wait_for(asked.wait(), MINUTE)
            running.process.terminate()
            async with asyncio.timeout(BOUND):
                assert await running.ended() == 0
    assert any("abandoned, since it does not end" in line["message"] for line in running.lines)


async def test_a_refused_app_token_is_logged_without_it_and_a_signal_still_ends_the_process(
    dsn: str, opa: OpaChild, tmp_path: Path
) -> None:
    async with sandbox() as slack:
        settings = settings_of(
            dsn, opa.url, tmp_path, port=0, slack_api_url=f"{slack}/api/", slack_app_token=f"xapp-{CANARY}"
        )
        async with serving(settings, "bot") as (running, _):
            await running.said("invalid_auth")
            running.process.terminate()
            assert await running.ended() == 0
    assert CANARY not in json.dumps(running.lines)


@pytest.mark.parametrize("transport", ["http", "socket"])
async def test_a_click_reaches_the_run(dsn: str, opa: OpaChild, tmp_path: Path, transport: str) -> None:
    port = free_port()
    own = (
        {"port": port}
        if transport == "http"
        else {"slack_app_token": "xapp-sandbox-app-token", "slack_signing_secrets": []}
    )
    request_url = f"http://127.0.0.1:{port}/slack/events" if transport == "http" else None
    async with a_world() as world, sandbox(request_url) as slack, SandboxUser(slack, "U0BORIS") as boris:
        settings = settings_of(
            dsn, opa.url, tmp_path, **{"port": 0, **own}, slack_api_url=f"{slack}/api/", pack=world.pack
        )
        async with serving(settings) as (running, edge):
            run_id = (await edge.trigger(CANARY, payload={**CASE, "legal_name": CANARY})).body["run_id"]
            await _upload(world, edge, run_id)
            card = await boris.find_card(
                lambda message: "Review needed" in str(message) and "'actions'" in str(message)
            )
            await boris.click(card, "countersign_approve")
            if (await boris.see())["modal"]:
                await boris.submit({"reason": "complete"})
            await _until(edge, run_id, "filing", "waiting_approval")
            running.process.terminate()
            assert await running.ended() == 0
    assert all(line.keys() >= {"at", "level", "logger", "message"} for line in running.lines)
    assert CANARY not in json.dumps(running.lines)


async def _upload(world: World, edge: Edge, run_id: str) -> None:
    await _until(edge, run_id, "documents", "parked")
    (asked,) = await world.requests()
    wait = {"correlation_key": asked["correlation_key"], "token": asked["token"]}
    word = {"id": "1", "type": "completed", **wait}
    answer = await edge.notify(**word, result={"documents": DOCUMENTS})
    assert answer.body["status"] == "applied"


async def _until(edge: Edge, run_id: str, path: str, status: str) -> None:
    """Look at the run until a step is where it should be, as another system would."""

    async def is_there() -> bool:
        steps = (await edge.run(run_id)).body["steps"]
        return bool(status == next(step["status"] for step in steps if step["path"] == path))

    await until(is_there)
