"""The commands about evidence. `verify` imports nothing that needs a server or a network."""

from pathlib import Path
from typing import Annotated

import typer

from countersign.cli.command import out
from countersign.cli.finding.export import export, verify_export
from countersign.cli.finding.runs import list_evidence
from countersign.cli.finding.votes import approvals
from countersign.cli.kept.commands import get, hold, holds, release, repair

AsJsonLines = Annotated[bool, typer.Option("--json", help="Print JSON, one line for each file.")]

evidence = typer.Typer(no_args_is_help=True, help="Find, list, fetch, verify and keep evidence.")


evidence.command("list")(list_evidence)
for command in (approvals, export, verify_export, get, hold, release, holds, repair):
    evidence.command()(command)


@evidence.command()
def verify(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="The bundles.")],
    key: Annotated[Path, typer.Option(help="The public key, from a source that you trust.")],
    keys: Annotated[
        Path | None, typer.Option(help="The register of keys (keys.json), for what earlier keys signed.")
    ] = None,
    log_key: Annotated[
        list[str] | None,
        typer.Option(help="A key of the audit log (vkey): the bundle must stand in the log that it signed."),
    ] = None,
    witness: Annotated[list[str] | None, typer.Option(help="The key of a witness of the log (vkey).")] = None,
    witnesses: Annotated[int | None, typer.Option(help="How many of them must have cosigned; else all.")] = None,
    checkpoint: Annotated[
        list[Path] | None,
        typer.Option(help="A checkpoint that you have kept: the bundle's log must be the same; may be repeated."),
    ] = None,
    log: Annotated[
        Path | None, typer.Option(help="The folder with the log as it is published, to compare checkpoints by.")
    ] = None,
    *,
    replay: Annotated[bool, typer.Option("--replay", help="Ask OPA again, with the bundle's own policies.")] = False,
    as_json: AsJsonLines = False,
) -> None:
    """Verify bundles offline: no database, no network, no private key. Names the first thing that does not hold.

    Exits with 0 where all hold; with 1 where one does not; else with 4 where the key did not sign one, or with 3 where
    one, or the key, could not be read, OPA not be asked, or checkpoints not be compared.
    """
    from countersign.cli.verify import Given, find_opa, verify_all

    known = witness or []
    given = Given(
        key, keys, log_key or [], known, len(known) if witnesses is None else witnesses, checkpoint or [], log
    )
    raise typer.Exit(verify_all(files, given, find_opa() if replay else None, as_json=as_json))


@evidence.command()
def report(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The bundle.")],
    to: Annotated[
        Path | None, typer.Option("--output", "-o", help="The page to write: the bundle's name, with .html.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="The public key; without it nothing is verified.")] = None,
    keys: Annotated[Path | None, typer.Option(help="The register of keys, as for `verify`.")] = None,
    log_key: Annotated[list[str] | None, typer.Option(help="A key of the audit log, as for `verify`.")] = None,
    witness: Annotated[list[str] | None, typer.Option(help="The key of a witness, as for `verify`.")] = None,
    witnesses: Annotated[int | None, typer.Option(help="How many of them must have cosigned; else all.")] = None,
) -> None:
    """Write a page about a bundle, to look at and to print: what was asked, signed, done, and whether it holds.

    It is made from the bundle alone, loads nothing and runs nothing. What is there already is not overwritten. Exits
    as `verify` does; with 0 where no key is given, since then nothing is verified, as the page says at its top.
    """
    from countersign.cli.verify import Given, report_one

    known = witness or []
    given = Given(key, keys, log_key or [], known, len(known) if witnesses is None else witnesses) if key else None
    if given is None and (keys or log_key or known or witnesses):
        raise typer.BadParameter("--keys, --log-key and --witness count only beside --key")
    raise typer.Exit(report_one(file, given, to or Path(f"{file.stem}.html")))


@evidence.command()
def page(
    to: Annotated[Path, typer.Option(help="The file to write, which must not be there yet.")] = Path("verify.html"),
) -> None:
    """Write the page that verifies bundles in a browser: one file without network, for whoever has not this program."""
    from evidence.page import write_page

    sha256 = write_page(to)
    out.print(f"sha256: {sha256}\npage:   {to}")
