"""On a machine that is busy with others everything is waited for; a wait in vain is a sentence."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from countersign.embedded import case as cases
from countersign.embedded import demo as demos
from countersign.embedded import postgres
from countersign.embedded.case import PATIENCE, Case, CaseError, Outside
from countersign.embedded.children import START_LIMIT
from countersign.embedded.demo import DemoError, demo
from countersign.embedded.postgres import PostgresError
from countersign.embedded.system import Embedded
from countersign.settings import Settings
from runtime.handlers import Example, JsonObject
from sandbox.harness import served
from tests.forked import ForkedChild
from tests.patience import MINUTE


async def _nothing(base: str) -> JsonObject:
    return {}


EXAMPLE = Example("x", "a case", "nobody decides", "x", "portal", None, _nothing, None)


def edge(*states: dict[str, Any]) -> web.Application:
    """Return an edge that tells these states of a run, the last one again and again."""
    ahead = list(states)

    async def run(request: web.Request) -> web.Response:
        return web.json_response(ahead.pop(0) if len(ahead) > 1 else ahead[0])

    app = web.Application()
    app.add_routes([web.get("/v1/runs/run_1", run)])
    return app


def case_at(url: str, logs: Path) -> Case:
    return Case(Outside(url, {"portal": "s" * 32}, {}, logs), "pack", EXAMPLE, {}, "run_1")


def state(status: str, **more: Any) -> dict[str, Any]:
    return {"status": status, "steps": [{"path": "review", "status": "parked"}], **more}


def test_waits_last_a_minute_or_more() -> None:
    assert min(PATIENCE, START_LIMIT, postgres.START_LIMIT) >= MINUTE


async def test_a_wait_ends_as_soon_as_it_can(tmp_path: Path) -> None:
    async with served(edge(state("running"), state("running"), state("succeeded"))) as url:
        found = await case_at(url, tmp_path).until("its end", lambda run: run["status"] == "succeeded")
    assert found["status"] == "succeeded"


async def test_a_wait_for_a_run_that_has_failed_ends_at_once(tmp_path: Path) -> None:
    async with served(edge(state("running"), state("failed_terminal", error="the register refused"))) as url:
        async with asyncio.timeout(MINUTE):
            with pytest.raises(CaseError) as ended:
                await case_at(url, tmp_path).until("its evidence", lambda run: bool(run.get("sha256")))
    assert "waited in vain for its evidence: run run_1 is failed_terminal (review parked) the register" in str(
        ended.value
    )


async def test_what_holds_of_a_failed_run_is_found_however_late_it_fails(tmp_path: Path) -> None:
    async with served(edge(state("running"), state("failed_terminal"))) as url:
        found = await case_at(url, tmp_path).until("its end", lambda run: run["status"] == "failed_terminal")
    assert found["status"] == "failed_terminal"


async def test_a_wait_in_vain_says_what_was_waited_for_and_where_the_logs_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cases, "PATIENCE", 0.0)
    async with served(edge(state("running"))) as url:
        with pytest.raises(CaseError) as ended:
            await case_at(url, tmp_path).until("its end", lambda run: run["status"] == "succeeded")
    assert str(ended.value) == (
        f"waited in vain for its end: run run_1 is running (review parked); the logs are in {tmp_path}"
    )


async def test_a_demo_that_waits_in_vain_ends_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demos, "PATIENCE", 0.0)
    serve = Embedded.serve
    monkeypatch.setattr(Embedded, "serve", lambda *said, **env: ForkedChild.of(serve(*said, **env)))
    with pytest.raises(DemoError) as ended:
        await demo(Settings(home=tmp_path))
    assert str(ended.value).startswith("waited in vain for a card of run run_")
    assert str(ended.value).endswith(f"; the logs are in {tmp_path / 'demo' / 'logs'}")
    assert len(str(ended.value).splitlines()) == 1


class Slow:
    """A server that needs longer to start than its package waits, as on a busy machine."""

    def __init__(self, tries: int) -> None:
        self.tries = tries

    def start(self) -> None:
        self.tries -= 1
        if self.tries:
            raise subprocess.TimeoutExpired("pg_ctl", 10)


def test_postgresql_is_waited_for_longer_than_its_package_does(tmp_path: Path) -> None:
    slow = Slow(3)
    postgres._start(slow.start, tmp_path)
    assert slow.tries == 0


def test_postgresql_that_does_not_start_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "START_LIMIT", -1.0)
    with pytest.raises(PostgresError, match="PostgreSQL does not start within -1 s; its log is"):
        postgres._start(Slow(3).start, tmp_path)
