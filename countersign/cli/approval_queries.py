"""`evidence approvals` and `metrics`: who approved what, and how long people take.

`approvals` says who approved what, when, with which words, and what it changed. `metrics` says how long people take
with what they are asked, how often they are reminded, and what waits.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countersign.cli.command import Row, out, run, shared_settings, show_json, show_rows, vote_block
from countersign.cli.evidence_options import AsCsv, expect_one_format, show_csv
from countersign.cli.options import AsJson, Between, between, run_filter, takes
from evidence.reading.words import counted
from runtime.model.metrics import GROUP_COLUMNS, table_row
from runtime.model.search import RunFilter

if TYPE_CHECKING:
    from countersign.settings import Settings
    from runtime.model.metrics import Metrics
    from runtime.services.policy_shadows import Window


@takes(narrowed=run_filter)
def approvals(
    person: Annotated[
        str | None, typer.Option(metavar="PERSON", help="Only votes of this person: a directory id or a name.")
    ] = None,
    *,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    narrowed: RunFilter,
) -> None:
    """List every vote of a period: who approved or rejected what, when, why, and what it would change."""
    from evidence.export.approvals_table import VOTE_COLUMNS

    expect_one_format(as_json=as_json, as_csv=as_csv)
    if narrowed.since is None or narrowed.until is None:
        raise typer.BadParameter("the votes are those of a period: give --since and --until")
    rows = run(vote_rows(shared_settings("database_url"), narrowed, person))
    if as_csv:
        show_csv(rows, VOTE_COLUMNS)
    elif as_json:
        show_json({"votes": rows})
    else:
        _print_votes(rows)


def _print_votes(rows: Sequence[Row]) -> None:
    for row in rows:
        out.print(vote_block(row))
    out.print(counted(len(rows), "vote"))


async def vote_rows(settings: "Settings", narrowed: RunFilter, person: str | None) -> list[dict[str, Any]]:
    """Return the votes of a period as rows of a table, the oldest first."""
    from countersign.cli.audit import vote_row
    from countersign.connection import looked_up
    from runtime.services.bundles import find_votes

    return [vote_row(one) for one in await looked_up(settings, find_votes, narrowed, person)]


_PERSON_COLUMNS = ("person", "name", "waiting", "looked", "approved", "rejected", "answer_p50", "answer_p90")
_DAYS = 30


@takes(period=between)
def metrics(*, as_json: AsJson = False, as_csv: AsCsv = False, period: Between) -> None:
    """Show requests of the last 30 days, or of a period: by group and tier, and by person. Times are in seconds."""
    expect_one_format(as_json=as_json, as_csv=as_csv)
    settings = shared_settings("database_url")
    found, shadow = run(_find_metrics(settings, period)), run(_find_shadow(settings))
    groups, people = [table_row(one) for one in found.groups], [table_row(one) for one in found.people]
    if as_json:
        told = {"since": found.since, "until": found.until, "groups": groups, "people": people}
        show_json({**told, "shadow": vars(shadow) if shadow else None})
        return
    if as_csv:
        show_csv(groups, GROUP_COLUMNS)
        return
    out.print(f"Requests from {found.since:%Y-%m-%d} until {found.until:%Y-%m-%d %H:%M} UTC; times in seconds\n")
    show_rows(groups, GROUP_COLUMNS)
    out.print("")
    show_rows(people, _PERSON_COLUMNS)
    if shadow:
        counts = ", ".join(f"{kind}: {count}" for kind, count in shadow.counts.items())
        out.print(f"\nShadow policy {shadow.shadow_id}: {counts or 'no decisions yet'}")


async def _find_metrics(settings: "Settings", period: Between) -> "Metrics":
    from countersign.connection import looked_up
    from runtime.clock import utc_now
    from runtime.services.metrics import find_metrics

    now = utc_now()
    until = period.until or now
    since = period.since or until - timedelta(days=_DAYS)
    if since >= until:
        raise typer.BadParameter("that is to come", param_hint="--since")
    return await looked_up(settings, find_metrics, since, until, now)


async def _find_shadow(settings: "Settings") -> "Window | None":
    from countersign.connection import looked_up
    from runtime.services.policy_shadows import find_open

    return await looked_up(settings, find_open)
