"""The commands about the audit log: who signs it, what was signed, and whether everything is in it."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from countersign.cli.command import out, run, shared_settings, using_database
from countersign.cli.tables import AsJson, show_json
from evidence.reading.words import counted

log = typer.Typer(
    no_args_is_help=True, help="Verify the audit log; show and rotate its key; print its newest checkpoint."
)


@log.command()
def key(
    *,
    earlier: Annotated[bool, typer.Option("--earlier", help="Include earlier keys.")] = False,
) -> None:
    """Show the public key of the log, as verifiers and witnesses take it (vkey)."""
    from countersign.log_key import log_keys

    for one in log_keys(shared_settings()).keys[: None if earlier else 1]:
        out.print(str(one))


@log.command()
def rotate() -> None:
    """Rotate the log's signing key; running processes keep the old one."""
    from countersign.log_key import rotate_log_key

    new, old, *_ = rotate_log_key(shared_settings()).keys
    out.print(f"before: {old}\nnow:    {new}")
    out.print("Give the new key to everyone who has the old one, witnesses first; then restart the processes.")


@log.command()
def checkpoint() -> None:
    """Print the newest checkpoint: kept elsewhere, it shows any later change of the log."""
    from countersign.cli.audit import newest_checkpoint

    typer.echo(run(newest_checkpoint(shared_settings("database_url"))), nl=False)


@log.command()
def stamp(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The run whose bundle it covers.")],
    to: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="The file to write; it must not exist yet. Default: RUN.stamp."
        ),
    ] = None,
) -> None:
    """Write the first time stamp that covers a run's bundle, for `evidence verify --stamp`."""
    from countersign.cli.audit import later_stamp

    file = to or Path(f"{run_id}.stamp")
    run(later_stamp(shared_settings("database_url"), run_id)).write(file)
    out.print(f"stamp: {file}")


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
