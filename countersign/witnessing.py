"""Runs a witness until told to stop."""

import asyncio
import logging
import signal

from countersign.parts import Part, Patience, ServeError, end_soon, listen, run_parts
from countersign.witness import Made
from edge.server import Limits, Server
from witness.app import build_app

LIMITS = Limits(connections=200, seconds=10.0)

log = logging.getLogger(__name__)


async def serve_witness(made: Made, host: str, port: int) -> None:
    """Answer until SIGTERM or SIGINT; requests under way then come to their end."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    server = Server(build_app(made.witness), LIMITS, headers=[])
    listener = listen(host, port, "name others with --listen")
    log.info("the witness %s listens on %s port %s", made.key, *listener.getsockname()[:2])
    http = Part("http", lambda: server.serve([listener]), lambda: setattr(server, "should_exit", True))
    try:
        await run_parts([http], stop, Patience())
    except ServeError as error:
        end_soon(error)
        raise
    end_soon(None)
