"""Subscribers of the tests: a receiver that checks what it gets and fails as it is told, and a bench that tells it."""

import asyncio
import base64
import hashlib
import hmac
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aiohttp import web

from edge.signing import webhook_secret
from edge.webhooks import Receiver, webhook_handlers
from runtime.model.subscription import EventName, Subscription, Where
from runtime.outbox.webhooks import tell_subscribers
from runtime.services.approvals import ApprovalService
from runtime.worker import Worker
from tests.bench import TENANT, Bench
from tests.unit.setup_release_server import make_certificate

SECRET = webhook_secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
PATH = "/in/T0KEN"
PATIENCE = 0.5
"""Seconds in which a receiver of the tests has to answer."""


@dataclass
class Ears:
    """What a receiver heard, in order, and how it answers next: a status, or None for never."""

    scheme: str = "http"
    port: int = 0
    heard: list[dict[str, Any]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    answers: list[int | None] = field(default_factory=list)
    default: int | None = 200
    retry_after: str = "0"
    closing: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"{self.scheme}://localhost:{self.port}{PATH}"

    async def hear(self, request: web.Request) -> web.Response:
        body, message_id = await request.read(), request.headers["webhook-id"]
        signed = f"{message_id}.{request.headers['webhook-timestamp']}.".encode() + body
        wanted = base64.b64encode(hmac.new(SECRET, signed, hashlib.sha256).digest()).decode()
        if request.headers["webhook-signature"] != f"v1,{wanted}":
            raise web.HTTPUnauthorized
        self.ids.append(message_id)
        self.heard.append(json.loads(body))
        status = self.answers.pop(0) if self.answers else self.default
        if status is None:
            await self.closing.wait()
        return web.Response(status=status or 200, headers={"Location": "/elsewhere", "Retry-After": self.retry_after})


async def _taken(_: web.Request) -> web.Response:
    """Take whatever a redirect leads here: whoever follows one is found out."""
    return web.Response(status=200)


@asynccontextmanager
async def open_ears(folder: Path | None = None) -> AsyncIterator[Ears]:
    """Give a receiver on a port of its own; with a folder, by TLS under a certificate in it that signs itself."""
    ears, app = Ears("https" if folder else "http"), web.Application()
    app.router.add_post(PATH, ears.hear)
    app.router.add_route("*", "/elsewhere", _taken)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=_tls(folder) if folder else None).start()
        ears.port = runner.addresses[0][1]
        yield ears
    finally:
        ears.closing.set()
        await runner.cleanup()


def _tls(folder: Path) -> ssl.SSLContext:
    certificate, key = make_certificate(folder)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    return context


def subscription(url: str, *on: str, where: Where | None = None, name: str = "ears") -> tuple[Subscription, Receiver]:
    """Return a subscription to these events, with its receiver."""
    to = Receiver(url, (SECRET,), inside=True)
    events = frozenset(EventName(one) for one in on)
    digest = hashlib.sha256(url.encode()).hexdigest()
    return Subscription(name, events, where or Where(), to.origin, digest), to


def subscribed(
    bench: Bench, *subscriptions: tuple[Subscription, Receiver], delivers: bool = True, patience: float = PATIENCE
) -> Bench:
    """Return the bench with subscriptions, as after a restart; its worker `delivers`, or leaves that to others."""
    receivers = {one.name: receiver for one, receiver in subscriptions}
    handlers = webhook_handlers(receivers, bench.clock, patience) if delivers else {}
    engine = replace(
        bench.engine,
        handlers={**bench.engine.handlers, **handlers},
        subscriptions=tuple(one for one, _ in subscriptions),
        listener=tell_subscribers if subscriptions else None,
    )
    return replace(bench, engine=engine, worker=Worker(engine), desk=ApprovalService(engine, TENANT))


async def deliveries(bench: Bench) -> list[dict[str, Any]]:
    """Return the deliveries as they stand, in the order in which they came about."""
    return await bench.rows(
        "SELECT status, error, tries FROM effects WHERE connector = 'webhook' ORDER BY created_at, tries"
    )


async def dead_letters(bench: Bench) -> list[dict[str, Any]]:
    """Return the dead letters of deliveries."""
    return await bench.rows(
        "SELECT notification_id, status, outcome ->> 'reason' AS reason FROM notifications"
        " WHERE kind = 'delivery' ORDER BY received_at"
    )
