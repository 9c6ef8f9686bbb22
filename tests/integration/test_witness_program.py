"""The witness as a process: what it answers over HTTP, and that no end of it lets it cosign two histories."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path

import aiohttp
import pytest

from receipts.add_checkpoint import BODY_LIMIT, SIZE_TYPE, AddCheckpoint, parse_size, with_cosignatures
from receipts.checkpoint import cosignatures
from receipts.note import Algorithm
from tests.integration.program_stage import LOG, NAME, OWNER, Served, arguments, command, env, key_of, request, running
from tests.patience import MINUTE
from tests.unit.log_sample import MemoryLog, sample_log, signer

FORK = sample_log(40, salt="forked ")
PLAIN = "text/plain; charset=utf-8"
KILLS = 20
MORE = 30
ASKING = 3
"""How many ask at once for each side of a fork."""


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with running(tmp_path) as witness:
        yield witness


async def test_checkpoint_comes_back_cosigned(served: Served, tmp_path: Path) -> None:
    answer = await served.send(request(0, 7))
    assert (answer.status, answer.kind) == (200, PLAIN)
    note = with_cosignatures(LOG.checkpoint(OWNER, 7), answer.body, [key_of(tmp_path)])
    assert [seen.key.name for seen in cosignatures(note, [key_of(tmp_path)])] == [NAME]


async def test_each_refusal_has_the_status_that_the_specification_gives_it(served: Served) -> None:
    assert (await served.send(request(0, 20))).status == 200
    stale = await served.send(request(7, 21))
    assert (stale.status, stale.kind, stale.body) == (409, SIZE_TYPE, b"20\n")
    stranger = LOG.checkpoint(signer("else.example", 2), 21)
    unsigned = LOG.checkpoint(signer(OWNER.name, 3), 21)
    refused = {
        400: b"old 020\n\n" + bytes(LOG.checkpoint(OWNER, 21)),
        403: bytes(AddCheckpoint(20, (), unsigned)),
        404: bytes(AddCheckpoint(20, (), stranger)),
        409: bytes(AddCheckpoint(20, (), FORK.checkpoint(OWNER, 20))),
        413: b"x" * (BODY_LIMIT + 1),
        422: bytes(AddCheckpoint(20, (), LOG.checkpoint(OWNER, 21))),
    }
    for status, body in refused.items():
        answer = await served.send(body)
        assert (answer.status, answer.kind) == (status, PLAIN)
        assert answer.body.count(b"\n") == 1


async def test_there_is_one_path_and_one_method(served: Served) -> None:
    assert (await served.send(request(0, 7), path="/")).status == 404
    assert (await served.send(b"", method="GET")).status == 405


async def test_checkpoint_that_cannot_be_recorded_is_refused_and_told_in_the_log(
    served: Served, tmp_path: Path
) -> None:
    (tmp_path / "state").rename(tmp_path / "away")
    answer = await served.send(request(0, 7))
    assert (answer.status, answer.body) == (503, b"the checkpoint could not be recorded\n")
    assert (await served.process.said("not cosigned, the checkpoint could not be recorded"))["level"] == "error"
    (tmp_path / "away").rename(tmp_path / "state")
    assert (await served.send(request(0, 7))).status == 200


async def test_it_ends_when_told_to_and_goes_on_where_it_was(tmp_path: Path) -> None:
    async with running(tmp_path) as first:
        assert (await first.send(request(0, 20))).status == 200
        first.process.process.send_signal(signal.SIGTERM)
        assert await first.process.ended() == 0
    async with running(tmp_path) as second:
        assert await second.size() == 20
        assert (await second.send(request(20, 21))).status == 200


async def test_second_process_in_the_same_folder_is_refused(served: Served, tmp_path: Path) -> None:
    assert (await served.send(request(0, 1))).status == 200
    finished = await command(*arguments(tmp_path), env=env(tmp_path))
    assert finished.code == 1
    assert "another witness uses" in finished.err
    assert "Traceback" not in finished.err


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"listen": "8090"}, "an address is HOST:PORT"),
        ({"listen": "127.0.0.1:65536"}, "an address is HOST:PORT"),
        ({"listen": "192.0.2.1:8090"}, "cannot listen on 192.0.2.1 port 8090"),
        ({"log": "log.example/acme"}, "a verifier key is name+hash+key"),
        ({"log": str(signer(OWNER.name, 1).verifier(Algorithm.COSIGNATURE_V1))}, "must be of Ed25519 (01)"),
    ],
)
async def test_start_with_what_cannot_be_is_refused_in_a_sentence(
    tmp_path: Path, change: dict[str, str], says: str
) -> None:
    finished = await command(*arguments(tmp_path, **change), env=env(tmp_path))
    assert finished.code != 0
    assert says in " ".join(finished.err.replace("│", " ").split())
    assert "Traceback" not in finished.err


Side = dict[int, bytes]
"""The requests of one side of a fork, by the old size: each lets the log grow by one entry."""


Cosigned = tuple[int, Side, bytes]
"""The old size of a request, its side, and the answer."""


async def ask(served: Served, sides: Sequence[Side], size: int, cosigned: list[Cosigned], until: int) -> None:
    """Let all sides grow from a size that they share, until the witness is gone; tell what it cosigned.

    It is killed as its answer number `until` comes in. Nothing else is done meanwhile: the kill must be quick.
    """

    async def grow(side: Side) -> None:
        old = size
        while old in side:
            answer = await served.send(side[old])
            if answer.status == 200:
                cosigned.append((old, side, answer.body))
                if len(cosigned) == until:
                    served.process.process.kill()
                old += 1
            elif answer.kind == SIZE_TYPE:
                old = parse_size(answer.body)

    async with asyncio.timeout(MINUTE):
        ended = await asyncio.gather(*(grow(side) for side in [*sides] * ASKING), return_exceptions=True)
    assert all(isinstance(how, aiohttp.ClientError | ConnectionError) for how in ended), ended


def kill_in_a_write(folder: Path, pid: int, changes: int) -> None:
    """Kill the process in the moment in which its folder has changed so many times."""
    before, end = _seen(folder), time.monotonic() + MINUTE
    while changes and time.monotonic() < end:
        if (now := _seen(folder)) != before:
            before, changes = now, changes - 1
    os.kill(pid, signal.SIGKILL)


def _seen(folder: Path) -> set[tuple[str, int, int]]:
    seen = set()
    for file in folder.iterdir():
        with suppress(FileNotFoundError):  # it was renamed meanwhile
            seen.add((file.name, file.stat().st_mtime_ns, file.stat().st_size))
    return seen


async def test_killed_at_any_moment_it_never_cosigns_two_histories(tmp_path: Path) -> None:
    """Each time it starts, two histories go on from the last size; what it cosigned, ever, is one history.

    It is killed by turns in the moment of an answer and in the midst of a write.
    """
    heads: set[tuple[int, bytes]] = set()
    logs = [MemoryLog(), MemoryLog()]
    for kill in range(KILLS):
        async with running(tmp_path) as served:
            size = await served.size()
            history = await _history(served, logs, size)
            assert all(root == history.head(seen).root for seen, root in heads)
            logs = [_grown(history, size, f"{side} of {kill}") for side in range(2)]
            sides = [{old: request(old, old + 1, log) for old in range(size, size + MORE)} for log in logs]
            cosigned: list[Cosigned] = []
            if kill % 2:
                await asyncio.gather(
                    asyncio.to_thread(kill_in_a_write, tmp_path / "state", served.process.process.pid, 1 + kill % 7),
                    ask(served, sides, size, cosigned, until=-1),
                )
            else:
                await ask(served, sides, size, cosigned, until=1 + kill % 9)
        for old, side, answer in cosigned:
            log = logs[sides.index(side)]
            with_cosignatures(log.checkpoint(OWNER, old + 1), answer, [key_of(tmp_path)])
            heads.add((old + 1, log.head(old + 1).root))
    assert len(heads) >= KILLS


def _grown(history: MemoryLog, size: int, salt: str) -> MemoryLog:
    """Return a log that has a history up to a size, and then goes its own way."""
    return MemoryLog().append(*history.entries[:size], *sample_log(MORE, salt).entries)


async def _history(served: Served, logs: Sequence[MemoryLog], size: int) -> MemoryLog:
    """Return the side whose root of this size the witness cosigned."""
    answers = [(await served.send(request(size, size, log))).status for log in logs]
    assert 200 in answers
    return logs[answers.index(200)]
