"""A process that starts while its database is starting waits for it, says so once, and not for ever."""

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from countersign.embedded.opa import OpaChild
from countersign.settings import Settings
from tests.integration.program_stage import command, environment, program, settings_of

WAITING = "waiting up to 60 s for the database"


class Door:
    """A socket in front of the real server: it can be missing, and say that the server is starting."""

    def __init__(self, folder: Path, dsn: str) -> None:
        self.dsn = f"postgresql://postgres@/{urlsplit(dsn).path.removeprefix('/')}?host={folder}"
        self.starting = False
        self.refused = asyncio.Event()
        self._behind = Path(parse_qs(urlsplit(dsn).query)["host"][0]) / ".s.PGSQL.5432"
        self._path = folder / ".s.PGSQL.5432"

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Let clients in while the block lasts."""
        async with await asyncio.start_unix_server(self._serve, self._path):
            yield

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.starting:
            await reader.read(4096)
            fields = b"SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0"
            writer.write(b"E" + struct.pack("!I", len(fields) + 4) + fields)
            writer.close()
            self.refused.set()
            return
        behind, to_behind = await asyncio.open_unix_connection(self._behind)
        await asyncio.gather(_copy(reader, to_behind), _copy(behind, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@pytest.fixture
def door(dsn: str, tmp_path: Path) -> Door:
    return Door(tmp_path, dsn)


def patient(door: Door, opa: OpaChild, home: Path, **more: Any) -> dict[str, str]:
    return environment(settings_of(door.dsn, opa.url, home, port=0, database_patience=60.0, **more))


async def test_a_start_waits_for_a_database_that_is_missing_and_then_starting(
    door: Door, opa: OpaChild, tmp_path: Path
) -> None:
    async with program("serve", "--role=sweeps", "--processes=1", env=patient(door, opa, tmp_path)) as running:
        waiting = await running.said(WAITING)
        assert "No such file or directory" in waiting["message"]
        door.starting = True
        async with door.open():
            await door.refused.wait()
            door.starting = False
            await running.said("serving: ")
            assert sum(WAITING in line["message"] for line in running.lines) == 1
            running.process.terminate()
            assert await running.ended() == 0


async def test_migrating_waits_too(door: Door) -> None:
    async with program("migrate", env={"COUNTERSIGN_DATABASE_URL": door.dsn}) as running:
        await running.said(WAITING)
        async with door.open():
            assert await running.ended() == 0


async def test_the_wait_has_an_end(door: Door, opa: OpaChild, tmp_path: Path) -> None:
    env = {**patient(door, opa, tmp_path), "COUNTERSIGN_DATABASE_PATIENCE": "0.5"}
    finished = await command("serve", env=env)
    assert finished.code == 1
    assert "countersign: the database cannot be used: connection " in finished.err.splitlines()[-1]


@pytest.mark.parametrize("wrong", ["postgresql://nobody@/x?host={host}", "postgresql://postgres@/nonesuch?host={host}"])
async def test_a_database_that_refuses_us_is_not_waited_for(postgres: str, wrong: str) -> None:
    dsn = wrong.format(host=parse_qs(urlsplit(postgres).query)["host"][0])
    finished = await command("migrate", env={"COUNTERSIGN_DATABASE_URL": dsn})
    assert (finished.code, WAITING in finished.err) == (1, False)
    assert "does not exist" in finished.err


async def test_what_the_settings_lack_is_said_before_any_waiting(door: Door) -> None:
    settings = Settings(database_url=door.dsn, slack_channel="C1")
    finished = await command("serve", env=environment(settings))
    assert finished.err.startswith("countersign: COUNTERSIGN_OPA_URL is not set")
