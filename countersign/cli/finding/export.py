"""`countersign evidence export` and `verify-export`: the index of a period, and whether one holds."""

from pathlib import Path
from typing import Annotated

import typer

from countersign.cli.command import out, run, shared_settings
from countersign.cli.finding.options import From, To, days


def export(
    first: From,
    last: To,
    by: Annotated[
        str, typer.Option("--by", "--as", metavar="PERSON", help="You, as the directory names you; on record.")
    ],
    to: Annotated[Path, typer.Option("-o", "--out", metavar="FOLDER", help="The folder, which must not be there yet.")],
    *,
    bundles: Annotated[bool, typer.Option("--bundles", help="Copy the bundles into it, too.")] = False,
) -> None:
    """Write a signed index of every run of a period, sealed or not, and of who approved what, and put that on record.

    Exits with 1 where the log, which is looked through first, does not hold: the export then says so.
    """
    from countersign.cli.finding.exporting import export_period
    from countersign.cli.finding.verifying import told

    period = days(first, last)
    made = run(export_period(shared_settings("database_url"), period, by, to, with_bundles=bundles))
    out.print(f"{told(made.index)}\nsha256: {made.sha256}\nexport: {to}")
    raise typer.Exit(1 if made.index.log.findings else 0)


def verify_export(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The export.")],
    key: Annotated[Path, typer.Option(help="The public key, from a source that you trust.")],
    keys: Annotated[
        Path | None, typer.Option(help="The register of keys (keys.json), for what earlier keys signed.")
    ] = None,
    log_key: Annotated[
        list[str] | None, typer.Option(help="A key of the audit log (vkey): its checkpoint must be signed by it.")
    ] = None,
    witness: Annotated[list[str] | None, typer.Option(help="The key of a witness of the log (vkey).")] = None,
    witnesses: Annotated[int | None, typer.Option(help="How many of them must have cosigned; else all.")] = None,
    log: Annotated[
        Path | None, typer.Option(metavar="LOG", help="The folder of the log as it is published: no run is left out.")
    ] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, in one line.")] = False,
) -> None:
    """Verify an export offline: its signature, its files, its counts, and each bundle that it has.

    Exits as `evidence verify` does: with 0 where it holds, 1 where it does not, 3 where it could not be read, 4 where
    the key did not sign it.
    """
    from countersign.cli.finding.verifying import verify_folder
    from countersign.cli.verify import Given

    known = witness or []
    given = Given(key, keys, log_key or [], known, len(known) if witnesses is None else witnesses)
    raise typer.Exit(verify_folder(folder, given, log, as_json=as_json))
