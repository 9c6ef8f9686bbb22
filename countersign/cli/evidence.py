"""The group `evidence`: verify, report, export, fetch and retry bundles, and set and lift legal holds.

`verify`, `report`, `page` and `verify-export` import nothing that needs a server or a network. `export` writes the
index of a period; `verify-export` says whether one holds. `get`, `hold`, `release`, `retry` and `export` are on record
by a named person. `list` and `exceptions` stand in `evidence_queries`, `approvals` in `approval_queries`.
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from countersign.cli.acts import act
from countersign.cli.approval_queries import approvals
from countersign.cli.command import run, shared_settings, show_facts
from countersign.cli.evidence_options import (
    Child,
    FirstDay,
    Given,
    Key,
    LastDay,
    QuickVote,
    Undoes,
    VerifierInputs,
    compared,
    period_of,
    quick_of,
    trusted,
)
from countersign.cli.evidence_queries import exceptions, list_evidence
from countersign.cli.lists import keyed, show_whole, table, within
from countersign.cli.options import AsJson, Between, By, OfRun, Page, Reason, between, output, page, takes

if TYPE_CHECKING:
    from runtime.services.legal_holds import Subject


def export(
    since: FirstDay,
    until: LastDay,
    by: By,
    to: Annotated[Path, output("FOLDER", "The folder to create.")],
    *,
    bundles: Annotated[bool, typer.Option("--bundles", help="Copy the bundles into it, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a signed index of a period: every run, sealed or not, and every vote. The export goes on record.

    Exits with 1 where the log, which is looked through first, does not hold: the export then says so.
    """
    from countersign.cli.period_evidence import export_period
    from countersign.cli.verify import index_summary

    period = period_of(since, until)
    made = run(export_period(shared_settings("database_url"), period, by, to, with_bundles=bundles))
    about = made.index.model_dump(mode="json", include={"first_day", "last_day", "counts", "log"})
    lines = (index_summary(made.index), f"sha256: {made.sha256}", f"export: {to}")
    show_facts({**about, "sha256": made.sha256, "export": to}, *lines, as_json=as_json)
    raise typer.Exit(1 if made.index.log.findings else 0)


@takes(trusted=trusted)
def verify_export(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The export.")],
    key: Key,
    log: Annotated[
        Path | None,
        typer.Option(
            metavar="LOG", help="The folder of the log as it is published: no run is left out, no line is made up."
        ),
    ] = None,
    *,
    as_json: AsJson = False,
    trusted: Given,
) -> None:
    """Verify an export offline: its signature and files, and each line, derived again from its bundles and the log.

    Exits as `evidence verify` does: with 0 where it holds, 1 where it does not, 3 where it could not be read, 4 where
    the key did not sign it.
    """
    from countersign.cli.verify import verify_export_folder

    given = VerifierInputs(key=key, **trusted)
    raise typer.Exit(verify_export_folder(folder, given, log, as_json=as_json))


OneRun = Annotated[str | None, typer.Argument(metavar="RUN", help="The run; else name a reference.")]
Reference = Annotated[
    str | None, typer.Option(metavar="REFERENCE", help="All runs with this reference, future ones included.")
]

_ONE_SUBJECT = "name a run or a --reference, not both"
_HOLD_COLUMNS = (
    "hold_id",
    "kind",
    "subject",
    "set_by",
    "set_at",
    "reason",
    "runs",
    "held",
    "to_be_held",
    "lifted_by",
    "lifted_at",
)


