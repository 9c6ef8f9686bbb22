"""The commands about evidence. `verify` imports nothing that needs a server or a network."""

from pathlib import Path
from typing import Annotated

import typer

from countersign.cli.command import out, run, shared_settings

AsJsonLines = Annotated[bool, typer.Option("--json", help="Print JSON, one line for each file.")]

evidence = typer.Typer(no_args_is_help=True, help="List, fetch and verify evidence bundles.")


@evidence.command("list")
def list_() -> None:
    """List finished runs whose bundle is not sealed or stored yet, and why; then the stored bundles, newest first."""
    from countersign.checks.evidence import describe
    from countersign.cli.operate import list_bundles

    waiting, stored = run(list_bundles(shared_settings("database_url")))
    for bundle in waiting:
        out.print(f"{bundle.run_id}  {bundle.status}  {describe(bundle)}")
    for row in stored:
        at = row["stored_at"].isoformat(timespec="seconds")
        out.print(f"{row['run_id']}  {row['status']}  {row['sha256']}  {row['size']:,} B  {at}")


@evidence.command()
def get(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The run whose bundle is fetched.")],
    to: Annotated[Path | None, typer.Option(help="The file to write, which must not be there yet: RUN.zip.")] = None,
    sigstore: Annotated[
        Path | None, typer.Option(help="Write the statement about it here, too, as a Sigstore bundle for other tools.")
    ] = None,
) -> None:
    """Fetch the bundle of a run from the archive, and see that it is the one that was stored."""
    from countersign.cli.operate import fetch_bundle

    file = to or Path(f"{run_id}.zip")
    sha256 = run(fetch_bundle(shared_settings("database_url"), run_id, file, sigstore))
    out.print(f"sha256: {sha256}\nbundle: {file}" + (f"\nsigstore: {sigstore}" if sigstore else ""))


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
    tsa: Annotated[
        Path | None,
        typer.Option(
            help="Certificates (PEM) of a time stamping authority: its stamp must show since when all existed."
        ),
    ] = None,
    stamp: Annotated[
        list[Path] | None, typer.Option(help="A stamp that came after the bundle (`log stamp`); may be repeated.")
    ] = None,
    *,
    replay: Annotated[bool, typer.Option("--replay", help="Ask OPA again, with the bundle's own policies.")] = False,
    as_json: AsJsonLines = False,
) -> None:
    """Verify bundles offline: no database, no network, no private key. Names the first thing that does not hold.

    Exits with 0 where all hold; with 1 where one does not; else with 4 where the key did not sign one, or with 3 where
    one, or the key, could not be read, or OPA not be asked.
    """
    from countersign.cli.verify import Given, find_opa, verify_all

    known = witness or []
    needed = len(known) if witnesses is None else witnesses
    given = Given(key, keys, log_key or [], known, needed, tsa, stamp or [])
    raise typer.Exit(verify_all(files, given, find_opa() if replay else None, as_json=as_json))


@evidence.command()
def page(
    to: Annotated[Path, typer.Option(help="The file to write, which must not be there yet.")] = Path("verify.html"),
) -> None:
    """Write the page that verifies bundles in a browser: one file without network, for whoever has not this program."""
    from evidence.page import write_page

    sha256 = write_page(to)
    out.print(f"sha256: {sha256}\npage:   {to}")
