"""An HTTP client for connectors: bounded, follows no redirect, and says of every failure whether anything was done.

The one question about a failed write is whether it may have happened. Only a connection that was never made, a rate
limit and a refusal (4xx) say that nothing was done. Everything else about a write is an unknown outcome: a gateway
answers 503 or 408 after the target has acted.
"""

import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal, TypeVar

import aiohttp
from pydantic import BaseModel, ValidationError
from yarl import URL

from countersign_connector.models import faults
from runtime.handlers import (
    Answer,
    BlockedError,
    HandlerError,
    Json,
    JsonObject,
    Metadata,
    NotTakenError,
    OutcomeUnknownError,
    RefusedError,
    TransientError,
    Usage,
)

MAX_BODY = 4 * 1024 * 1024
_MAX_MESSAGE = 300
_CONNECT_TIMEOUT = 5.0
_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _TIMED_OUT, _TOO_MANY = 401, 403, 404, 408, 429
_REQUEST_IDS = ("X-Request-Id", "X-Transaction-ID")  # the second is ServiceNow's
_MAX_ID = 200
_SUCCESS = range(200, 300)
_REDIRECTS = range(300, 400)
_REFUSALS = frozenset(range(400, 500)) - {_TIMED_OUT}

M = TypeVar("M", bound=BaseModel)


class NotFoundError(RefusedError):
    """The other side knows no such thing (404)."""


@dataclass(frozen=True)
class Service:
    """One HTTP service: its name for errors, where it is, the headers it wants, and how it words its own errors."""

    name: str
    base: str
    headers: Mapping[str, str]
    timeout: float
    explain: Callable[[Json], str]
    counted_as: str | None = None  # the provider as which its requests are told as usage; nobody counts the others

    @asynccontextmanager
    async def connect(self) -> AsyncIterator["Client"]:
        """Open a client for one operation; a service without a base refuses, as its URL was not set.

        An error that ends the operation tells what the answers told until then.
        """
        if not self.base:
            raise RefusedError(f"{self.name} is not set up: its URL is missing in the settings")
        timeout = aiohttp.ClientTimeout(total=self.timeout, sock_connect=min(self.timeout, _CONNECT_TIMEOUT))
        # identity: a compressed body could grow past the cap in one read
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", **self.headers}
        async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
            client = Client(self, session)
            try:
                yield client
            except HandlerError as error:
                error.metadata, error.usage = client.metadata, client.usage
                raise


@dataclass(frozen=True)
class Request:
    """One request. `path` is under the service's base, or an absolute URL of the same origin.

    `form` is sent in the place of a JSON `body`. What is `repeatable` changes nothing, or nothing more when it is sent
    again.
    """

    method: Literal[
        "GET", "POST", "PATCH", "DELETE"
    ]  # aiohttp repeats a lost DELETE by itself, which finds nothing then
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: JsonObject | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] | None = None
    repeatable: bool = False

    @property
    def write(self) -> bool:
        """Return whether it matters if the request was taken although no answer came."""
        return self.method != "GET" and not self.repeatable


@dataclass(frozen=True)
class _Reply:
    status: int
    retry_after: float | None
    challenges: bool  # it asks for (other) credentials
    body: bytes | None  # None: larger than MAX_BODY
    request_id: str | None  # the other side's own


