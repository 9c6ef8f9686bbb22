"""Child processes: supervised, ended with us, and waited for on a busy machine.

The one supervisor: children are started again when they die, given up when it is in vain, and ended with us.

On a machine that is busy with others everything is waited for; a wait in vain is a sentence.
"""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from countersign.embedded import case as cases
from countersign.embedded import children, postgres
from countersign.embedded import demo as demos
from countersign.embedded.case import PATIENCE, Case, CaseError, Outside
from countersign.embedded.children import START_LIMIT, Child, ChildError, Supervisor, python_child
from countersign.embedded.demo import DemoError, demo
from countersign.embedded.ports import free_port
from countersign.embedded.postgres import PostgresError
from countersign.embedded.system import Embedded, workspace_file
from countersign.settings import Settings
from runtime.handlers import Example, JsonObject
from sandbox.harness import served
from tests.forked import ForkedChild
from tests.patience import MINUTE

READY = "import signal, sys; print('ready', flush=True); signal.pause()"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, lambda *_: print('asked', flush=True)); {READY}"


def child(folder: Path, script: str, env: dict[str, str] | None = None, patience: float = MINUTE) -> Child:
    """Return a child that has answered when it has said something."""
    log = folder / "one.log"

    async def probe(session: aiohttp.ClientSession) -> bool:
        return log.exists() and bool(log.read_text())

    return Child("one", [sys.executable, "-c", script], env or {}, log, probe, patience=patience)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(MINUTE):
        while not holds():
            await asyncio.sleep(0.01)


async def said(one: Child, words: str) -> None:
    """Look at the log of a child until it holds these words."""
    log = one.log_file
    assert log is not None
    await until(lambda: log.exists() and words in log.read_text())


async def test_a_child_runs_while_the_block_lasts(tmp_path: Path) -> None:
    supervisor = Supervisor()
    async with supervisor.running(child(tmp_path, READY)) as one:
        await supervisor.until_answers(one)
        assert one.is_running
    assert not one.is_running
    assert (tmp_path / "one.log").read_text() == "ready\n"


async def test_a_child_whose_plug_was_pulled_stays_dead_until_it_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(children, "_PAUSE", 0)
    async with Supervisor().running(child(tmp_path, READY)) as one:
        await said(one, "ready")
        await one.kill()
        await one.kill()
        assert not one.is_running
        await one.start()
        await said(one, "ready\nready\n")
        assert one.is_running
    assert "starting it again" not in caplog.text


async def test_a_child_has_the_environment_that_it_is_given_and_nothing_else(tmp_path: Path) -> None:
    script = "import os; print(sorted(set(os.environ) - {'LC_CTYPE'}), flush=True)"
    async with Supervisor().running(child(tmp_path, script, {"COUNTERSIGN_PORT": "4711"})) as one:
        await said(one, "['COUNTERSIGN_PORT']\n")


async def test_a_child_that_dies_is_started_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    supervisor = Supervisor()
    async with supervisor.running(child(tmp_path, READY)) as one:
        for times in (1, 2, 3, 4):  # more often than it may die before it has answered
            await said(one, "ready\n" * times)
            await supervisor.until_answers(one)
            assert one.process
            one.process.send_signal(signal.SIGKILL)
            await said(one, "ready\n" * (times + 1))
    assert caplog.text.count("one ended with -9; starting it again") == 4


async def test_a_child_that_ends_three_times_without_an_answer_ends_all_with_its_last_words(tmp_path: Path) -> None:
    async def never(session: aiohttp.ClientSession) -> bool:
        return False

    supervisor, log = Supervisor(), tmp_path / "one.log"
    script = "import sys; print('old', file=sys.stderr); sys.exit('cannot listen on port 80')"
    one = Child("one", [sys.executable, "-c", script], {}, log, never)
    async with supervisor.running(one):
        with pytest.raises(ChildError) as given_up:
            await supervisor.guard(asyncio.Event().wait())
        assert str(given_up.value) == (
            f"one ended 3 times at its start; its last words, in {log}:\nold\ncannot listen on port 80"
        )
        with pytest.raises(ChildError):
            await supervisor.until_answers(one)


async def test_a_child_that_cannot_be_started_is_a_sentence(tmp_path: Path) -> None:
    one = child(tmp_path, READY)
    one._command = [tmp_path / "gone"]
    with pytest.raises(ChildError, match=r"one cannot be started: .*No such file"):
        async with Supervisor().running(one):
            raise AssertionError("it started")


async def test_what_ends_together_with_us_is_not_said_to_start_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    supervisor = Supervisor()
    async with supervisor.running(child(tmp_path, READY)) as one:
        await said(one, "ready")
        assert one.process
        one.process.terminate()
        await one.process.wait()
        supervisor.stopping.set()
    assert caplog.text == ""
    assert (tmp_path / "one.log").read_text() == "ready\n"


async def test_the_work_goes_on_until_a_signal_tells_to_stop(tmp_path: Path) -> None:
    supervisor = Supervisor()

    async def work() -> str:
        signal.raise_signal(signal.SIGTERM)
        await asyncio.Event().wait()
        return "never"

    async def result() -> str:
        return "done"

    assert await supervisor.until_told(result()) == "done"
    assert await supervisor.until_told(work()) is None
    assert supervisor.stopping.is_set()


async def test_a_child_that_does_not_drain_in_time_is_killed(tmp_path: Path) -> None:
    one = child(tmp_path, f"{STUBBORN}\nsignal.pause()", patience=0.2)
    await one.start()
    await said(one, "ready")
    await one.stop()
    assert not one.is_running
    assert "asked" in one.last_words()


async def test_what_a_child_writes_its_owner_alone_can_read(tmp_path: Path) -> None:
    script = f"open({str(tmp_path / 'made')!r}, 'w').close(); {READY}"
    async with Supervisor().running(child(tmp_path, script)) as one:
        await said(one, "ready")
    assert (tmp_path / "made").stat().st_mode & 0o077 == 0


async def test_a_foreign_server_on_the_port_is_never_taken_for_ours(tmp_path: Path) -> None:
    async def hello(request: web.Request) -> web.Response:
        return web.Response(text="another one's workspace")

    foreign = web.Application()
    foreign.add_routes([web.get("/", hello)])
    workspace = tmp_path / "workspace.yaml"
    workspace.write_text(json.dumps(workspace_file()), encoding="utf-8")
    async with served(foreign) as url:
        port = url.rpartition(":")[2]
        arguments = ["-m", "sandbox", "--port", port, "--workspace", str(workspace)]
        supervisor, one = Supervisor(), python_child("sandbox", arguments, {}, tmp_path, url)
        async with supervisor.running(one):
            with pytest.raises(ChildError, match=r"(?s)sandbox ended 3 times .*address already in use"):
                await supervisor.until_answers(one)


async def test_our_own_server_is_known_by_its_nonce(tmp_path: Path) -> None:
    workspace, port = tmp_path / "workspace.yaml", free_port()
    workspace.write_text(json.dumps(workspace_file()), encoding="utf-8")
    arguments = ["-m", "sandbox", "--port", str(port), "--workspace", str(workspace)]
    supervisor = Supervisor()
    async with supervisor.running(python_child("a", arguments, {}, tmp_path, f"http://127.0.0.1:{port}/")) as one:
        await supervisor.until_answers(one)


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
