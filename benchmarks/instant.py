"""A policy server that allows everything at once, in OPA's own wire format.

What it takes off a governed step is OPA's share, and nothing else: whatever is no question about an effect is answered
by the real server, once. `python -m benchmarks.instant PORT OPA_URL`.
"""

import asyncio
import json
import socket
import sys
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPConnection
from itertools import count
from urllib.parse import urlsplit

from policy.address import socket_path

ONE, SEVERAL = "/v1/data/countersign/effect/decision", "/v1/data/countersign/effect/decisions"
ALLOWED: dict[str, object] = {"outcome": "allow", "tier": "low", "requirement": None, "reasons": [], "obligations": []}
_PROVENANCE = "/v1/data/countersign_config?provenance=true"


class Answers:
    """The one answer to every question, and the real server's to all else."""

    def __init__(self, opa: str) -> None:
        self._opa = opa
        self._kept: dict[tuple[bytes, str, bytes], bytes] = {}
        provenance = json.loads(self._real(b"GET", _PROVENANCE, b""))["provenance"]
        self._head = json.dumps({"provenance": provenance})[:-1].encode()
        self._numbers = count(1)

    def to(self, method: bytes, target: str, body: bytes) -> bytes:
        """Return the body of the response, b"" where there is nothing at the path."""
        path = target.partition("?")[0]
        if path == ONE:
            return self._answer(ALLOWED)
        if path == SEVERAL:
            return self._answer({str(place): ALLOWED for place in range(len(json.loads(body)["input"]))})
        return self._real(method, target, body)

    def _answer(self, result: object) -> bytes:
        numbered = b', "decision_id": "instant-%d", "result": ' % next(self._numbers)
        return self._head + numbered + json.dumps(result).encode() + b"}"

    def _real(self, method: bytes, target: str, body: bytes) -> bytes:
        key = (method, target, body)
        if key not in self._kept:
            self._kept[key] = _fetched(self._opa, method, target, body)
        return self._kept[key]


class Connection(asyncio.Protocol):
    """One connection, kept open; requests may come in pieces, or several at once."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where answers go."""
        self._transport = transport if isinstance(transport, asyncio.Transport) else None

    def data_received(self, data: bytes) -> None:
        """Answer each request that is whole."""
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end]
            whole = end + 4 + _length(head)
            if len(self._buffer) < whole:
                return
            asked, self._buffer = self._buffer[end + 4 : whole], self._buffer[whole:]
            self._answer(head, asked)

    def _answer(self, head: bytes, asked: bytes) -> None:
        method, target, _ = head.split(b" ", 2)
        body = self._answers.to(method, target.decode(), asked)
        status = b"200 OK" if body else b"404 Not Found"
        if self._transport is not None:
            self._transport.write(
                b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                % (status, len(body), body)
            )


def _length(head: bytes) -> int:
    _, found, rest = head.lower().partition(b"content-length:")
    return int(rest.split(b"\r\n", 1)[0]) if found else 0


def connection_to(server: str, timeout: float) -> HTTPConnection:
    """Return a connection to the server at `http://HOST:PORT` or `unix:///PATH`."""
    path = socket_path(server)
    connection = HTTPConnection(urlsplit(server).netloc or "localhost", timeout=timeout)
    if path:
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(timeout)
        connection.sock.connect(path)
    return connection


def _fetched(opa: str, method: bytes, target: str, body: bytes) -> bytes:
    with closing(connection_to(opa, 10)) as connection:
        connection.request(method.decode(), target, body or None, {"Content-Type": "application/json"})
        response = connection.getresponse()
        said = response.read()
    return said if response.status == HTTPStatus.OK else b""


async def main(port: int, opa: str) -> None:
    """Serve until ended."""
    answers = Answers(opa)
    server = await asyncio.get_running_loop().create_server(lambda: Connection(answers), "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