class Client:
    """Sends requests to one service and parses its answers."""

    def __init__(self, service: Service, session: aiohttp.ClientSession) -> None:
        self._service = service
        self._session = session
        self._sent = 0
        self._units: Counter[str] = Counter()
        self._last: _Reply | None = None

    def answer(self, result: JsonObject) -> Answer:
        """Return the result of a read with what the answers to its requests told."""
        return Answer(result, self.metadata, self.usage)

    @property
    def metadata(self) -> Metadata | None:
        """Return status and id of the last answer, and how many requests were sent; None before the first."""
        if not self._sent:
            return None
        if self._last is None:
            return Metadata(requests=self._sent)
        return Metadata(self._last.status, self._last.request_id, self._sent)

    @property
    def usage(self) -> tuple[Usage, ...]:
        """Return the requests that were sent, and what else was counted, where somebody counts them."""
        provider = self._service.counted_as
        return (Usage(provider, units={"requests": self._sent, **self._units}),) if provider and self._sent else ()

    def count(self, **units: int) -> None:
        """Count what the service counts beside requests."""
        self._units.update(units)

    async def get(self, model: type[M], path: str, query: Mapping[str, str] | None = None) -> M:
        """Read `path` and parse the answer."""
        return await self.send(model, Request("GET", path, query or {}))

    async def send(self, model: type[M], request: Request) -> M:
        """Send, and parse a 2xx answer as `model`; raise the HandlerError that any other outcome means."""
        reply = await self._exchange(request)
        if reply.status not in _SUCCESS:
            raise _failure(reply, self._message(reply), write=request.write)
        try:
            return model.model_validate(_decode(reply.body))
        except ValidationError as error:
            raise self._unusable(request, faults(error)) from None
        except ValueError as error:
            raise self._unusable(request, str(error)) from None

    async def delete(self, path: str) -> bool:
        """Delete what is at `path`; return False where nothing is there any more, as after a lost answer."""
        reply = await self._exchange(Request("DELETE", path))
        if reply.status not in _SUCCESS and reply.status != _NOT_FOUND:
            raise _failure(reply, self._message(reply), write=True)
        return reply.status != _NOT_FOUND

    async def _exchange(self, request: Request) -> _Reply:
        name, url = self._service.name, self._url(request.path)
        self._sent, self._last = self._sent + 1, None
        try:
            async with self._session.request(
                request.method,
                url,
                params=dict(request.query) or None,
                json=request.body,
                data=request.form,
                headers=request.headers,
                allow_redirects=False,
            ) as response:
                challenges = "WWW-Authenticate" in response.headers
                self._last = _Reply(
                    response.status, _retry_after(response), challenges, await _body(response), _request_id(response)
                )
                return self._last
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            self._sent -= 1
            raise NotTakenError(f"{name} cannot be reached: {type(error).__name__}") from error
        except (aiohttp.ClientError, TimeoutError) as error:
            kind = OutcomeUnknownError if request.write else TransientError
            raise kind(f"{name} gave no answer to {request.method}: {type(error).__name__}") from error

    def _url(self, path: str) -> URL:
        """Resolve `path`; an absolute one (a paging link) must stay on the service's own origin."""
        base = URL(self._service.base)
        if "://" not in path:
            return URL(f"{self._service.base}{path}")
        url = URL(path)
        if url.origin() != base.origin():
            raise RefusedError(f"{self._service.name} points to another host: {url.host}")
        return url

    def _message(self, reply: _Reply) -> str:
        """Word an error answer, in the service's own words where it has any."""
        try:
            said = self._service.explain(_decode(reply.body))
        except ValueError:
            said = ""
        return f"{self._service.name} answered {reply.status}" + (f": {said[:_MAX_MESSAGE]}" if said else "")

    def _unusable(self, request: Request, why: str) -> HandlerError:
        """Make the error of a success that cannot be read: for a write, it is not known what was done."""
        kind = OutcomeUnknownError if request.write else RefusedError
        return kind(f"{self._service.name} answered in an unexpected form: {why[:_MAX_MESSAGE]}")


def _failure(reply: _Reply, message: str, *, write: bool) -> HandlerError:
    """Map an answer that is not a success to what it means for the effect."""
    if reply.status == _TOO_MANY:
        return NotTakenError(message, reply.retry_after)
    if reply.status == _UNAUTHORIZED or (reply.status == _FORBIDDEN and reply.challenges):
        return BlockedError(message)
    if reply.status == _NOT_FOUND:
        return NotFoundError(message)
    if reply.status in _REFUSALS or (reply.status in _REDIRECTS and not write):  # redirects are not followed
        return RefusedError(message)
    return OutcomeUnknownError(message) if write else TransientError(message, reply.retry_after)


def _retry_after(response: aiohttp.ClientResponse) -> float | None:
    """Read Retry-After in seconds; its other form, a date, is left to the verb's own backoff."""
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdigit() else None


def _request_id(response: aiohttp.ClientResponse) -> str | None:
    """Return the id that the other side gave the request, as it would be asked for there."""
    return next((response.headers[name][:_MAX_ID] for name in _REQUEST_IDS if response.headers.get(name)), None)


async def _body(response: aiohttp.ClientResponse) -> bytes | None:
    """Read the body, giving up as soon as it is larger than MAX_BODY."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > MAX_BODY:
            return None
        chunks.append(chunk)
    return b"".join(chunks)


def _decode(body: bytes | None) -> Json:
    """Parse strict JSON; ValueError says what is wrong with it."""
    if body is None:
        raise ValueError(f"the body is larger than {MAX_BODY} bytes")
    try:
        return json.loads(body, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("the body is nested too deeply") from None


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")
