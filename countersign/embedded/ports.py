"""Ports of this machine: a free one, and whether those that people will look at can be had."""

import os
import secrets
import socket
import sys
from itertools import count, islice

from countersign.foreseen_errors import CountersignError

_OURS = range(20_000, 32_000)
"""Below what systems hand out to connections (Linux: from 32768): one of those could take a port before its server."""
_next = count(secrets.randbelow(len(_OURS)))  # programs that start together look in different places


class PortError(CountersignError):
    """A port cannot be had; the message names it and the option that names another."""


def free_port() -> int:
    """Return a port of the loopback address that is free, and that nobody else is given while this process lives.

    A server has to listen there with SO_REUSEADDR, as all do that may be started again. Where the system is not Linux,
    the port is free at this moment, and nobody is given it by chance.
    """
    for number in islice(_next, len(_OURS)):
        port = _OURS[number % len(_OURS)]
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            _keep(probe)
            return port
    raise PortError(f"no port of 127.0.0.1 from {_OURS[0]} to {_OURS[-1]} is free")


def _keep(bound: socket.socket) -> None:
    """Keep the port bound until this process ends, but not listened on.

    To Linux it is free for who reuses addresses, as servers do, and taken for who does not, as whoever looks here.
    """
    if sys.platform == "linux":
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.detach()


def try_port(host: str, port: int, option: str) -> int:
    """Return the port, or a free one for 0; raise PortError where it cannot be listened on."""
    if port == 0:
        return free_port()
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise PortError(
            f"port {port} is in use ({why}): stop what listens there, or choose another with {option}"
        ) from error
    return port
