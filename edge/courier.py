"""Delivers what subscribers are told: one POST for each try, signed; no redirect is followed, and no answer read."""

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
from pydantic import BaseModel, ConfigDict, ValidationError
from yarl import URL

from edge.egress import GuardedResolver, may_go_to
from edge.webhook_signing import headers
from receipts.canonical import dumps
from runtime.clock import Clock
from runtime.handlers import (
    Answer,
    Call,
    Handler,
    HandlerError,
    Metadata,
    NotTakenError,
    OutcomeUnknownError,
    RefusedError,
    TransientError,
)
from runtime.model.subscription import DELIVER

LONGEST_PAUSE = 900.0
"""Seconds for which a receiver may ask to be left alone; what asks for more is tried again after that."""
PATIENCE = 10.0
"""Seconds in which a receiver has to answer."""
_SUCCESS, _FAULTS = range(200, 300), range(500, 600)
_TIMED_OUT, _GONE, _TOO_MANY = 408, 410, 429


@dataclass(frozen=True)
class Receiver:
    """Where a subscription goes: `url` in full, the secrets that sign, and whether it stands in our own network."""

    url: str
    secrets: tuple[bytes, ...]
    inside: bool
    tls: ssl.SSLContext | None = None  # the system's authorities where there is none

    @property
    def origin(self) -> str:
        """Return scheme, host and port."""
        return str(URL(self.url).origin())


class _Delivery(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    subscription: str
    configuration: str
    said: dict[str, Any]


@dataclass(frozen=True)
class Courier:
    """Brings deliveries to the receivers of a tenant's subscriptions, by their names."""

    receivers: Mapping[str, Receiver]
    clock: Clock
    patience: float  # seconds

    async def deliver(self, call: Call) -> Answer:
        """Send one message; the idempotency key is its id, by which its receiver knows it again."""
        try:
            delivery = _Delivery.model_validate(call.params)
        except ValidationError as error:
            raise RefusedError(f"is no delivery: {error.error_count()} faults") from None
        receiver = self.receivers.get(delivery.subscription)
        if receiver is None:
            raise RefusedError("there is no such subscription any more")
        if receiver.origin != call.target:  # policy was asked about that one
            raise RefusedError(f"its subscription goes to {receiver.origin} by now")
        body = dumps(delivery.said)
        signed = headers(receiver.secrets, call.key, self.clock(), body)
        return _answer(*await self._post(receiver, signed, body))

    async def _post(self, receiver: Receiver, signed: Mapping[str, str], body: bytes) -> tuple[int, float | None]:
        """Send a message; return status and `Retry-After` in seconds. Raise the HandlerError that no answer means."""
        _check_address(URL(receiver.url).host or "", receiver)
        connector = aiohttp.TCPConnector(resolver=GuardedResolver(inside=receiver.inside), ssl=receiver.tls or True)
        timeout = aiohttp.ClientTimeout(total=self.patience, sock_connect=self.patience / 2)
        said = {"Content-Type": "application/json", "User-Agent": "countersign", **signed}
        with _as_outcome():
            async with (
                aiohttp.ClientSession(connector=connector, timeout=timeout, headers=said) as session,
                session.post(receiver.url, data=body, allow_redirects=False) as response,
            ):
                return response.status, _retry_after(response)


@contextmanager
def _as_outcome() -> Iterator[None]:
    """Raise what it means that no answer came."""
    try:
        yield
    except (aiohttp.ClientSSLError, ssl.SSLError) as error:
        raise TransientError(f"its receiver is not who it should be: {type(error).__name__}") from error
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
        raise NotTakenError(f"its receiver cannot be reached: {type(error).__name__}") from error
    except (aiohttp.ClientError, TimeoutError) as error:
        raise OutcomeUnknownError(f"its receiver gave no answer: {type(error).__name__}") from error


def _check_address(host: str, receiver: Receiver) -> None:
    """Raise RefusedError where an address stands in the place of a host, and is not to be gone to."""
    try:
        is_free = may_go_to(host, inside=receiver.inside)
    except ValueError:  # a name, whose addresses are looked at once they are known
        return
    if not is_free:
        raise RefusedError(f"{host} is an address to which no webhook may go")


def _answer(status: int, retry_after: float | None) -> Answer:
    """Return what a status means: 2xx took it, 410 wants nothing any more, and all else is tried again."""
    metadata = Metadata(status=status, requests=1)
    if status in _SUCCESS:
        return Answer({"status": status}, metadata)
    error = _failure(status, retry_after)
    error.metadata = metadata
    raise error


def _failure(status: int, retry_after: float | None) -> HandlerError:
    message = f"its receiver answered {status}"
    if status == _GONE:
        return RefusedError(f"{message}: it is gone, and nothing more is sent to it")
    if status == _TOO_MANY:
        return NotTakenError(message, retry_after)
    if status in _FAULTS or status == _TIMED_OUT:
        return OutcomeUnknownError(message)
    return TransientError(message)


def _retry_after(response: aiohttp.ClientResponse) -> float | None:
    text = response.headers.get("Retry-After", "")
    return min(float(text), LONGEST_PAUSE) if text.isascii() and text.isdigit() else None


def webhook_handlers(receivers: Mapping[str, Receiver], clock: Clock, patience: float) -> dict[str, Handler]:
    """Return the handler of deliveries; none where nobody subscribes. `patience` as of a courier."""
    return {DELIVER: Handler(Courier(receivers, clock, patience).deliver)} if receivers else {}
