"""A witness: built from its key, the logs that it knows and its folder, and run until told to stop."""

import asyncio
import logging
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from countersign.parts import Part, Patience, ServeError, end_soon, listen, run_parts
from edge.server import Limits, Server
from receipts.checkpoint import LogKeys
from receipts.note import Algorithm, NoteSigner, VerifierKey, parse_verifier_key
from receipts.signing import load_or_create
from runtime.clock import Clock
from witness.app import build_app
from witness.witness import Witness, open_state


@dataclass(frozen=True)
class BuiltWitness:
    """A witness that has its folder to itself, and the key by which others know it."""

    witness: Witness
    key: VerifierKey


@contextmanager
def make_witness(name: str, key_file: Path, folder: Path, vkeys: Iterable[str], clock: Clock) -> Iterator[BuiltWitness]:
    """Give the witness `name` until the block ends; its key is made if absent."""
    logs = logs_of(vkeys)
    signer = NoteSigner(name, load_or_create(key_file))
    key = signer.verifier(Algorithm.COSIGNATURE_V1)
    with open_state(folder, logs) as state:
        yield BuiltWitness(Witness(signer, logs, state, lambda: int(clock().timestamp())), key)


def logs_of(vkeys: Iterable[str]) -> list[LogKeys]:
    """Return the logs that have these keys; several of one name are the keys of one log."""
    keys: dict[str, list[VerifierKey]] = {}
    for key in map(parse_verifier_key, vkeys):
        keys.setdefault(key.name, []).append(key)
    return [LogKeys(tuple(of_one)) for of_one in keys.values()]


LIMITS = Limits(connections=200, seconds=10.0)

log = logging.getLogger(__name__)


async def serve_witness(made: BuiltWitness, host: str, port: int) -> None:
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
