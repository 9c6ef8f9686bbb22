"""How interactivity reaches the app, and what came back within three seconds."""

import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlencode

import aiohttp

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
