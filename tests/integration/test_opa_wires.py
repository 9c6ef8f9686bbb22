"""What comes over a connection to OPA is one whole answer, or the question is unavailable, and no other error."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from policy.client import OpaEngine
from policy.contract import Outcome, PolicyUnavailableError, Verdict
from policy.http import HEAD_LIMIT, KEPT_SECONDS, MOST_CONNECTIONS, Whole, reading
from policy.transport import ANSWER_LIMIT, Access, connect
from tests.integration.test_opa_faults import ANSWER, SOUND, WAYS, Listening, at_a_port, http, listing, reply, serving
from tests.opa_server import question
from tests.patience import MINUTE

BODY = json.dumps(reply(ANSWER)).encode()
OK = b"HTTP/1.1 200 OK\r\n"


def chunked(*parts: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    pieces = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)
    return OK + b"Transfer-Encoding: chunked\r\n\r\n" + pieces + end


def read(pieces: list[bytes], limit: int = ANSWER_LIMIT) -> Whole | None:
    """Return the answer that came in these pieces, None where more would have to come."""
    got = bytearray()
    under_way = reading(got, limit)
    try:
        next(under_way)
        for piece in pieces:
            got += piece
            next(under_way)
    except StopIteration as found:
        whole: Whole = found.value
        return whole
    return None


@given(whole=st.sampled_from([SOUND, chunked(BODY), chunked(BODY[:7], BODY[7:])]), data=st.data())
def test_an_answer_is_the_same_however_its_bytes_come(whole: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)))))
    pieces = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert read(pieces) == Whole(200, BODY, last=False)


LONG = b"X: " + b"x" * HEAD_LIMIT

MALFORMED = {
    "another version": (SOUND.replace(b"1.1", b"2.0", 1), "not HTTP/1"),
    "another protocol": (b"220 mail ready\r\n\r\n", "not HTTP/1"),
    "a folded line": (SOUND.replace(b"\r\nContent-L", b"\r\n Content-L"), "head is malformed"),
    "a bare line feed": (SOUND.replace(b"\r\nContent-L", b"\nContent-L"), "head is malformed"),
    "a space before the colon": (SOUND.replace(b"Length:", b"Length :"), "head is malformed"),
    "a head too long": (SOUND.replace(b"Content-Type", LONG + b"\r\nContent-Type"), "longer than 8192 bytes"),
    "a head without an end": (OK + LONG, "longer than 8192 bytes"),
    "no length": (OK + b"\r\n" + BODY, "neither one Content-Length"),
    "two lengths": (SOUND.replace(b"Content-Type", b"Content-Length: 1\r\nX"), "neither one Content-Length"),
    "a length below zero": (OK + b"Content-Length: -1\r\n\r\n", "neither one Content-Length"),
    "a length and chunks": (SOUND.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n"), "neither one"),
    "another coding": (chunked(BODY).replace(b"chunked", b"gzip, chunked"), "neither one Content-Length"),
    "an encoded body": (SOUND.replace(b"Content-Type", b"Content-Encoding: gzip\r\nX"), "encoded"),
    "a chunk without a length": (chunked(end=b"x\r\n"), "has no length"),
    "a chunk with an extension": (chunked(end=b"0;a=b\r\n\r\n"), "has no length"),
    "a chunk with a long length": (chunked(end=b"0" * 8 + b"\r\n\r\n"), "longer than 7 bytes"),
    "a chunk that is longer": (chunked(end=b"1\r\nxyz"), "not as long as it says"),
    "a trailer": (chunked(BODY, end=b"0\r\nX: y\r\n\r\n"), "not as long as it says"),
    "a length too long": (OK + b"Content-Length: 262145\r\n\r\n", "longer than 262144 bytes"),
    "a chunk too long": (chunked(end=b"40001\r\n"), "longer than 262144 bytes"),
    "chunks too long together": (chunked(b"x" * ANSWER_LIMIT, b"x"), "longer than 262144 bytes"),
    "two answers": (SOUND + SOUND, "more came than one answer"),
    "an answer and a byte": (chunked(BODY) + b"x", "more came than one answer"),
    "half a head": (SOUND[:20], "ended before the answer did"),
    "half a body": (SOUND[:-1], "ended before the answer did"),
    "half a chunk": (chunked(BODY, end=b""), "ended before the answer did"),
    "nothing": (b"", "Server disconnected"),
    "an early hint": (b"HTTP/1.1 103 Early Hints\r\n\r\n" + SOUND, "HTTP status 103"),
    "a redirect": (http(b"", "307 Temporary Redirect", "Location: http://127.0.0.1:9/"), "HTTP status 307"),
}


@asynccontextmanager
async def sending(said: bytes, listening: Listening) -> AsyncIterator[OpaEngine]:
    """Answer a question with these bytes, and what else is asked as OPA does; yield who asks."""

    async def respond(writer: asyncio.StreamWriter, path: str) -> None:
        document = listing(path)
        writer.write(http(json.dumps(document).encode()) if document else said)

    async with serving(respond, listening) as url, OpaEngine(url, timeout=MINUTE) as engine:
        yield engine


@pytest.mark.parametrize("listening", WAYS)
@pytest.mark.parametrize(("said", "why"), MALFORMED.values(), ids=MALFORMED.keys())
async def test_what_is_no_answer_is_unavailable_and_says_why(said: bytes, why: str, listening: Listening) -> None:
    async with sending(said, listening) as engine:
        with pytest.raises(PolicyUnavailableError, match=why):
            await engine.ask(question())


@pytest.mark.parametrize("listening", WAYS)
async def test_an_answer_in_chunks_is_understood(listening: Listening) -> None:
    async with sending(chunked(BODY[:9], BODY[9:]), listening) as engine:
        assert (await engine.ask(question())).answer.outcome is Outcome.ALLOW


def _bent(whole: bytes) -> st.SearchStrategy[bytes]:
    places = st.integers(0, len(whole))
    return st.builds(
        lambda start, end, put: whole[:start] + put + whole[end:],
        *(places, places, st.binary(max_size=40) | st.sampled_from([b"\r\n", b"0\r\n\r\n", b"Content-Length: 3\r\n"])),
    )


@pytest.mark.parametrize("listening", WAYS)
@given(said=st.binary(max_size=400) | _bent(SOUND) | _bent(chunked(BODY)))
@example(said=SOUND)
async def test_whatever_bytes_come_there_is_a_verdict_or_none_is_available(listening: Listening, said: bytes) -> None:
    async with sending(said, listening) as engine:
        (found,) = await engine.ask_all([question()])
    assert isinstance(found, Verdict | PolicyUnavailableError)
    if isinstance(found, PolicyUnavailableError):
        assert "no answer within" not in str(found)


class Server:
    """Keeps its connections. `says` gives what it sends to the request of this number, None to hang up at once."""

    def __init__(self, says: Callable[[int], bytes | None]) -> None:
        self._says = says
        self.connections, self.asked = 0, 0
        self.heads: list[bytes] = []
        self.writers: list[asyncio.StreamWriter] = []
        self.ended = asyncio.Event()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]))
                said = self._says(self.asked)
                self.asked += 1
                if said is None:
                    break
                writer.write(said)
        self.ended.set()
        writer.close()


async def _ask(url: str, *, times: int) -> list[object]:
    async with connect(url, MINUTE) as client:
        return [await client.ask("some/rule", b"{}") for _ in range(times)]


@pytest.mark.parametrize("listening", WAYS)
async def test_a_connection_is_used_again(listening: Listening) -> None:
    server = Server(lambda _: SOUND)
    async with listening(server.connected) as url:
        assert await _ask(url, times=3) == [reply(ANSWER)] * 3
    assert (server.connections, server.asked) == (1, 3)


@pytest.mark.parametrize("said", [http(BODY, "200 OK", "Connection: Close"), SOUND.replace(b"1.1", b"1.0", 1)])
@pytest.mark.parametrize("listening", WAYS)
async def test_a_connection_that_is_to_be_closed_is_not_used_again(listening: Listening, said: bytes) -> None:
    server = Server(lambda _: said)
    async with listening(server.connected) as url:
        assert await _ask(url, times=2) == [reply(ANSWER)] * 2
    assert server.connections == 2


@pytest.mark.parametrize("listening", WAYS)
async def test_a_question_to_a_connection_that_was_closed_is_asked_once_more(listening: Listening) -> None:
    server = Server(lambda number: None if number == 1 else SOUND)
    async with listening(server.connected) as url:
        assert await _ask(url, times=2) == [reply(ANSWER)] * 2
    assert (server.connections, server.asked) == (2, 3)


@pytest.mark.parametrize("listening", WAYS)
async def test_a_question_is_not_asked_a_third_time(listening: Listening) -> None:
    server = Server(lambda number: SOUND if number == 0 else None)
    async with listening(server.connected) as url:
        with pytest.raises(ConnectionError, match="disconnected"):
            await _ask(url, times=2)
    assert server.asked == 3


@pytest.mark.parametrize("listening", WAYS)
async def test_a_question_that_began_to_be_answered_is_not_asked_again(listening: Listening) -> None:
    server = Server(lambda number: SOUND if number == 0 else b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n")
    async with listening(server.connected) as url:
        with pytest.raises(PolicyUnavailableError):
            await _ask(url, times=2)
    assert (server.connections, server.asked) == (1, 2)


@pytest.mark.parametrize("listening", WAYS)
async def test_an_answer_that_nobody_asked_for_answers_no_later_question(listening: Listening) -> None:
    server = Server(lambda _: SOUND)
    async with listening(server.connected) as url, connect(url, MINUTE) as client:
        await client.ask("some/rule", b"{}")
        server.writers[0].write(http(b'"forged"'))
        async with asyncio.timeout(MINUTE):
            await server.ended.wait()  # whoever asked has hung up
        assert await client.ask("some/rule", b"{}") == reply(ANSWER)
    assert server.connections == 2


@pytest.mark.parametrize("listening", WAYS)
async def test_a_connection_is_not_used_again_after_another_status(listening: Listening) -> None:
    server = Server(lambda number: SOUND if number else http(BODY, "503 Service Unavailable"))
    async with listening(server.connected) as url, connect(url, MINUTE) as client:
        with pytest.raises(PolicyUnavailableError, match="503"):
            await client.ask("some/rule", b"{}")
        assert await client.ask("some/rule", b"{}") == reply(ANSWER)
    assert server.connections == 2


@pytest.mark.parametrize("listening", WAYS)
async def test_a_connection_ends_with_the_question_that_nobody_waits_for(listening: Listening) -> None:
    asked = asyncio.Event()

    def silent(_: int) -> bytes:
        asked.set()
        return b""

    server = Server(silent)
    async with listening(server.connected) as url, connect(url, MINUTE) as client, asyncio.timeout(MINUTE):
        question = asyncio.create_task(client.ask("some/rule", b"{}"))
        await asked.wait()
        question.cancel()
        await server.ended.wait()


@pytest.mark.parametrize("listening", WAYS)
async def test_a_client_that_closes_ends_its_connections(listening: Listening) -> None:
    server = Server(lambda _: SOUND)
    async with listening(server.connected) as url, asyncio.timeout(MINUTE):
        await _ask(url, times=1)
        await server.ended.wait()


async def test_no_more_connections_are_open_than_the_limit_and_all_questions_are_answered() -> None:
    server = Server(lambda _: SOUND)
    async with at_a_port(server.connected) as url, connect(url, MINUTE) as client:
        answers = await asyncio.gather(*(client.ask("some/rule", b"{}") for _ in range(MOST_CONNECTIONS + 20)))
    assert answers == [reply(ANSWER)] * (MOST_CONNECTIONS + 20)
    assert server.connections <= MOST_CONNECTIONS


async def test_a_connection_that_rested_too_long_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(lambda _: SOUND)
    async with at_a_port(server.connected) as url, connect(url, MINUTE) as client:
        await client.ask("some/rule", b"{}")
        loop = asyncio.get_running_loop()
        now = loop.time
        monkeypatch.setattr(loop, "time", lambda: now() + KEPT_SECONDS)
        await client.ask("some/rule", b"{}")
        monkeypatch.undo()
    assert server.connections == 2


async def test_who_asks_shows_its_token_and_wants_no_encoding() -> None:
    server = Server(lambda _: SOUND)
    async with at_a_port(server.connected) as url, connect(url, MINUTE, Access("sesame")) as client:
        await client.ask("some/rule", b"{}")
    assert b"\r\nAuthorization: Bearer sesame\r\n" in server.heads[0]
    assert b"accept-encoding" not in server.heads[0].lower()


async def test_a_token_with_a_line_break_is_refused_and_not_told() -> None:
    with pytest.raises(ValueError, match="Authorization") as caught:
        connect("http://opa:8181", MINUTE, Access("sesame\r\nX: y"))
    assert "sesame" not in str(caught.value)
