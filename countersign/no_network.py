"""A block of a program in which Python reaches nobody: what was connected before stays so, and nothing new is."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_CONNECTING = frozenset(
    {"socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname"},
)
_blocks = 0


class NetworkError(RuntimeError):
    """Something tried to reach somebody where nothing may; it names the call."""


@contextmanager
def no_network() -> Iterator[None]:
    """Refuse whatever this process would connect to or look up, in all its threads, until the block ends.

    It guards against our own mistakes, such as a connector that comes to be called; other processes are not meant.
    """
    global _blocks  # noqa: PLW0603 - a hook stays for as long as the process does, and cannot be given anything
    _install()
    _blocks += 1
    try:
        yield
    finally:
        _blocks -= 1


@cache
def _install() -> None:
    sys.addaudithook(_refuse)


def _refuse(event: str, _: tuple[Any, ...]) -> None:
    if _blocks and event in _CONNECTING:
        raise NetworkError(f"{event}: nothing is reached from here")
