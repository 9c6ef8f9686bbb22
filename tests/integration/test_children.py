"""The one supervisor: children are started again when they die, given up when it is in vain, and ended with us."""

import asyncio
import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from countersign.embedded import children
from countersign.embedded.children import Child, ChildError, Supervisor, python_child
from countersign.embedded.ports import free_port
from countersign.embedded.system import workspace_file
from sandbox.harness import served
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
