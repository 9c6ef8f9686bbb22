"""Children of embedded mode: ended, killed, started again, and what they said last."""

import asyncio
import contextlib
import logging
from pathlib import Path

import pytest

from countersign.embedded.children import Child, running
from tests.patience import MINUTE

READY = "import signal, sys; print('ready', flush=True); signal.pause()"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, lambda *_: print('asked', flush=True)); {READY}"


async def said(child: Child, words: str) -> None:
    """Look at the log of a child until it holds these words."""
    async with asyncio.timeout(MINUTE):
        while words not in child.last_words():
            await asyncio.sleep(0)


async def test_a_child_runs_while_the_block_lasts(tmp_path: Path) -> None:
    async with running(Child("one", ["-c", READY], {}, tmp_path)) as child:
        await said(child, "ready")
        assert child.is_running
    assert not child.is_running
    assert (tmp_path / "one.log").read_text() == "ready\n"


async def test_a_killed_child_can_be_started_again_and_killing_it_twice_does_no_harm(tmp_path: Path) -> None:
    async with running(Child("one", ["-c", READY], {}, tmp_path)) as child:
        await child.kill()
        await child.kill()
        assert not child.is_running
        await child.start()
        assert child.is_running


async def test_a_child_is_given_its_environment(tmp_path: Path) -> None:
    script = "import os; print(os.environ['COUNTERSIGN_PORT'], flush=True)"
    async with running(Child("one", ["-c", script], {"COUNTERSIGN_PORT": "4711"}, tmp_path)) as child:
        await said(child, "4711\n")


async def test_a_child_that_ends_by_itself_is_started_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    async with running(Child("one", ["-c", "print('ended', flush=True)"], {}, tmp_path)) as child:
        keeper = asyncio.create_task(child.keep_running())
        await said(child, "ended\nended\n")
        keeper.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeper
    assert "one ended with 0; starting it again" in caplog.text


async def test_a_child_that_does_not_drain_in_time_is_killed(tmp_path: Path) -> None:
    child = Child("one", ["-c", f"{STUBBORN}\nsignal.pause()"], {}, tmp_path, patience=0.2)
    await child.start()
    await said(child, "ready")
    await child.stop()
    assert not child.is_running
    assert "asked" in child.last_words()
