"""Slack's request signature, checked over the raw bytes before anything reads them.

Verification, in order:
 1. there is exactly one timestamp and one signature;
 2. the timestamp is a plain decimal number;
 3. it lies within WINDOW of our clock, before or after;
 4. the signature has the form of one; so far nothing of the body was read;
 5. the body has at most MAX_BODY bytes (else 413);
 6. the signature equals the HMAC of one of the live secrets; all are tried, in constant time.
Whatever else is wrong is 401. Nothing of the request is logged. Repeated deliveries inside the window pass: the
inbox recognizes them.
"""

import hashlib
import hmac
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from runtime.clock import Clock

MAX_BODY = 1024 * 1024
"""A click in a modal comes with the whole modal: up to 250 kB of JSON, and several times that in its encoding."""

WINDOW = timedelta(minutes=5)

log = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]

_TIMESTAMP = re.compile(rb"[0-9]{1,12}")
_SIGNATURE = re.compile(rb"v0=[0-9a-f]{64}")
# What the application behind may see; Bolt obeys some unsigned headers, and decodes all of them.
_PASSED_ON = frozenset({b"content-type", b"x-slack-retry-num", b"x-slack-retry-reason"})


def sign(secret: str, timestamp: bytes, body: bytes) -> bytes:
    """Return the signature that Slack sends."""
    digest = hmac.new(secret.encode(), b"v0:" + timestamp + b":" + body, hashlib.sha256).hexdigest()
    return b"v0=" + digest.encode()


def _only(headers: Headers, name: bytes) -> bytes | None:
    values = [value for key, value in headers if key.lower() == name]
    return values[0] if len(values) == 1 else None


def claimed(headers: Headers, now: datetime) -> tuple[bytes, bytes] | None:
    """Return (timestamp, signature), or None where no body could make it authentic (steps 1 to 4)."""
    headers = list(headers)
    timestamp = _only(headers, b"x-slack-request-timestamp")
    signature = _only(headers, b"x-slack-signature")
    if timestamp is None or signature is None or not _TIMESTAMP.fullmatch(timestamp):
        return None
    if abs(now.timestamp() - int(timestamp)) > WINDOW.total_seconds() or not _SIGNATURE.fullmatch(signature):
        return None
    return timestamp, signature


def is_authentic(secrets: Sequence[str], headers: Headers, body: bytes, now: datetime) -> bool:
    """Say whether a request carries a fresh signature by one of the secrets (steps 1 to 4, and 6)."""
    claim = claimed(headers, now)
    if claim is None:
        return False
    timestamp, signature = claim
    matches = [hmac.compare_digest(sign(secret, timestamp, body), signature) for secret in secrets]
    return any(matches)


class SignatureMiddleware:
    """Stands in front of an ASGI application and lets only authentic requests through; without a secret, none."""

    def __init__(self, app: App, secrets: Sequence[str], clock: Clock) -> None:
        if not all(secrets):
            raise ValueError("a signing secret of Slack's is empty")
        self._app = app
        self._secrets = tuple(secrets)
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401 or 413, or pass the request on with its body as it was signed."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        now = self._clock()
        if claimed(scope["headers"], now) is None:
            await _answer(send, 401)
            return
        body = await _read(receive)
        if body is None:
            await _answer(send, 413)
        elif not is_authentic(self._secrets, scope["headers"], body, now):
            await _answer(send, 401)
        else:
            await self._app(_cleaned(scope), _replay(body), send)


async def _read(receive: Receive) -> bytes | None:
    """Return the body, or None when it is too large; a caller that hangs up sent nothing that was signed."""
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return b""
        body += message.get("body", b"")
        if len(body) > MAX_BODY:
            return None
        more = message.get("more_body", False)
        del message  # while we wait for more, its bytes are held once
    return bytes(body)


def _cleaned(scope: Scope) -> Scope:
    headers = [(key, value) for key, value in scope["headers"] if key.lower() in _PASSED_ON and value.isascii()]
    return {**scope, "headers": headers, "query_string": b""}


def _replay(body: bytes) -> Receive:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


async def _answer(send: Send, status: int) -> None:
    log.warning("a request to Slack's address was refused with %s", status, extra={"sampled": True})
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
