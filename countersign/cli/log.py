"""The group `log`: who signs the audit log, what was signed, and whether everything is in it; and `witness`.

A witness is a program of its own, run by somebody else than the log.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from countersign.cli.command import out, own_settings, run, shared_settings, show_facts, show_json, using_database
from countersign.cli.options import AsJson, By, output
from evidence.reading.words import counted

log = typer.Typer()


@log.command()
def key(
    *,
    earlier: Annotated[bool, typer.Option("--earlier", help="Include earlier keys.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the public key of the log, as verifiers and witnesses take it (vkey)."""
    from countersign.log_key import log_keys

    keys = [str(one) for one in log_keys(shared_settings()).keys[: None if earlier else 1]]
    show_facts({"keys": keys}, *keys, as_json=as_json)


@log.command()
def rotate(by: By, *, as_json: AsJson = False) -> None:
    """Rotate the log's signing key; running processes keep the old one."""
    from countersign.cli.operate import rotate_log

    new, old, *_ = run(rotate_log(shared_settings("database_url"), by)).keys
    then = "Give the new key to everyone who has the old one, witnesses first; then restart the processes."
    lines = (f"before: {old}", f"now:    {new}", then)
    show_facts({"before": str(old), "now": str(new)}, *lines, as_json=as_json)


@log.command()
def checkpoint(*, as_json: AsJson = False) -> None:
    """Print the newest checkpoint: kept elsewhere, it shows any later change of the log."""
    from countersign.cli.audit import newest_checkpoint

    found = run(newest_checkpoint(shared_settings("database_url")))
    show_facts({"checkpoint": found}, found.removesuffix("\n"), as_json=as_json)


@log.command()
def stamp(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The run whose bundle it covers.")],
    to: Annotated[Path | None, output("FILE", "The file to write; default: RUN.stamp.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Write the first time stamp that covers a run's bundle, for `evidence verify --stamp`."""
    from countersign.cli.audit import later_stamp
    from countersign.cli.outputs import write_new

    file = to or Path(f"{run_id}.stamp")
    write_new(file, bytes(run(later_stamp(shared_settings("database_url"), run_id))))
    show_facts({"stamp": file}, f"stamp: {file}", as_json=as_json)


@log.command()
def verify(
    kept: Annotated[
        list[Path] | None,
        typer.Option("--checkpoint", metavar="FILE", help="A checkpoint kept elsewhere; may be repeated."),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Compare the database with the log: is every change in the log, is anything missing, up to when."""
    from countersign.cli.audit import audited
    from evidence.verify.judgement import Standing
    from evidence.verify.trust import TrustError

    try:
        with using_database():
            found = audited(shared_settings("database_url"), kept or [])
    except TrustError as error:
        sys.stderr.write(f"countersign: {error}\n")
        raise typer.Exit(Standing.UNREAD) from error
    if as_json:
        show_json({**vars(found), "findings": [vars(one) for one in found.findings]})
    else:
        for one in found.findings:
            out.print(f"{one.rule}: {one.where}: {one.what}")
        out.print(
            f"{counted(found.runs, 'run')}, {counted(found.leaves, 'leaf', 'leaves')};"
            f" the log has {found.size:,}, {found.waiting:,} without a place yet"
        )
        if found.until:
            out.print(f"Everything before {found.until} is accounted for." if not found.findings else "Not all holds.")
    raise typer.Exit(1 if found.findings else 0)


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

    from countersign.witness import make_witness, serve_witness
    from runtime.clock import utc_now

    host, port = _host_and_port(listen)
    own_settings(serving=True)
    with make_witness(name, key, state, log, utc_now) as made:
        asyncio.run(serve_witness(made, host, port))


def _host_and_port(listen: str) -> tuple[str, int]:
    """Return host and port, the host without the brackets that an IPv6 address has before a port."""
    host, _, port = listen.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:  # noqa: PLR2004 - ports have 16 bits
        raise typer.BadParameter(f"an address is HOST:PORT, such as {_LISTEN}; this is {listen!r}")
    return host.removeprefix("[").removesuffix("]"), int(port)
