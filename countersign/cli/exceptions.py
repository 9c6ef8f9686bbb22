"""`countersign evidence exceptions`: what an auditor looks at first, of bundles, an export or a period."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from countersign.cli.command import out, run, shared_settings
from countersign.cli.finding_options import AsCsv, QuickVote, Since, Until, days, quick_of, show
from countersign.cli.tables import AsJson


def exceptions(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="[PATH...]", help="Bundles, or exports with bundles.")
    ] = None,
    first: Since = None,
    last: Until = None,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The public key; without it nothing is verified.")
    ] = None,
    quick_vote: QuickVote = "PT10S",
    *,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """List exceptions: break-glass, edits, delegations, self-review, quick votes, refused attempts.

    Give files, or --from and --to for the stored bundles of a period and what was refused outside runs in it. Exits as
    `verify` does where --key is given.
    """
    from countersign.cli.finding_gathering import of_files, of_period
    from evidence.export.exceptions import EXCEPTION_COLUMNS

    quick = quick_of(quick_vote)
    if bool(paths) == bool(first or last) or bool(first) != bool(last) or (key and not paths):
        raise typer.BadParameter("give either files, with --key to verify them, or --from and --to")
    if paths:
        found = of_files(paths, key, quick)
    else:
        found = run(of_period(shared_settings("database_url"), days(str(first), str(last)), quick))
    if not show(found.rows, EXCEPTION_COLUMNS, as_json=as_json, as_csv=as_csv):
        _print(found.rows, found.note)
    raise typer.Exit(found.standing)


def _print(rows: Sequence[dict[str, Any]], note: str) -> None:
    from countersign.cli.blocks import exception_block
    from evidence.export.exceptions import NOT_RECORDED
    from evidence.verify.rules import counted

    for row in rows:
        out.print(exception_block(row))
    out.print(f"{counted(sum(row['kind'] != NOT_RECORDED for row in rows), 'exception')}{note}")
