"""Socket Mode: up to ten WebSockets, any of which gets an envelope and acknowledges it."""

import asyncio
import json
import secrets
import uuid
from contextlib import suppress
from typing import Any

from aiohttp import WSMsgType, web

from sandbox.core import ACK_SECONDS, Sandbox, within
from sandbox.delivery import Ack, Json

MOST_CONNECTIONS = 10
LIFETIME_SECONDS, WARNING_SECONDS = 3600.0, 10.0


class Hub:
    """The open connections and the envelopes that wait for an acknowledgement."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._tickets: set[str] = set()
        self._sockets: list[web.WebSocketResponse] = []
        self._waiting: dict[str, asyncio.Future[Any]] = {}

    def issue_ticket(self) -> str:
        """Return a ticket that opens one connection."""
        ticket = secrets.token_urlsafe(16)
        self._tickets.add(ticket)
        return ticket

    @property
    def connections(self) -> int:
        """Return how many connections are open."""
        return len(self._sockets)

    async def handle(self, request: web.Request) -> web.WebSocketResponse:
        """Serve one connection from hello to goodbye."""
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            raise web.HTTPForbidden(text="ticket unknown or used")
        self._tickets.discard(ticket)
        socket = web.WebSocketResponse(heartbeat=None)
        await socket.prepare(request)
        if self.connections >= MOST_CONNECTIONS:
            await self._goodbye(socket, "too_many_websockets")
            return socket
        self._sockets.append(socket)
        await socket.send_json(self._hello())
        self._sandbox.store.changed()
        refresh = asyncio.create_task(self._refresh(socket))
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    self._acknowledge(message.data)
        finally:
            refresh.cancel()
            self._forget(socket)
        return socket

    def _forget(self, socket: web.WebSocketResponse) -> None:
        if socket in self._sockets:
            self._sockets.remove(socket)
            self._sandbox.store.changed()

    def _hello(self) -> Json:
        return {
            "type": "hello",
            "num_connections": self.connections,
            "debug_info": {"host": "sandbox", "approximate_connection_time": int(LIFETIME_SECONDS)},
            "connection_info": {"app_id": self._sandbox.workspace.app.id},
        }

    async def _refresh(self, socket: web.WebSocketResponse) -> None:
        """Ask the app, after an hour, to connect anew: first a warning, then the end."""
        await self._sandbox.sleep(LIFETIME_SECONDS)
        await self._part(socket, "warning")
        await self._sandbox.sleep(WARNING_SECONDS)
        self._forget(socket)
        await self._goodbye(socket, "refresh_requested")

    @staticmethod
    async def _goodbye(socket: web.WebSocketResponse, reason: str) -> None:
        await Hub._part(socket, reason)
        await socket.close()

    @staticmethod
    async def _part(socket: web.WebSocketResponse, reason: str) -> None:
        with suppress(ConnectionError):
            await socket.send_json({"type": "disconnect", "reason": reason, "debug_info": {"host": "sandbox"}})

    def _acknowledge(self, text: str) -> None:
        """Match an acknowledgement with its envelope; anything else is ignored, as Slack does."""
        with suppress(ValueError):
            message = json.loads(text)
            waiting = self._waiting.get(message.get("envelope_id", "")) if isinstance(message, dict) else None
            if waiting and not waiting.done():
                waiting.set_result(message.get("payload"))

    async def send(self, kind: str, payload: Json) -> Ack:
        """Deliver over the connection whose turn it is."""
        if not self._sockets:
            return Ack("socket", error="dispatch_failed")
        socket = self._sockets.pop(0)
        self._sockets.append(socket)
        envelope_id = str(uuid.uuid4())
        answer = self._waiting[envelope_id] = asyncio.get_running_loop().create_future()
        try:
            await socket.send_json(self._envelope(envelope_id, kind, payload))
            body = await within(self._sandbox.sleep, ACK_SECONDS, answer)
        except TimeoutError:
            return Ack("socket", timed_out=True, error="operation_timeout")
        except ConnectionError:
            return Ack("socket", error="dispatch_failed")
        finally:
            del self._waiting[envelope_id]
        return Ack("socket", body=body)

    @staticmethod
    def _envelope(envelope_id: str, kind: str, payload: Json) -> Json:
        retry = {"retry_attempt": 0, "retry_reason": ""} if kind == "events_api" else {}
        replies = kind == "slash_commands" or payload.get("type") == "view_submission"
        return {
            "envelope_id": envelope_id,
            "type": kind,
            "accepts_response_payload": replies,
            "payload": payload,
            **retry,
        }

    async def close(self, _: web.Application) -> None:
        """Hang up on everybody when the workspace closes."""
        for socket in self._sockets[:]:
            await self._goodbye(socket, "link_disabled")
