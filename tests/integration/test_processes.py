"""``serve --processes N``: a parent starts the others, keeps them running, ends all of them and leaves none behind."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from countersign.embedded.opa import OpaChild
from countersign.settings import Settings
from tests.integration.program_stage import SOON, Program, environment, program, settings_of
from tests.patience import MINUTE

MANY = ("--role=worker", "--role=sweeps")


@pytest.fixture
def settings(dsn: str, opa: OpaChild, tmp_path: Path) -> Settings:
    return settings_of(dsn, opa.url, tmp_path, port=0)


@asynccontextmanager
async def _two(settings: Settings) -> AsyncIterator[tuple[Program, list[int]]]:
    """Run two processes under one parent; give the parent, and the ids of both."""
    async with program("serve", *MANY, "--processes=2", env=environment(settings)) as parent:
        for _ in range(2):
            await parent.said("serving: ")
        yield parent, _children(parent)


def _children(parent: Program) -> list[int]:
    pid = parent.process.pid
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False


async def _until_gone(pids: list[int]) -> None:
    async with asyncio.timeout(MINUTE):
        while any(_runs(pid) for pid in pids):
            await asyncio.sleep(SOON)


async def test_a_process_that_dies_is_started_again_and_all_end_when_the_parent_is_told_to(settings: Settings) -> None:
    async with _two(settings) as (parent, (first, second)):
        os.kill(second, signal.SIGKILL)
        await parent.said("process 2 ended with -9; starting it again")
        await parent.said("serving: ")
        both = _children(parent)
        assert len(both) == 2
        assert first in both
        assert second not in both
        parent.process.terminate()
        assert await parent.ended() == 0
        assert [pid for pid in both if _runs(pid)] == []
        assert len([line for line in parent.lines if line["message"].startswith("stopping: ")]) == 2


async def test_no_process_is_left_behind_by_a_parent_that_is_killed(settings: Settings) -> None:
    async with _two(settings) as (parent, both):
        parent.process.kill()
        await _until_gone(both)


async def test_a_start_that_is_refused_is_refused_once(settings: Settings) -> None:
    nowhere = Settings(database_url="postgresql://u@127.0.0.1:1/x").database_url
    env = environment(settings.model_copy(update={"database_url": nowhere}))
    async with program("serve", *MANY, "--processes=2", env=env) as parent:
        assert await parent.ended() == 1
        said = [line["message"] for line in parent.lines if line["message"].startswith("countersign: ")]
    assert said[0].startswith("countersign: the database cannot be used: ")
    assert said[1:] == ["countersign: process 1 ended at its start; its output is above\n"]


async def test_what_people_and_callers_reach_is_one_process(settings: Settings) -> None:
    async with program("serve", "--processes=2", env=environment(settings)) as refused:
        assert await refused.ended() == 1
    assert refused.lines[-1]["message"].startswith("countersign: the roles bot and edge need a single process")
