"""What operators do to runs, each act on record by a named person: `retry`, and what other commands share."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated

import typer

from countersign.cli.command import out, run, shared_settings
from countersign.cli.tables import AsJson, show_json

if TYPE_CHECKING:
    from runtime.services.operator import OperatorDesk

By = Annotated[str, typer.Option("--as", "--by", metavar="PERSON", help="Your directory id.")]


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


def retry(
    subject: Annotated[str, typer.Argument(metavar="RUN|EFFECT", help="What to retry now.")],
    by: By,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why; it goes on record.")] = "",
    version: Version = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Try now what a run has put off until a pause has passed, or one effect of it."""
    act(lambda desk: desk.retry(by, subject, reason, version), f"{subject} will be retried now", as_json=as_json)


def act(record: "Callable[[OperatorDesk], Awaitable[str]]", done: str, *, as_json: bool) -> None:
    """Record an act, wait a while for a worker to apply it, and say what became of it; raise OperateError."""
    from countersign.cli.operate import perform

    facts = run(perform(shared_settings("database_url"), record))
    if as_json:
        show_json(facts)
    elif facts["status"] == "received":
        out.print(f"on record as {facts['notification_id']}: a worker will do it")
    else:
        out.print(done)
