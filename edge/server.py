"""The server: uvicorn, with bounds on who may keep it waiting.

uvicorn waits for the rest of a request as long as the other side likes, and looks at its limit of connections only when
the head of a request has come. Here

1. a request has `seconds` to arrive, from its first byte to its last, and so has what is sent after its answer;
2. there are at most `connections` of them;
3. what has come of all unfinished requests together has at most `UNFINISHED_LIMIT` bytes.

Who keeps us waiting longest is cut off for 2, who holds most for 3: the slow make room for those who come.
"""

import asyncio
import contextlib
import logging
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

UNFINISHED_LIMIT = 8 * 1024 * 1024
LEFTOVER_LIMIT = 256 * 1024
"""Bytes of a body that may still come, and are thrown away, when its request has been answered already."""

SHUTDOWN_LIMIT = 10
"""Seconds that requests under way may still take when the server is told to end."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Limits:
    """How many connections there may be, and the seconds in which a request must have arrived."""

    connections: int
    seconds: float


class Server(uvicorn.Server):
    """Serves an application within limits; every answer has `headers`.

    It has no signal handlers: the process has one place that decides to stop.
    """

    def __init__(self, app: ASGIApp, limits: Limits, headers: list[tuple[str, str]]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=_Connection,
                log_config=None,
                access_log=False,
                server_header=False,
                headers=headers,
                lifespan="off",
                ws="none",
                timeout_graceful_shutdown=SHUTDOWN_LIMIT,
            )
        )
        self.server_state = _Door(limits)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave the process's signals alone."""
        yield


class _Door(ServerState):
    """The connections of a server. `waiting` are those that owe us a request, or the rest of one, longest first."""

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self.limits = limits
        self.waiting: dict[_Connection, asyncio.TimerHandle] = {}
        self.unfinished = 0

    def let_in(self, connection: "_Connection") -> None:
        self.wait_for(connection)
        if len(self.connections) > self.limits.connections:
            self._cut_off(next(iter(self.waiting)), "there are too many connections")

    def wait_for(self, connection: "_Connection") -> None:
        """Let the time that a request may take begin."""
        if connection in self.waiting:
            self.waiting.pop(connection).cancel()
        why = "a request did not arrive in time"
        timer = asyncio.get_running_loop().call_later(self.limits.seconds, self._cut_off, connection, why)
        self.waiting[connection] = timer

    def hold(self, connection: "_Connection", size: int) -> None:
        """Count what has come of a request."""
        connection.held += size
        self.unfinished += size
        while self.unfinished > UNFINISHED_LIMIT and self.waiting:
            self._cut_off(max(self.waiting, key=lambda one: one.held), "unfinished requests take too much room")

    def let_go(self, connection: "_Connection") -> None:
        """Count no more what has come of a request: it is complete, answered, or lost."""
        self.unfinished -= connection.held
        connection.held = 0

    def forget(self, connection: "_Connection") -> None:
        """Throw away what has come of a request that nobody will read: uvicorn would keep it with the connection."""
        self.let_go(connection)
        if connection.cycle is not None:
            connection.cycle.body = bytearray()

    def arrived(self, connection: "_Connection") -> None:
        """Wait for the connection no longer."""
        if connection in self.waiting:
            self.waiting.pop(connection).cancel()
        self.let_go(connection)

    def _cut_off(self, connection: "_Connection", why: str) -> None:
        log.warning("a connection was cut off: %s", why, extra={"sampled": True})
        self.arrived(connection)
        self.forget(connection)
        self.connections.discard(connection)
        connection.transport.abort()


class _Connection(H11Protocol):
    """A connection that tells the door what it is waiting for."""

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: _Door,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.door = server_state
        self.held = 0
        self._leftover = 0
        self._has_begun = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn's
        super().connection_made(transport)
        self.door.let_in(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.door.arrived(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._has_begun:
            self._has_begun = True
            self.door.wait_for(self)
        if self._is_answered:
            self._leftover += len(data)
        else:
            self.door.hold(self, len(data))
        if self._leftover > LEFTOVER_LIMIT:
            self.transport.abort()
        elif not self.transport.is_closing():
            super().data_received(data)
            self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    @property
    def _is_answered(self) -> bool:
        """Return whether the rest of the request does not matter any more."""
        return self.conn.their_state is h11.SEND_BODY and self.cycle.response_complete

    def _look(self) -> None:
        """Find out whether the next move is theirs."""
        if self._is_answered:
            self.door.forget(self)
        elif self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._has_begun = False
            self._leftover = 0
            self.door.arrived(self)
        elif self not in self.door.waiting:
            self.door.wait_for(self)
