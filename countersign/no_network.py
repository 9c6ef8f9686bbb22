"""A block in which Python opens no network connection; connections that are open stay open."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

_CONNECTING = frozenset(
    {"socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname"},
)
_closed = ContextVar("closed", default=False)


class NetworkError(RuntimeError):
    """A connection was attempted in such a block; the message names the call."""


@contextmanager
def no_network() -> Iterator[None]:
    """Refuse connections and name look-ups in the block, and in asyncio tasks and threads started by it.

    It guards against mistakes of this program, such as calling a connector; other processes are not affected.
    """
    _install()
    before = _closed.set(True)
    try:
        yield
    finally:
        _closed.reset(before)


@cache
def _install() -> None:
    sys.addaudithook(_refuse)  # for as long as the process lasts


def _refuse(event: str, _: tuple[Any, ...]) -> None:
    if event in _CONNECTING and _closed.get():
        raise NetworkError(f"{event}: no network connection is allowed here")
