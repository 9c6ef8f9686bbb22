"""`countersign evidence approvals`: who approved what, when, with which words, and what it changed."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from countersign.cli.blocks import vote_block
from countersign.cli.command import out, run, shared_settings
from countersign.cli.finding_options import AsCsv, From, To, days, show
from countersign.cli.tables import AsJson
from evidence.verify.rules import counted

if TYPE_CHECKING:
    from countersign.settings import Settings
    from evidence.export.period import Period


def approvals(
    first: From,
    last: To,
    person: Annotated[
        str | None, typer.Option(metavar="PERSON", help="Only votes of this person: a directory id or a name.")
    ] = None,
    *,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """List every vote of a period: who approved or rejected what, when, why, and what it would change."""
    from evidence.export.votes import VOTE_COLUMNS

    rows = run(vote_rows(shared_settings("database_url"), days(first, last), person))
    if show(rows, VOTE_COLUMNS, as_json=as_json, as_csv=as_csv):
        return
    for row in rows:
        out.print(vote_block(row))
    out.print(counted(len(rows), "vote"))


async def vote_rows(settings: "Settings", period: "Period", person: str | None) -> list[dict[str, Any]]:
    """Return the votes of a period as rows of a table, the oldest first."""
    from countersign.cli.finding_words import vote_row
    from countersign.cli.operate import looked_up
    from runtime.services.bundle_search import find_votes

    found = await looked_up(settings, find_votes, period.since, period.until, person)
    return [vote_row(one) for one in found]
