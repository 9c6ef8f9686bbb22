"""Ports of this machine: a free one, and whether those that people will look at can be had."""

import os
import socket

from countersign.config.errors import CountersignError


class PortError(CountersignError):
    """A port cannot be had; the message names it and the option that names another."""


def free_port() -> int:
    """Return a port of the loopback address that is free at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def try_port(host: str, port: int, option: str) -> int:
    """Return the port, or a free one for 0; raise PortError where it cannot be listened on."""
    if port == 0:
        return free_port()
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise PortError(
            f"port {port} cannot be had ({why}): end what listens there, or name another one with {option}"
        ) from error
    return port
