"""A block of a program in which Python reaches nobody: what was connected before stays so, and nothing new is."""

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
    """Something tried to reach somebody where nothing may; it names the call."""


@contextmanager
def no_network() -> Iterator[None]:
    """Refuse whatever the block would connect to or look up: itself, and the tasks and threads of asyncio it begins.

    It guards against our own mistakes, such as a connector that comes to be called; other processes are not meant.
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
        raise NetworkError(f"{event}: nothing is reached from here")
