"""The commands about evidence. `verify` imports nothing that needs a server or a network."""

from pathlib import Path
from typing import Annotated, Any

import typer

from countersign.cli.archive import get, hold, holds, release, repair
from countersign.cli.command import out
from countersign.cli.exceptions import exceptions
from countersign.cli.export import export, verify_export
from countersign.cli.finding_options import QuickVote, quick_of
from countersign.cli.finding_votes import approvals
from countersign.cli.given import (
    Checkpoint,
    Child,
    Given,
    Key,
    Keys,
    Log,
    LogKey,
    Stamp,
    Tsa,
    Undoes,
    Witness,
    Witnesses,
)
from countersign.cli.runs import list_evidence

AsJsonLines = Annotated[bool, typer.Option("--json", help="Print JSON, one line for each file.")]

evidence = typer.Typer(no_args_is_help=True, help="Find, list, fetch, verify and keep evidence.")


evidence.command("list")(list_evidence)
for command in (approvals, exceptions, export, verify_export, get, hold, release, holds, repair):
    evidence.command()(command)


@evidence.command()
def verify(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="The bundles.")],
    key: Key,
    keys: Keys = None,
    log_key: LogKey = None,
    witness: Witness = None,
    witnesses: Witnesses = None,
    checkpoint: Checkpoint = None,
    log: Log = None,
    tsa: Tsa = None,
    stamp: Stamp = None,
    child: Child = None,
    undoes: Undoes = None,
    *,
    replay: Annotated[bool, typer.Option("--replay", help="Ask OPA again, with the bundle's own policies.")] = False,
    as_json: AsJsonLines = False,
) -> None:
    """Verify bundles offline: no database, no network, no private key. Names the first thing that does not hold.

    Exits with 0 where all hold; with 1 where one does not; else with 4 where the key did not sign one, or with 3 where
    one, or the key, could not be read, OPA not be asked, or checkpoints not be compared.
    """
    from countersign.cli.verify import find_opa, verify_all

    if child and len(files) > 1:
        raise typer.BadParameter("--child goes with one FILE: that of the run that waited")
    if undoes and len(files) > 1:
        raise typer.BadParameter("--undoes goes with one FILE: that of the run that undoes")
    given = Given(
        key=key,
        register=keys,
        log_keys=log_key or [],
        witnesses=witness or [],
        needed=witnesses,
        checkpoints=checkpoint or [],
        log=log,
        tsa=tsa,
        stamps=stamp or [],
        children=child or [],
        undone=undoes,
    )
    raise typer.Exit(verify_all(files, given, find_opa() if replay else None, as_json=as_json))


@evidence.command()
def report(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The bundle.")],
    to: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="PAGE", help="The page to write: the bundle's name, with .html."),
    ] = None,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The public key; without it nothing is verified.")
    ] = None,
    keys: Keys = None,
    log_key: LogKey = None,
    witness: Witness = None,
    witnesses: Witnesses = None,
    checkpoint: Checkpoint = None,
    log: Log = None,
    tsa: Tsa = None,
    stamp: Stamp = None,
    quick_vote: QuickVote = "PT10S",
) -> None:
    """Write a report on a bundle: cover, exceptions, requests, signatures, actions, and whether the bundle holds.

    The page is made from the bundle alone, loads nothing and runs nothing. An existing file is not overwritten. Exits
    as `verify` does; with 0 where no key is given, since then nothing is verified, as the page says at its top.
    """
    from countersign.cli.verify import report_one

    beside: dict[str, Any] = {
        "register": keys, "log_keys": log_key or [], "witnesses": witness or [], "needed": witnesses,
        "checkpoints": checkpoint or [], "log": log, "tsa": tsa, "stamps": stamp or [],
    }  # fmt: skip
    if key is None and any(beside.values()):
        raise typer.BadParameter("the other options need --key")
    given = None if key is None else Given(key=key, **beside)
    raise typer.Exit(report_one(file, given, to or Path(f"{file.stem}.html"), quick_of(quick_vote)))


@evidence.command()
def page(
    to: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="The file to write; it must not exist yet.")
    ] = Path("verify.html"),
) -> None:
    """Write the page that verifies bundles in a browser: one offline file, for people without this program."""
    from evidence.page.verify_page import write_page

    sha256 = write_page(to)
    out.print(f"sha256: {sha256}\npage:   {to}")
