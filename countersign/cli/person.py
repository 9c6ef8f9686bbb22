"""`people add` and `people remove`: one person in a directory file, which is what is loaded and kept under versions."""

from typing import Annotated

import typer

from countersign.cli.importing import Into, Yes, change_people
from countersign.cli.tables import AsJson

_Several = list[str] | None


def add(
    person: Annotated[str, typer.Argument(metavar="PERSON", help="Their id in records: small letters and digits.")],
    name: Annotated[str, typer.Option(metavar="NAME", help="Their display name.")],
    into: Into,
    group: Annotated[_Several, typer.Option(metavar="GROUP", help="A group of theirs; may be repeated.")] = None,
    slack: Annotated[_Several, typer.Option(metavar="TEAM/USER", help="A Slack account; may be repeated.")] = None,
    timezone: Annotated[str | None, typer.Option(metavar="ZONE", help="IANA time zone; default: the tenant's.")] = None,
    *,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Add a person to a directory file; with --yes write it, to be loaded then."""
    from countersign.directory import read_directory
    from countersign.people_import import with_person

    accounts = [account.partition("/") for account in slack or ()]
    said = {
        "id": person,
        "name": name,
        "groups": group or [],
        "slack": [{"team": team, "user": user} for team, _, user in accounts],
        "timezone": timezone,
    }
    old = read_directory(into)
    change_people(old, with_person(old, said), into, yes=yes, as_json=as_json)


def remove(
    person: Annotated[str, typer.Argument(metavar="PERSON", help="Their directory id.")],
    into: Into,
    *,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Remove a person from a directory file; with --yes write it, to be loaded then."""
    from countersign.directory import read_directory
    from countersign.people_import import without_person

    old = read_directory(into)
    change_people(old, without_person(old, person), into, yes=yes, as_json=as_json)
