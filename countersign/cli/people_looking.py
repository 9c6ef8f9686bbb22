"""`people list` and `people show`: the directory as it is loaded."""

from typing import Annotated

import typer

from countersign.cli.command import run, shared_settings
from countersign.cli.tables import AsJson, show_one, show_rows

_PERSON = ("person", "name", "groups", "slack", "stands_in_for", "delegates")


def list_(
    group: Annotated[str | None, typer.Option(metavar="GROUP", help="Only one group.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """List people: their groups and accounts, whom they vote for now, and who votes for them."""
    from countersign.cli.operate import looked_up
    from runtime.services.people_looking import list_people

    found = run(looked_up(shared_settings("database_url"), list_people, group))
    show_rows(found, _PERSON, as_json=as_json)


def show(
    person: Annotated[str, typer.Argument(metavar="PERSON", help="Their directory id.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Show a person, and every delegation from and to them, those too that are over."""
    from countersign.cli.operate import OperateError, looked_up
    from runtime.services.people_looking import find_person

    found = run(looked_up(shared_settings("database_url"), find_person, person))
    if found is None:
        raise OperateError(f"there is no person {person}")
    lists = () if as_json else ("groups", "slack", "stands_in_for", "delegates")
    show_one({**found, **{name: ", ".join(found[name]) for name in lists}}, as_json=as_json)
