"""What operators do to runs, each act on record by a named person: `cancel`, `retry`."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countersign.cli.command import out, run, shared_settings
from countersign.cli.tables import AsJson, show_json
from runtime.model.states import RunStatus

if TYPE_CHECKING:
    from runtime.desk.operator import OperatorDesk

By = Annotated[str, typer.Option("--as", "--by", help="You, as the directory names you.")]
Reason = Annotated[str, typer.Option(help="Why; it goes on record.")]
Version = Annotated[int | None, typer.Option(help="Of the run as you saw it: if it has moved on, nothing is done.")]


_FORMATS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z"]


def cancel(
    run_id: Annotated[str | None, typer.Argument(metavar="[RUN]", help="The run that is to stop.")] = None,
    *,
    by: By,
    reason: Reason,
    version: Version = None,
    reference: Annotated[str | None, typer.Option(help="Every run with this reference.")] = None,
    definition: Annotated[str | None, typer.Option(help="Every run of this runbook.")] = None,
    status: Annotated[RunStatus | None, typer.Option(help="Of them those in this status.")] = None,
    started_after: Annotated[
        datetime | None, typer.Option(formats=_FORMATS, help="Of them those that began then or later, in UTC.")
    ] = None,
    started_before: Annotated[
        datetime | None, typer.Option(formats=_FORMATS, help="Of them those that began before that, in UTC.")
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Have what the run did taken back, too.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do it, where it is only listed without this.")] = False,
    as_json: AsJson = False,
) -> None:
    """Stop a run: what has not been done will not be. Several, or one with --undo, are listed before."""
    narrowed = {"status": status, "started_after": started_after, "started_before": started_before}
    if run_id is None:
        _cancel_chosen(
            by, reason, {"reference": reference, "definition": definition, **narrowed}, yes=yes, as_json=as_json
        )
        return
    if any((reference, definition, *narrowed.values())):
        raise typer.BadParameter("RUN names the one that is meant: no filter goes with it")
    if undo:
        from countersign.cli.undo.canceling import cancel_and_undo

        cancel_and_undo(shared_settings("database_url"), run_id, by, reason, version, yes=yes, as_json=as_json)
        return
    act(lambda desk: desk.cancel(by, run_id, reason, version), f"{run_id} is canceled", as_json=as_json)


def _cancel_chosen(by: str, reason: str, given: dict[str, Any], *, yes: bool, as_json: bool) -> None:
    from countersign.cli.undo.canceling import cancel_chosen, moment
    from runtime.desk.undo.preview import Chosen

    if given["reference"] is None and given["definition"] is None:
        raise typer.BadParameter("name a RUN, or all of a --reference or a --definition")
    moments = {name: moment(given[name]) for name in ("started_after", "started_before")}
    cancel_chosen(shared_settings("database_url"), Chosen(**given | moments), by, reason, yes=yes, as_json=as_json)


def retry(
    subject: Annotated[str, typer.Argument(metavar="RUN|EFFECT", help="What is to be tried now.")],
    by: By,
    reason: Reason = "",
    version: Version = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Try now what a run has put off until a pause has passed, or one effect of it."""
    act(lambda desk: desk.retry(by, subject, reason, version), f"{subject} is tried now", as_json=as_json)


def act(record: "Callable[[OperatorDesk], Awaitable[str]]", done: str, *, as_json: bool) -> None:
    """Record an act, wait a while for a worker to apply it, and say what became of it; raise OperateError."""
    from countersign.cli.operate import perform

    facts = run(perform(shared_settings("database_url"), record))
    if as_json:
        show_json(facts)
    elif facts["status"] == "received":
        out.print(f"on record as {facts['notification_id']}: done as soon as a worker runs")
    else:
        out.print(done)
