"""Options that several commands take, each declared once: who acts and why, what a list is narrowed to, its pages.

`takes` gives a command a whole set of them: `run_filter` narrows by runs, `page` says which part of a list is wanted.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import wraps
from typing import Annotated, Any

import typer

from runtime.clock import utc_now
from runtime.definitions.durations import parse_duration
from runtime.model.search import RunFilter

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
By = Annotated[str, typer.Option("--as", metavar="PERSON", help="Your directory id; it goes on record.")]


def _visible(reason: str) -> str:
    from bot.views.text import visible_length

    if not visible_length(reason):
        raise typer.BadParameter("give a reason: this one is blank")
    return reason


Reason = Annotated[str, typer.Option(metavar="TEXT", help="Why; it goes on record.", callback=_visible)]
Version = Annotated[
    int | None,
    typer.Option(
        metavar="NUMBER", help="The version of the run that you saw: if it has changed since, nothing is done."
    ),
]
OfRun = Annotated[str | None, typer.Option("--run", metavar="RUN", help="Only this run.")]


def output(metavar: str, what: str) -> Any:
    """Return the option that names what a command writes, a file or a folder: nothing is ever overwritten."""
    return typer.Option("-o", "--output", metavar=metavar, help=f"{what} Nothing is overwritten.")


def _moment(text: str, *, ends: bool) -> datetime:
    """Return a moment that a person wrote: UTC where no zone is named, the end of a day if that is meant.

    A duration is that long ago.
    """
    try:
        if text.startswith("P"):
            return utc_now() - parse_duration(text)
        if len(text) == len("2026-02-01"):
            return datetime.combine(date.fromisoformat(text) + timedelta(days=ends), time(), UTC)
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError) as error:
        wanted = "2026-02-01, 2026-02-01T18:00:00+01:00 or, for a week ago, P7D"
        raise typer.BadParameter(f"{text} is no day, moment or duration: {wanted}") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def began(text: str) -> datetime:
    """Return the moment from which on a person means."""
    return _moment(text, ends=False)


def ended(text: str) -> datetime:
    """Return the moment until before which a person means."""
    return _moment(text, ends=True)


Since = Annotated[
    datetime | None,
    typer.Option(
        parser=began, metavar="WHEN", help="From the start of this day, this moment, or so long ago (P7D), on; in UTC."
    ),
]
Until = Annotated[
    datetime | None,
    typer.Option(
        parser=ended,
        metavar="WHEN",
        help="To the end of this day, or until before this moment, or so long ago (P7D); in UTC.",
    ),
]


@dataclass(frozen=True)
class Between:
    """From one moment until before another; None where that side is open."""

    since: datetime | None
    until: datetime | None


def between(since: Since = None, until: Until = None) -> Between:
    """Return what the two options say."""
    if since and until and since >= until:
        raise typer.BadParameter(f"{since:%Y-%m-%d %H:%M:%S} UTC is not before the end", param_hint="--since")
    return Between(since, until)


def run_filter(
    reference: Annotated[
        str | None, typer.Option(metavar="REFERENCE", help="Only runs with this business reference.")
    ] = None,
    requester: Annotated[
        str | None, typer.Option(metavar="PERSON", help="Only runs that they requested: a directory id or a name.")
    ] = None,
    trigger: Annotated[str | None, typer.Option(metavar="TYPE", help="Only runs that this trigger started.")] = None,
    definition: Annotated[str | None, typer.Option(metavar="NAME", help="Only runs of this runbook.")] = None,
    since: Since = None,
    until: Until = None,
) -> RunFilter:
    """Return what a list is narrowed to; the moments are those of what is listed."""
    return RunFilter(
        reference=reference,
        requester=requester,
        trigger=trigger,
        definition=definition,
        **vars(between(since, until)),
    )


_ROWS = 50


@dataclass(frozen=True)
class Page:
    """Which part of a list is wanted: so many rows, behind the one that `after` names; `asked` is None by default."""

    asked: int | None
    after: str | None

    @property
    def limit(self) -> int:
        """Return how many rows a page has."""
        return self.asked or _ROWS


def page(
    limit: Annotated[
        int | None, typer.Option(min=1, max=10_000, metavar="NUMBER", help="Maximum number of rows; default: 50.")
    ] = None,
    after: Annotated[
        str | None, typer.Option(metavar="KEY", help="Continue behind this row, which the page before ended with.")
    ] = None,
) -> Page:
    """Return which part of a list is wanted."""
    return Page(limit, after)


def takes(**sets: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command sets of options: what each function makes of its options comes by the name it has here."""

    def give(command: Callable[..., None]) -> Callable[..., None]:
        options = {name: inspect.signature(made, eval_str=True).parameters for name, made in sets.items()}

        @wraps(command)
        def called(**given: Any) -> None:
            made = {name: make(**{one: given.pop(one) for one in options[name]}) for name, make in sets.items()}
            command(**given, **made)

        own = [one for one in inspect.signature(command, eval_str=True).parameters.values() if one.name not in sets]
        shared = [one for each in options.values() for one in each.values()]
        parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in (*own, *shared)]
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return called

    return give
