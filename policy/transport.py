"""opa-python-client with bounds: every response is read to a limit, parsed strictly, and never a redirect.

Access: how an OPA is reached that asks for credentials, or whose certificate not everybody vouches for.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from opa_client.opa_async import AsyncOpaClient
from pydantic import BaseModel, ConfigDict

from policy.address import socket_path
from policy.bundle import CONFIG, policy_text, strict_json
from policy.contract import PolicyText, PolicyUnavailableError
from policy.http import HTTP_OK, Whole, Wire, Wires


@dataclass(frozen=True)
class Access:
    """What we show it, and whom we believe: files are in PEM; without an authority it is the system's that count."""

    token: str | None = field(default=None, repr=False)
    authority: Path | None = None
    certificate: Path | None = None
    key: Path | None = None  # of the certificate, where that is not in the same file

    def context(self) -> ssl.SSLContext:
        """Return the context of TLS connections; raise OSError where a file cannot be read as what it should be."""
        context = ssl.create_default_context(cafile=self.authority)
        if self.certificate is not None:
            context.load_cert_chain(self.certificate, self.key)
        return context


OPEN_ACCESS = Access()
"""Shows nothing, and believes whom the system believes."""


ANSWER_LIMIT = 256 * 1024
TEXT_LIMIT = 16 * 1024 * 1024
HTTP_UNAUTHORIZED = 401

# A built-in that fails is an error of the whole question; without this it only makes its rule undefined.
_PARAMETERS = "provenance=true&strict-builtin-errors=true"
_JSON = {"Content-Type": "application/json"}


class _Module(BaseModel):
    """A module as OPA lists it, beside its syntax tree."""

    model_config = ConfigDict(extra="ignore", strict=True)

    id: str
    raw: str


class _Modules(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    result: list[_Module]


class _Config(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    result: dict[str, Any]


class _Response:
    """An answer that came to its end; the part of aiohttp's response that opa-python-client uses."""

    def __init__(self, whole: Whole) -> None:
        self.status = whole.status
        self.body = whole.body

    def raise_for_status(self) -> None:
        """Take 200 alone for success: redirects are not followed."""
        if self.status == HTTP_UNAUTHORIZED:
            raise PolicyUnavailableError("HTTP status 401: it wants a token, or another one")
        if self.status != HTTP_OK:
            raise PolicyUnavailableError(f"HTTP status {self.status}")

    async def json(self) -> Any:
        """Parse the body, whatever its declared type."""
        return strict_json(self.body)


class BoundedOpaClient(AsyncOpaClient):  # type: ignore[misc]  # the package has no type hints
    """The package's client; `_request` is the one function through which all of its calls go."""

    def __init__(self, *, tls: ssl.SSLContext | None, socket: str | None, **named: Any) -> None:
        super().__init__(ssl=tls is not None, retries=0, **named)
        self._tls, self._socket = tls, socket
        self._origin = f"{self.schema}{self.host}:{self.port}"
        self._headers = _headers({"Host": f"{self.host}:{self.port}", **(self.headers or {}), **_JSON})
        self._wires = Wires(self._dial)

    async def _init_session(self) -> None:
        """Open nothing: the first request does."""

    async def close_connection(self) -> None:
        """End the connections that rest."""
        self._wires.close()

    async def _dial(self) -> Wire:
        """Return a new connection, or raise ConnectionError that says why there is none."""
        loop = asyncio.get_running_loop()
        try:
            if self._socket:
                return (await loop.create_unix_connection(Wire, self._socket))[1]
            return (await loop.create_connection(Wire, self.host.strip("[]"), self.port, ssl=self._tls))[1]
        except OSError as error:
            raise ConnectionError(f"Cannot connect: {error}") from error

    @asynccontextmanager
    async def _request(self, method: str, url: str) -> AsyncIterator[_Response]:
        yield await self._respond(method, url)

    async def _respond(self, method: str, url: str, body: bytes = b"") -> _Response:
        """Return the whole response, or raise TimeoutError; see `Wires.ask` for what else is raised."""
        target = url.removeprefix(self._origin).encode()
        request = b"%b %b HTTP/1.1\r\n%bContent-Length: %d\r\n\r\n%b" % (
            *(method.encode(), target, self._headers, len(body)),
            body,
        )
        async with asyncio.timeout(self.timeout):
            return _Response(await self._wires.ask(request, ANSWER_LIMIT if body else TEXT_LIMIT))

    async def ask(self, rule: str, question: bytes) -> object:
        """Return what the server says of a rule, such as ``countersign/effect/decisions``, given the input's JSON."""
        url = f"{self.root_url}/data/{rule}?{_PARAMETERS}"
        response = await self._respond("POST", url, b'{"input":%b}' % question)
        response.raise_for_status()
        return await response.json()

    async def policy(self, bundle: str) -> PolicyText:
        """Return the text that the server holds now; names of modules start with their bundle's."""
        modules = _Modules.model_validate_json(await self._document("policies"))
        config = _Config.model_validate_json(await self._document(f"data/{CONFIG}"))
        return policy_text(
            {module.id.removeprefix(f"{bundle}/"): module.raw for module in modules.result}, config.result
        )

    async def _document(self, path: str) -> bytes:
        """Return JSON as it came: whatever stands in it twice, the text's digest must be the one that was promised."""
        response = await self._respond("GET", f"{self.root_url}/{path}")
        response.raise_for_status()
        return response.body


def _headers(named: dict[str, str]) -> bytes:
    """Return lines of a request's head; raise ValueError, without the value, where one would be more than a line."""
    for name, value in named.items():
        if not value.isascii() or not value.isprintable():
            raise ValueError(f"the header {name} would have a character that no header may have")
    return "".join(f"{name}: {value}\r\n" for name, value in named.items()).encode()


def connect(url: str, timeout: float, access: Access = OPEN_ACCESS) -> BoundedOpaClient:
    """Return a client, not yet open, for the server at this address."""
    host, port, tls, socket = _place(url, access)
    return BoundedOpaClient(host=host, port=port, tls=tls, socket=socket, timeout=timeout, token=access.token)


def _place(url: str, access: Access) -> tuple[str, int, ssl.SSLContext | None, str | None]:
    """Return host, port, context of TLS and path of a socket; there, host and port are only what the header says."""
    try:
        socket = socket_path(url)
    except ValueError as error:
        raise ValueError(f"OPA's address {url!r} {error}") from error
    if socket:
        return "localhost", 80, None, socket
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
        raise ValueError(f"OPA's address {url!r} is neither http(s)://HOST:PORT nor unix:///PATH")
    tls = access.context() if parts.scheme == "https" else None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return host, parts.port or (443 if tls else 80), tls, None