def get(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The run whose bundle to fetch.")],
    by: By,
    to: Annotated[Path | None, output("FILE", "The file to write; default: RUN.zip.")] = None,
    sigstore: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write its attestation here, as a Sigstore bundle for other tools."),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Fetch a run's bundle from the archive, and check that it is the stored one. The record names who got it."""
    from countersign.cli.evidence_archive import BundleRequest, fetch_bundle

    file = to or Path(f"{run_id}.zip")
    sha256 = run(fetch_bundle(shared_settings("database_url"), BundleRequest(run_id, by, file, sigstore)))
    facts = {"sha256": sha256, "bundle": file, "sigstore": sigstore}
    show_facts(facts, *(f"{name}: {said}" for name, said in facts.items() if said), as_json=as_json)


def hold(
    by: By, reason: Reason, run_id: OneRun = None, reference: Reference = None, *, as_json: AsJson = False
) -> None:
    """Set a legal hold on a run, or on all runs of a reference: its evidence cannot be deleted until it is released."""
    from countersign.cli.evidence_archive import set_hold

    hold_id, done = run(set_hold(shared_settings("database_url"), _hold_subject(run_id, reference), by, reason))
    text = f"{hold_id} is set; bundles held in the archive now: {done}; others will be when they are stored"
    show_facts({"hold_id": hold_id, "bundles": done}, text, as_json=as_json)


def release(
    by: By, reason: Reason, run_id: OneRun = None, reference: Reference = None, *, as_json: AsJson = False
) -> None:
    """Release the legal hold on a run, or on a reference; other holds remain."""
    from countersign.cli.evidence_archive import lift_hold

    hold_id, done = run(lift_hold(shared_settings("database_url"), _hold_subject(run_id, reference), by, reason))
    text = f"{hold_id} is released; bundles updated in the archive now: {done}"
    show_facts({"hold_id": hold_id, "bundles": done}, text, as_json=as_json)


@takes(was_set=between, page=page)
def holds(
    run_id: OfRun = None,
    reference: Annotated[str | None, typer.Option(metavar="REFERENCE", help="Only holds on this reference.")] = None,
    *,
    lifted: Annotated[bool, typer.Option("--all", help="Include lifted holds.")] = False,
    as_json: AsJson = False,
    was_set: Between,
    page: Page,
) -> None:
    """List legal holds, newest first: subject, person, reason, and how many bundles the archive holds."""
    from countersign.cli.command import find
    from runtime.services.listings import list_holds

    if run_id is not None and reference is not None:
        raise typer.BadParameter(_ONE_SUBJECT)
    found = within(find(partial(list_holds, lifted=lifted)), was_set, "set_at")
    named = {"run": run_id, "reference": reference}
    rows = [row for row in found if not any(named.values()) or named[row["kind"]] == row["subject"]]
    show_whole("holds", rows, page, keyed("hold_id"), table(*_HOLD_COLUMNS), as_json=as_json)


def retry(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The run whose bundle is stuck.")],
    by: By,
    reason: Reason,
    *,
    as_json: AsJson = False,
) -> None:
    """Retry a stuck bundle. An object that took its name in the archive stays; the bundle gets another name."""
    act(lambda desk: desk.retry_bundle(by, run_id, reason), f"the bundle of {run_id} will be retried", as_json=as_json)


def _hold_subject(run_id: str | None, reference: str | None) -> "Subject":
    from runtime.services.legal_holds import Subject

    if run_id is not None and reference is None:
        return Subject("run", run_id)
    if reference is not None and run_id is None:
        return Subject("reference", reference)
    raise typer.BadParameter(_ONE_SUBJECT)


evidence = typer.Typer()


evidence.command("list")(list_evidence)
for command in (approvals, exceptions, export, verify_export, get, hold, release, holds, retry):
    evidence.command()(command)


@evidence.command()
@takes(trusted=trusted, compared=compared)
def verify(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="The bundles.")],
    key: Key,
    child: Child = None,
    undoes: Undoes = None,
    *,
    replay: Annotated[bool, typer.Option("--replay", help="Ask OPA again, with the bundle's own policies.")] = False,
    as_json: AsJson = False,
    trusted: Given,
    compared: Given,
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
    given = VerifierInputs(key=key, **trusted, **compared, children=child or [], undone=undoes)
    raise typer.Exit(verify_all(files, given, find_opa() if replay else None, as_json=as_json))


@evidence.command()
@takes(trusted=trusted, compared=compared)
def report(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The bundle.")],
    to: Annotated[Path | None, output("FILE", "The page to write; default: the bundle's name, with .html.")] = None,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The public key; without it nothing is verified.")
    ] = None,
    quick_vote: QuickVote = "PT10S",
    *,
    as_json: AsJson = False,
    trusted: Given,
    compared: Given,
) -> None:
    """Write a report on a bundle: cover, exceptions, requests, signatures, actions, and whether the bundle holds.

    The page is made from the bundle alone, loads nothing and runs nothing. Exits as `verify` does; with 0 where no key
    is given, since then nothing is verified, as the page says at its top.
    """
    from countersign.cli.verify import report_one

    if key is None and any({**trusted, **compared}.values()):
        raise typer.BadParameter("the other options need --key")
    given = None if key is None else VerifierInputs(key=key, **trusted, **compared)
    raise typer.Exit(report_one(file, given, to or Path(f"{file.stem}.html"), quick_of(quick_vote), as_json=as_json))


@evidence.command("page")
def verifying_page(
    to: Annotated[Path, output("FILE", "The page to write.")] = Path("verify.html"), *, as_json: AsJson = False
) -> None:
    """Write the page that verifies bundles in a browser: one offline file, for people without this program."""
    from countersign.cli.outputs import write_new
    from evidence import verifier_page
    from evidence.statement import sha256

    data = verifier_page.page().encode()
    write_new(to, data)
    digest = sha256(data)
    show_facts({"sha256": digest, "page": to}, f"sha256: {digest}", f"page:   {to}", as_json=as_json)
