"""`countersign figures`: how long people take with what they are asked, how often they are reminded, what waits."""

from dataclasses import asdict
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

import typer

from countersign.cli.command import out, run, shared_settings
from countersign.cli.finding_options import AsCsv, Since, Until, a_day, show
from countersign.cli.tables import AsJson, show_json, show_rows

if TYPE_CHECKING:
    from countersign.settings import Settings
    from runtime.model.figures import Figures

_GROUP = ("group", "tier", "asked", "approved", "rejected", "expired", "canceled", "open", "late")
_TIMES = (
    "first_look_p50",
    "first_look_p90",
    "decision_p50",
    "decision_p90",
    "reminders",
    "escalations",
    "glass_broken",
)
_PERSON = ("person", "name", "waiting", "looked", "approved", "rejected", "answer_p50", "answer_p90")
_DAYS = 30


def figures(first: Since = None, last: Until = None, *, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """Show requests of the last 30 days, or of a period: by group and tier, and by person. Times are in seconds."""
    found = run(_found(shared_settings("database_url"), first, last))
    groups, people = [_flat(asdict(one)) for one in found.groups], [_flat(asdict(one)) for one in found.people]
    if as_json and not as_csv:
        show_json({"since": found.since, "until": found.until, "groups": groups, "people": people})
        return
    columns = _GROUP + _TIMES
    if show(groups, columns, as_json=as_json, as_csv=as_csv):
        return
    out.print(f"Requests from {found.since:%Y-%m-%d} until {found.until:%Y-%m-%d %H:%M} UTC; times in seconds\n")
    show_rows(groups, columns, as_json=False)
    out.print("")
    show_rows(people, _PERSON, as_json=False)


async def _found(settings: "Settings", first: str | None, last: str | None) -> "Figures":
    from countersign.cli.operate import looked_up
    from evidence.export.period import end_of
    from runtime.clock import utc_now
    from runtime.services.figures_counter import find_figures

    now = utc_now()
    until = end_of(a_day(last, "--to")) if last else now
    since = datetime.combine(a_day(first, "--from"), time(), UTC) if first else until - timedelta(days=_DAYS)
    if since >= until:
        raise typer.BadParameter(f"{first} is after the last day", param_hint="--from")
    return await looked_up(settings, find_figures, since, until, now)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with each spread as two columns."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        flat |= {f"{name}_{part}": at for part, at in value.items()} if isinstance(value, dict) else {name: value}
    return flat
