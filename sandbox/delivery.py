"""Delivery: how events and interactions reach the app, by HTTP or Socket Mode, and what came back within three seconds.

Socket Mode has up to ten WebSockets; any of them gets an envelope and acknowledges it.
"""

import asyncio
import hashlib
import hmac
import json
import secrets
import uuid
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlencode

import aiohttp
from aiohttp import WSMsgType, web

from sandbox.core import ACK_SECONDS, Sandbox, within

Json = dict[str, Any]


@dataclass(frozen=True)
class Ack:
    """The app's answer: the HTTP status (None over a socket or when nothing came) and the body it carried."""

    transport: str
    status: int | None = None
    timed_out: bool = False
    error: str = ""
    body: Any = None

    @property
    def ok(self) -> bool:
        """Say whether the app acknowledged in time."""
        return not self.error

    def summary(self) -> Json:
        """Return what the person's side may know."""
        return {
            "transport": self.transport,
            "status": self.status,
            "timed_out": self.timed_out,
            "error": self.error or None,
        }


class Courier(Protocol):
    """Brings a payload to the app. `kind` is ``interactive``, ``events_api`` or ``slash_commands``."""

    async def send(self, kind: str, payload: Json) -> Ack:
        """Deliver once and wait for the acknowledgement, three seconds at most."""
        ...


class HttpCourier:
    """Signed POSTs to the app's request URL."""

    def __init__(self, sandbox: Sandbox, url: str) -> None:
        self._sandbox = sandbox
        self._url = url

    async def send(self, kind: str, payload: Json) -> Ack:
        """Deliver as a form, events as JSON, and read the answer."""
        if kind == "events_api":
            content_type, text = "application/json", json.dumps(payload)
        else:
            content_type = "application/x-www-form-urlencoded"
            text = urlencode({"payload": json.dumps(payload)} if kind == "interactive" else payload)
        return await self._post(text.encode(), content_type)

    async def _post(self, body: bytes, content_type: str) -> Ack:
        headers = {"Content-Type": content_type, "User-Agent": "Slackbot 1.0", **self._signature(body)}
        try:
            status, answer = await within(self._sandbox.sleep, ACK_SECONDS, self._exchange(body, headers))
        except TimeoutError:
            return Ack("http", timed_out=True, error="operation_timeout")
        except aiohttp.ClientError:
            return Ack("http", error="dispatch_failed")
        if status != 200:  # noqa: PLR2004 - the only status that acknowledges
            return Ack("http", status=status, error="http_service_error")
        return Ack("http", status=status, body=_decoded(answer))

    async def _exchange(self, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
        timeout = aiohttp.ClientTimeout(total=None)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.post(self._url, data=body, headers=headers, allow_redirects=False) as response,
        ):
            return response.status, await response.text(errors="replace")

    def _signature(self, body: bytes) -> dict[str, str]:
        """Return the v0 signature headers."""
        timestamp = str(int(self._sandbox.clock().timestamp()))
        secret = self._sandbox.workspace.app.signing_secret.encode()
        digest = hmac.new(secret, b"v0:" + timestamp.encode() + b":" + body, hashlib.sha256).hexdigest()
        return {"X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": f"v0={digest}"}


def _decoded(answer: str) -> Any:
    """Return JSON where it is JSON, else the text, else None."""
    if not answer.strip():
        return None
    try:
        return json.loads(answer)
    except ValueError:
        return answer


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
