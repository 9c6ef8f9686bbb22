"""Webhooks: delivers events to subscribers: one signed POST for each try; no redirect is followed, no answer is read.

They go to the public internet, and into our own network only where the configuration says so.
"""

import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import DefaultResolver
from pydantic import BaseModel, ConfigDict, ValidationError
from yarl import URL

from edge.signing import webhook_headers
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

_METADATA = frozenset({"fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16", "192.0.0.192"})
"""Where clouds tell machines their secrets, beside the link-local addresses."""

_PROTOCOLS, _SEGMENTS = IPv4Network("192.0.0.0/24"), IPv6Network("5f00::/16")
_NAT64 = IPv6Network("64:ff9b::/96")
_SPELLINGS = tuple(map(IPv6Network, ("::/96", "::ffff:0:0:0/96", "64:ff9b:1::/48")))
"""Where the last four bytes spell an IPv4 address, though few machines take it for that one: RFC 4291, 2765, 8215."""
_ISATAP = (0x5EFE, 0x0200_5EFE)


def may_go_to(address: str, *, inside: bool) -> bool:
    """Return whether a connection to an IP address may be made; `inside` lets private ones and this machine's pass."""
    ip = _reached(ip_address(address))
    if any(_tells_secrets(one) for one in (ip, *_spelled(ip))) or ip.is_multicast or ip.is_unspecified:
        return False
    return inside or (ip.is_global and not _is_beside_the_internet(ip))


def _tells_secrets(ip: IPv4Address | IPv6Address) -> bool:
    return ip.is_link_local or str(ip) in _METADATA


def _spelled(ip: IPv4Address | IPv6Address) -> list[IPv4Address]:
    """Return the IPv4 addresses that an IPv6 one spells for some machine or router, Teredo and ISATAP included."""
    if isinstance(ip, IPv4Address):
        return []
    last = IPv4Address(int(ip) & 0xFFFF_FFFF)
    is_spelled = any(ip in network for network in _SPELLINGS) or int(ip) >> 32 & 0xFFFF_FFFF in _ISATAP
    return [*(ip.teredo or ()), *([last] if is_spelled else ())]


def _is_beside_the_internet(ip: IPv4Address | IPv6Address) -> bool:
    """Return whether nothing of the internet stands there, though it is not registered as private.

    IPv6 addresses of old kinds, of which some name IPv4 ones (``::a.b.c.d``, RFC 4291, 2.5.5.1; SIIT, RFC 2765), those
    of sites (RFC 3879), of local NAT64 (RFC 8215) and of segment routing (RFC 9602); IPv4 ones of no use (RFC 6890).
    """
    if isinstance(ip, IPv4Address):
        return ip.is_reserved or ip in _PROTOCOLS
    return ip.is_reserved or ip.is_site_local or ip in _SEGMENTS


def _reached(ip: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the IPv4 address that an IPv6 one stands for (mapped, 6to4 or NAT64), else the address itself."""
    if isinstance(ip, IPv4Address):
        return ip
    if ip in _NAT64:
        return IPv4Address(int(ip) & 0xFFFF_FFFF)
    return ip.ipv4_mapped or ip.sixtofour or ip


class GuardedResolver(AbstractResolver):
    """Looks up a host's addresses, and gives those alone to which a connection may be made: right before it is."""

    def __init__(self, *, inside: bool) -> None:
        self._inside = inside
        self._dns = DefaultResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the addresses; raise RefusedError where there are some, and none of them may be gone to."""
        found: Sequence[ResolveResult] = await self._dns.resolve(host, port, family)
        allowed = [one for one in found if may_go_to(one["host"], inside=self._inside)]
        if found and not allowed:
            raise RefusedError(f"{host} has an address that webhooks may not reach")
        return allowed

    async def close(self) -> None:
        """Let go of what looks up."""
        await self._dns.close()


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
class WebhookCourier:
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
        signed = webhook_headers(receiver.secrets, call.key, self.clock(), body)
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
        raise RefusedError(f"{host} is an address that webhooks may not reach")


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
    return {DELIVER: Handler(WebhookCourier(receivers, clock, patience).deliver)} if receivers else {}
