"""`people delegate` and `people undelegate`: who votes for whom, each act on record by a named person."""

from datetime import datetime
from typing import Annotated

import typer

from countersign.cli.acts import By, Reason, act
from countersign.cli.tables import AsJson


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter("give a moment such as 2026-02-01T18:00:00+01:00") from error
    if moment.tzinfo is None:
        raise typer.BadParameter("add the time zone: 2026-02-01T18:00:00+01:00")
    return moment


def delegate(
    delegator: Annotated[str, typer.Argument(metavar="PERSON", help="Who is away.")],
    to: Annotated[str, typer.Option(metavar="PERSON", help="Who votes for them.")],
    until: Annotated[
        datetime, typer.Option(parser=_moment, metavar="MOMENT", help="End of the delegation, exclusive.")
    ],
    by: By,
    reason: Reason,
    since: Annotated[
        datetime | None, typer.Option("--from", parser=_moment, metavar="MOMENT", help="Start; default: now.")
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(metavar="GROUP", help="Only this group; may be repeated. Default: all their groups."),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Let somebody vote for a person who is away, in that one's groups and for some time."""
    from runtime.clock import utc_now
    from runtime.model.tenant_payloads import DelegatePayload

    wish = DelegatePayload(
        delegator=delegator,
        delegate=to,
        groups=tuple(dict.fromkeys(group or ())),
        starts_at=since or utc_now(),
        ends_at=until,
        reason=reason,
    )
    act(lambda desk: desk.delegate(by, wish), f"{to} votes for {delegator} until {until.isoformat()}", as_json=as_json)


def undelegate(
    delegation: Annotated[str, typer.Argument(metavar="DELEGATION", help="Its id, from `people show`.")],
    by: By,
    reason: Reason,
    *,
    as_json: AsJson = False,
) -> None:
    """End a delegation now; what was voted by it stays."""
    act(lambda desk: desk.undelegate(by, delegation, reason), f"{delegation} is over", as_json=as_json)
