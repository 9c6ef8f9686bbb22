"""The parts of a process end together, within a bound, and what ended by itself is named."""

import asyncio
import socket
from contextlib import suppress

import pytest

from countersign.logs import formatter
from countersign.parts import Part, Patience, ServeError, listen, run_parts
from tests.patience import MINUTE

CANARY = "canary-c40e"
PATIENCE = Patience(stop=MINUTE, cut_off=MINUTE)
SOON = 0.05


async def test_a_part_that_fails_ends_the_others_and_the_process_says_which(caplog: pytest.LogCaptureFixture) -> None:
    ending, ended = asyncio.Event(), asyncio.Event()

    async def fails() -> None:
        raise ValueError(f"first line\n{CANARY}")

    async def drains() -> None:
        await ending.wait()
        ended.set()

    parts = [Part("failing", fails), Part("draining", drains, ending.set), Part("waiting", asyncio.Event().wait)]
    with pytest.raises(ServeError, match="failing ended by itself"):
        await run_parts(parts, asyncio.Event(), PATIENCE)
    assert ended.is_set()
    (said,) = [formatter("json").format(record) for record in caplog.records if record.levelname == "ERROR"]
    assert "failing ended by itself" in said
    assert "ValueError: first line" in said
    assert CANARY not in said


async def test_a_part_that_returns_early_ends_the_process_too() -> None:
    async def returns() -> None:
        return

    with pytest.raises(ServeError, match="returning ended by itself"):
        await run_parts([Part("returning", returns)], asyncio.Event(), PATIENCE)


async def test_a_part_that_fails_at_its_end_is_not_passed_over() -> None:
    ending, stop = asyncio.Event(), asyncio.Event()

    async def fails_at_its_end() -> None:
        await ending.wait()
        raise ValueError("not everything was finished")

    stop.set()
    with pytest.raises(ServeError, match="draining ended by itself"):
        await run_parts([Part("draining", fails_at_its_end, ending.set)], stop, PATIENCE)


async def test_a_part_that_is_cut_off_for_too_long_ends_the_process() -> None:
    parts = [Part("socket mode", asyncio.Event().wait, is_connected=lambda: False)]
    with pytest.raises(ServeError, match=r"socket mode could not connect for 0\.05 s"):
        await run_parts(parts, asyncio.Event(), Patience(stop=MINUTE, cut_off=SOON))


async def test_a_part_that_comes_back_in_time_stays() -> None:
    looks, stop = iter([False, True] * 10), asyncio.Event()

    def is_connected() -> bool:
        found = next(looks, None)
        if found is None:
            stop.set()
        return bool(found)

    parts = [Part("socket mode", asyncio.Event().wait, is_connected=is_connected)]
    await run_parts(parts, stop, Patience(stop=MINUTE, cut_off=SOON))


async def test_what_hangs_at_the_end_is_named_and_left() -> None:
    stop, never = asyncio.Event(), asyncio.Event()

    async def hangs() -> None:
        while True:
            with suppress(asyncio.CancelledError):
                await never.wait()
                return

    stop.set()
    with pytest.raises(ServeError, match=r"hanging did not end within 0\.05 s and was abandoned"):
        await run_parts([Part("hanging", hangs)], stop, Patience(stop=SOON, cut_off=MINUTE))
    never.set()


def test_connections_send_an_answer_at_once_although_it_is_in_two_pieces() -> None:
    with (
        listen("127.0.0.1", 0, "name another") as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_port_that_cannot_be_had_is_refused_with_the_remedy() -> None:
    with listen("127.0.0.1", 0, "name another") as listener:
        port = listener.getsockname()[1]
        with pytest.raises(ServeError, match=f"cannot listen on 127.0.0.1 port {port}: Address already in use; name"):
            listen("127.0.0.1", port, "name another with --listen")
