"""The group `dead-letters`: notifications that could not be applied; each is requeued or dropped by a person."""

from enum import StrEnum
from typing import Annotated

import typer

from countersign.cli.acts import act
from countersign.cli.command import show_one
from countersign.cli.lists import keyed, show_list, table
from countersign.cli.options import AsJson, Between, By, Page, Reason, between, page, takes

dead_letters = typer.Typer()

NotificationId = Annotated[str, typer.Argument(metavar="NOTIFICATION", help="Its id.")]


class Status(StrEnum):
    """How a notification stands that somebody may have to look at."""

    DEAD_LETTER = "dead_letter"
    EARLY = "early"
    RECEIVED = "received"


_COLUMNS = ("notification_id", "status", "kind", "correlation_key", "actor", "received_at", "failures", "reason")


@dead_letters.command("list")
@takes(came=between, page=page)
def list_(
    status: Annotated[
        Status | None, typer.Option(metavar="STATUS", help=f"In this status: {', '.join(Status)}.")
    ] = None,
    *,
    as_json: AsJson = False,
    came: Between,
    page: Page,
) -> None:
    """List dead letters, early answers, and received notifications that an internal fault delays, newest first."""
    from countersign.cli.command import find
    from runtime.services import listings

    wanted = listings.Wanted(**vars(came), status=status, after=page.after, limit=page.limit + 1)
    rows = find(listings.list_dead_letters, wanted)
    show_list("dead_letters", rows, page, keyed("notification_id"), table(*_COLUMNS), as_json=as_json)


@dead_letters.command()
def show(notification_id: NotificationId, *, as_json: AsJson = False) -> None:
    """Show a notification, without its token."""
    from countersign.cli.command import find_one
    from runtime.services import listings

    row = find_one(f"notification {notification_id}", listings.find_dead_letter, notification_id)
    show_one(row, as_json=as_json)


@dead_letters.command()
def requeue(notification_id: NotificationId, by: By, reason: Reason, *, as_json: AsJson = False) -> None:
    """Requeue a dead letter, as if it arrived now."""
    act(lambda desk: desk.requeue(by, notification_id, reason), f"{notification_id} is requeued", as_json=as_json)


@dead_letters.command()
def drop(notification_id: NotificationId, by: By, reason: Reason, *, as_json: AsJson = False) -> None:
    """Drop a dead letter: it stays on record, and nothing is done."""
    act(lambda desk: desk.drop(by, notification_id, reason), f"{notification_id} is dropped", as_json=as_json)
