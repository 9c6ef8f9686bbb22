"""`evidence approvals` and `metrics`: who approved what, and how long people take.

`approvals` says who approved what, when, with which words, and what it changed. `metrics` says how long people take
with what they are asked, how often they are reminded, and what waits.
"""

from dataclasses import asdict
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countersign.cli.command import AsJson, out, run, shared_settings, show_json, show_rows, vote_block
from countersign.cli.evidence_options import AsCsv, From, Since, To, Until, day_of, period_of, show_for_programs
from evidence.verify.rules import counted

if TYPE_CHECKING:
    from countersign.settings import Settings
    from evidence.export.index import Period
    from runtime.model.metrics import Metrics


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
    from evidence.export.approvals_table import VOTE_COLUMNS

    rows = run(vote_rows(shared_settings("database_url"), period_of(first, last), person))
    if show_for_programs(rows, VOTE_COLUMNS, as_json=as_json, as_csv=as_csv):
        return
    for row in rows:
        out.print(vote_block(row))
    out.print(counted(len(rows), "vote"))


async def vote_rows(settings: "Settings", period: "Period", person: str | None) -> list[dict[str, Any]]:
    """Return the votes of a period as rows of a table, the oldest first."""
    from countersign.cli.audit import vote_row
    from countersign.cli.operate import looked_up
    from runtime.services.bundles import find_votes

    found = await looked_up(settings, find_votes, period.since, period.until, person)
    return [vote_row(one) for one in found]


_GROUP_COLUMNS = ("group", "tier", "asked", "approved", "rejected", "expired", "canceled", "open", "late")
_TIME_COLUMNS = (
    "first_look_p50",
    "first_look_p90",
    "decision_p50",
    "decision_p90",
    "reminders",
    "escalations",
    "break_glass_used",
)
_PERSON_COLUMNS = ("person", "name", "waiting", "looked", "approved", "rejected", "answer_p50", "answer_p90")
_DAYS = 30


def metrics(first: Since = None, last: Until = None, *, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """Show requests of the last 30 days, or of a period: by group and tier, and by person. Times are in seconds."""
    found = run(_find_metrics(shared_settings("database_url"), first, last))
    groups, people = [_flat_row(asdict(one)) for one in found.groups], [_flat_row(asdict(one)) for one in found.people]
    if as_json and not as_csv:
        show_json({"since": found.since, "until": found.until, "groups": groups, "people": people})
        return
    columns = _GROUP_COLUMNS + _TIME_COLUMNS
    if show_for_programs(groups, columns, as_json=as_json, as_csv=as_csv):
        return
    out.print(f"Requests from {found.since:%Y-%m-%d} until {found.until:%Y-%m-%d %H:%M} UTC; times in seconds\n")
    show_rows(groups, columns, as_json=False)
    out.print("")
    show_rows(people, _PERSON_COLUMNS, as_json=False)


async def _find_metrics(settings: "Settings", first: str | None, last: str | None) -> "Metrics":
    from countersign.cli.operate import looked_up
    from evidence.export.index import end_of
    from runtime.clock import utc_now
    from runtime.services.metrics import find_metrics

    now = utc_now()
    until = end_of(day_of(last, "--to")) if last else now
    since = datetime.combine(day_of(first, "--from"), time(), UTC) if first else until - timedelta(days=_DAYS)
    if since >= until:
        raise typer.BadParameter(f"{first} is after the last day", param_hint="--from")
    return await looked_up(settings, find_metrics, since, until, now)


def _flat_row(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with each spread as two columns."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        flat |= {f"{name}_{part}": at for part, at in value.items()} if isinstance(value, dict) else {name: value}
    return flat
