"""The command of a witness: a program of its own, run by somebody else than the log."""

from pathlib import Path
from typing import Annotated

import typer

from countersign.cli.command import own_settings

_LISTEN = "127.0.0.1:8090"


def witness(
    name: Annotated[
        str, typer.Option(metavar="NAME", help="The witness's name in its cosignatures: witness.example/w1.")
    ],
    log: Annotated[
        list[str], typer.Option(metavar="VKEY", help="A log to witness, by its verifier key; may be repeated.")
    ],
    key: Annotated[
        Path, typer.Option(metavar="FILE", help="The file of the witness's private key; created if missing.")
    ],
    state: Annotated[
        Path, typer.Option(metavar="FOLDER", help="A folder for the last checkpoint of each log; used by nothing else.")
    ],
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where to listen.")] = _LISTEN,
) -> None:
    """Witness logs of others: cosign their checkpoints, and never two that contradict each other."""
    import asyncio

    from countersign.witness import make_witness
    from countersign.witnessing import serve_witness
    from runtime.clock import utc_now

    host, port = _address(listen)
    own_settings(serving=True)
    with make_witness(name, key, state, log, utc_now) as made:
        asyncio.run(serve_witness(made, host, port))


def _address(listen: str) -> tuple[str, int]:
    """Return host and port, the host without the brackets that an IPv6 address has before a port."""
    host, _, port = listen.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:  # noqa: PLR2004 - ports have 16 bits
        raise typer.BadParameter(f"an address is HOST:PORT, such as {_LISTEN}; this is {listen!r}")
    return host.removeprefix("[").removesuffix("]"), int(port)
