"""`countersign evidence export` and `verify-export`: the index of a period, and whether one holds."""

from pathlib import Path
from typing import Annotated

import typer

from countersign.cli.command import out, run, shared_settings
from countersign.cli.finding_options import From, To, days
from countersign.cli.given import Given, Key, Keys, LogKey, Witness, Witnesses


def export(
    first: From,
    last: To,
    by: Annotated[str, typer.Option("--by", "--as", metavar="PERSON", help="Your directory id; recorded.")],
    to: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="The folder to create; it must not exist yet.")
    ],
    *,
    bundles: Annotated[bool, typer.Option("--bundles", help="Copy the bundles into it, too.")] = False,
) -> None:
    """Write a signed index of every run of a period, sealed or not, and of who approved what, and put that on record.

    Exits with 1 where the log, which is looked through first, does not hold: the export then says so.
    """
    from countersign.cli.exporting import export_period
    from countersign.cli.verifying import told

    period = days(first, last)
    made = run(export_period(shared_settings("database_url"), period, by, to, with_bundles=bundles))
    out.print(f"{told(made.index)}\nsha256: {made.sha256}\nexport: {to}")
    raise typer.Exit(1 if made.index.log.findings else 0)


def verify_export(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The export.")],
    key: Key,
    keys: Keys = None,
    log_key: LogKey = None,
    witness: Witness = None,
    witnesses: Witnesses = None,
    log: Annotated[
        Path | None,
        typer.Option(
            metavar="LOG", help="The folder of the log as it is published: no run is left out, no line is made up."
        ),
    ] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, in one line.")] = False,
) -> None:
    """Verify an export offline: its signature and files, and each line, derived again from its bundles and the log.

    Exits as `evidence verify` does: with 0 where it holds, 1 where it does not, 3 where it could not be read, 4 where
    the key did not sign it.
    """
    from countersign.cli.verifying import verify_folder

    given = Given(key=key, register=keys, log_keys=log_key or [], witnesses=witness or [], needed=witnesses)
    raise typer.Exit(verify_folder(folder, given, log, as_json=as_json))
