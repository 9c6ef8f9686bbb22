"""Socket Mode, watched: a connection that is lost is back within seconds, whatever lost it."""

import asyncio

import aiohttp
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.adapter.socket_mode.async_internals import send_async_response
from slack_bolt.async_app import AsyncApp
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.web.async_client import AsyncWebClient

from bot.client import Tally, slack_logger
from bot.listeners.admission import Admission
from bot.origin import origin_of
from bot.payloads import parse_payload

_LOOK, _PING, _HANDSHAKE = 1.0, 5.0, 7.0


class _Handler(AsyncSocketModeHandler):
    """Bolt's handler over a WebSocket; what is not well formed does not reach the door."""

    def __init__(self, app: AsyncApp, app_token: str, web: AsyncWebClient, refused: Tally, door: Admission) -> None:
        super().__init__(app, app_token, web_client=web, ping_interval=_PING)
        self._refused = refused
        self._door = door

    async def handle(self, client: SocketModeClient, req: SocketModeRequest) -> None:  # type: ignore[override]  # as Bolt
        """Hand on what can be read; what can't is counted, and stays without an acknowledgement."""
        try:
            payload, origin = parse_payload(req.payload), origin_of(req.payload)
        except ValueError:
            self._refused.add()
            return
        await send_async_response(client, req, await self._door.answer(payload, origin), 0.0)


class SocketMode:
    """The connection over which Slack brings what people do."""

    def __init__(self, app: AsyncApp, app_token: str, web: AsyncWebClient, refused: Tally, door: Admission) -> None:
        self._app = app
        self._door = door
        self._app_token = app_token
        self._web = web
        self._refused = refused
        self._is_wanted = self._is_connected = False

    @property
    def trouble(self) -> str | None:
        """Return what is wrong with the connection, or None where it stands, or none is wanted in this process."""
        return "Socket Mode is not connected" if self._is_wanted and not self._is_connected else None

    async def run(self) -> None:
        """Keep a connection until canceled."""
        self._is_wanted = True
        handler = _Handler(self._app, self._app_token, self._web, self._refused, self._door)
        socket = handler.client
        # The client's own session would wait five minutes for the answer to a handshake.
        await socket.aiohttp_client_session.close()
        socket.aiohttp_client_session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_HANDSHAKE))
        connecting = asyncio.create_task(handler.connect_async())  # type: ignore[no-untyped-call]  # Bolt's
        try:
            await self._watch(socket, connecting)
        finally:
            self._is_wanted = self._is_connected = False
            connecting.cancel()
            await handler.close_async()  # type: ignore[no-untyped-call]  # Bolt's

    async def _watch(self, socket: SocketModeClient, connecting: asyncio.Task[None]) -> None:
        """Look once a second how the connection is, and as soon as there is a first one."""
        while True:
            is_connected = await socket.is_connected()
            if not is_connected:
                # An address opens one connection. The client tries the one it has for ever; without one it asks anew.
                socket.wss_uri = None
            self._note(is_connected=is_connected)
            if connecting.done():
                await asyncio.sleep(_LOOK)
            else:
                await asyncio.wait({connecting}, timeout=_LOOK)

    def _note(self, *, is_connected: bool) -> None:
        if is_connected:
            self._is_connected = True
        elif self._is_connected:
            slack_logger().warning("the Socket Mode connection is lost; another one is asked for")
            self._is_connected = False
