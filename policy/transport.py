"""The connection to OPA, with bounds: every answer is read to a limit, parsed strictly, and never a redirect.

Access: how an OPA is reached that asks for credentials, or whose certificate not everybody vouches for.
"""

import asyncio
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

from policy.address import socket_path
from policy.bundle import CONFIG, policy_text, strict_json
from policy.contract import PolicyText, PolicyUnavailableError
from policy.http import HTTP_OK, Wire, Wires


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


class _Module(BaseModel):
    """A module as OPA lists it, beside its syntax tree."""

    model_config = ConfigDict(extra="ignore", strict=True)

    id: str
    raw: str


class _Modules(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    result: list[_Module]


class _Result(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    result: dict[str, Any]


class OpaConnection:
    """One OPA server over few connections: each answer is read to a limit, parsed strictly, and never a redirect.

    A library's client would read answers of any size, follow redirects, and cost a question more than OPA does.
    """

    def __init__(
        self, host: str, port: int, timeout: float, *, tls: ssl.SSLContext | None, socket: str | None, token: str | None
    ) -> None:
        self._host, self._port, self._timeout = host, port, timeout
        self._tls, self._socket = tls, socket
        shown = {"Authorization": f"Bearer {token}"} if token else {}
        self._headers = _headers({"Host": f"{host}:{port}", **shown, "Content-Type": "application/json"})
        self._wires = Wires(self._dial)

    async def __aenter__(self) -> Self:
        """Open nothing: the first request does."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """End the connections that rest."""
        self._wires.close()

    async def _dial(self) -> Wire:
        """Return a new connection, or raise ConnectionError that says why there is none."""
        loop = asyncio.get_running_loop()
        try:
            if self._socket:
                return (await loop.create_unix_connection(Wire, self._socket))[1]
            return (await loop.create_connection(Wire, self._host.strip("[]"), self._port, ssl=self._tls))[1]
        except OSError as error:
            raise ConnectionError(f"Cannot connect: {error}") from error

    async def _body(self, method: str, path: str, body: bytes = b"") -> bytes:
        """Return the body of a whole answer with status 200; raise TimeoutError, or what `Wires.ask` raises."""
        request = b"%b %b HTTP/1.1\r\n%bContent-Length: %d\r\n\r\n%b" % (
            *(method.encode(), path.encode(), self._headers, len(body)),
            body,
        )
        async with asyncio.timeout(self._timeout):
            whole = await self._wires.ask(request, ANSWER_LIMIT if body else TEXT_LIMIT)
        if whole.status == HTTP_UNAUTHORIZED:
            raise PolicyUnavailableError("HTTP status 401: it wants a token, or another one")
        if whole.status != HTTP_OK:
            raise PolicyUnavailableError(f"HTTP status {whole.status}")
        return whole.body

    async def ask(self, rule: str, question: bytes) -> object:
        """Return what the server says of a rule, such as ``countersign/effect/decisions``, given the input's JSON."""
        answer: object = strict_json(
            await self._body("POST", f"/v1/data/{rule}?{_PARAMETERS}", b'{"input":%b}' % question)
        )
        return answer

    async def policy(self, bundle: str) -> PolicyText:
        """Return the text that the server holds now; names of modules start with their bundle's.

        It is parsed as it came: whatever stands in it twice, the text's digest must be the one that was promised.
        """
        modules = _Modules.model_validate_json(await self._body("GET", "/v1/policies"))
        config = _Result.model_validate_json(await self._body("GET", f"/v1/data/{CONFIG}"))
        return policy_text(
            {module.id.removeprefix(f"{bundle}/"): module.raw for module in modules.result}, config.result
        )

    async def labels(self) -> dict[str, Any]:
        """Return the labels that the server was started with."""
        found = _Result.model_validate_json(await self._body("GET", "/v1/config"))
        labels: dict[str, Any] = found.result.get("labels", {})
        return labels

    async def is_healthy(self) -> bool:
        """Return whether the server says so; False where it says anything else, or nothing."""
        try:
            await self._body("GET", "/health")
        except (PolicyUnavailableError, OSError):
            return False
        return True


def _headers(named: dict[str, str]) -> bytes:
    """Return lines of a request's head; raise ValueError, without the value, where one would be more than a line."""
    for name, value in named.items():
        if not value.isascii() or not value.isprintable():
            raise ValueError(f"the header {name} would have a character that no header may have")
    return "".join(f"{name}: {value}\r\n" for name, value in named.items()).encode()


def connect(url: str, timeout: float, access: Access = OPEN_ACCESS) -> OpaConnection:
    """Return the connection to the server at this address, not yet open."""
    host, port, tls, socket = _place(url, access)
    return OpaConnection(host, port, timeout, tls=tls, socket=socket, token=access.token)


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
