"""A proxy between a client and a real server, that answers or changes what a test wants answered or changed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

from tests.patience import MINUTE

_OF_THE_HOP = {"connection", "transfer-encoding", "content-length"}


@dataclass
class Answer:
    """An HTTP answer."""

    status: int
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""


Fault = Callable[[str, str], Answer | None]
"""Given method and path with query: the answer in the server's place, or None to ask the server."""
Bend = Callable[[str, str, Answer], Answer]
"""Given method, path and the server's answer: the answer to give."""


def no_fault(_method: str, _path: str) -> Answer | None:
    return None


def no_bend(_method: str, _path: str, answer: Answer) -> Answer:
    return answer


@dataclass
class FaultProxy:
    """Where it listens, and what it does to whom; both may change at any moment."""

    endpoint: str
    fault: Fault = no_fault
    bend: Bend = no_bend
    asked: list[str] = field(default_factory=list)


@contextmanager
def fault_proxy(server: str) -> Iterator[FaultProxy]:
    """Run a proxy in front of `server` (http://host:port) until the block ends."""
    listener = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    proxy = FaultProxy(f"http://127.0.0.1:{listener.server_address[1]}")
    listener.RequestHandlerClass = _handler(proxy, urlsplit(server).netloc)
    listener.daemon_threads = True
    thread = Thread(target=listener.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield proxy
    finally:
        listener.shutdown()
        thread.join()
        listener.server_close()


def _handler(proxy: FaultProxy, server: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def handle_one(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            proxy.asked.append(f"{self.command} {self.path}")
            answer = proxy.fault(self.command, self.path)
            if answer is None:
                answer = proxy.bend(self.command, self.path, self._forward(body))
            self.send_response(answer.status)
            for name, value in answer.headers:
                self.send_header(name, value)
            if self.command != "HEAD":
                self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_one  # noqa: N815 - the library's names

        def _forward(self, body: bytes) -> Answer:
            """Ask the server as the client asked, the signed Host included."""
            upstream = HTTPConnection(server, timeout=MINUTE)
            try:
                upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                for name, value in self.headers.items():
                    if name.lower() not in ("expect", "connection"):
                        upstream.putheader(name, value)
                upstream.endheaders(body)
                got = upstream.getresponse()
                kept = [(name, value) for name, value in got.getheaders() if name.lower() not in _OF_THE_HOP]
                if self.command == "HEAD":
                    kept += [("Content-Length", got.getheader("Content-Length") or "0")]
                return Answer(got.status, kept, got.read())
            finally:
                upstream.close()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler
