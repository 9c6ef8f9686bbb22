"""The group `people`: the directory of people and agents, delegations, and passkeys.

`import`, `add` and `remove` change a directory file, which is what is loaded and kept under versions: they list what
changes, and write it with `--yes`. `list` and `show` read the directory as it is loaded. `delegate` and `undelegate`
say who votes for whom; `passkeys` says who signs with which passkey. Delegations, invitations and revocations are on
record by a named person.
"""

import secrets
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from countersign.cli.acts import act
from countersign.cli.command import out, run, shared_settings, show_facts, show_json, show_one, show_rows
from countersign.cli.lists import keyed, show_whole, table, within
from countersign.cli.options import AsJson, Between, By, Page, Reason, began, between, ended, page, takes
from evidence.reading.words import counted

if TYPE_CHECKING:
    from countersign.directory import Directory, PersonEntry


_PERSON_COLUMNS = ("person", "name", "groups", "slack", "stands_in_for", "delegates")


@takes(page=page)
def list_(
    group: Annotated[str | None, typer.Option(metavar="GROUP", help="Only one group.")] = None,
    *,
    as_json: AsJson = False,
    page: Page,
) -> None:
    """List people: their groups and accounts, whom they vote for now, and who votes for them."""
    from countersign.cli.command import find
    from runtime.services.people import find_people

    found = find(find_people, group, None)
    show_whole("people", found, page, keyed("person"), table(*_PERSON_COLUMNS), as_json=as_json)


def show(
    person: Annotated[str, typer.Argument(metavar="PERSON", help="Their directory id.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Show a person and every delegation from and to them, past ones included."""
    from countersign.cli.command import find_one
    from runtime.services.people import find_person

    show_one(find_one(f"person {person}", find_person, person), as_json=as_json)


_CHANGE_COLUMNS = ("person", "what", "before", "after")

Into = Annotated[
    Path, typer.Option("--into", metavar="FILE", help="The directory file whose people change; everything else stays.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Write the file, as its next version.")]


def import_(
    people: Annotated[Path, typer.Argument(metavar="FILE", help="A table as .csv, or a list as .yaml.")],
    into: Into,
    *,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """List what an import changes in a directory file; with --yes write the file. Then load it."""
    from countersign.directory import read_directory
    from countersign.people_import import read_people

    old = read_directory(into)
    change_people(old, read_people(people, old), into, yes=yes, as_json=as_json)


def change_people(old: "Directory", new: "Directory", into: Path, *, yes: bool, as_json: bool) -> None:
    """List what changes from one directory to another, and write the file if that is said."""
    import yaml

    changes = list(changes_of(old, new))
    if changes and yes:
        said = new.model_dump(mode="json", exclude_defaults=True)
        _replace_file(into, yaml.safe_dump(said, allow_unicode=True, sort_keys=False))
    if as_json:
        show_json({"changes": changes, "version": new.version if changes and yes else old.version})
        return
    if not changes:
        out.print("nothing changes")
        return
    show_rows(changes, _CHANGE_COLUMNS)
    if yes:
        out.print(f"{into} is version {new.version} now: load it with `countersign people load {into} --as PERSON`")
    else:
        out.print(f"{counted(len(changes), 'change')}; nothing was written: add --yes")


def changes_of(old: "Directory", new: "Directory") -> Iterator[dict[str, str]]:
    """Give what becomes of each person: added, removed, or another name, other groups or accounts."""
    before, after = ({one.id: _person_texts(one) for one in each.people} for each in (old, new))
    for person in sorted({*before, *after}):
        was, will_be = before.get(person, {}), after.get(person, {})
        what = "added" if not was else "removed" if not will_be else ""
        for name in (name for name in {**was, **will_be} if was.get(name, "") != will_be.get(name, "")):
            said = f"{what}: {name}" if what else name
            yield {"person": person, "what": said, "before": was.get(name, ""), "after": will_be.get(name, "")}


def _person_texts(person: "PersonEntry") -> dict[str, str]:
    return {
        "name": person.name,
        "groups": "; ".join(sorted(person.groups)),
        "slack": "; ".join(sorted(f"{account.team}/{account.user}" for account in person.slack)),
        "triggers": "; ".join(sorted(person.triggers)),
        "timezone": person.timezone or "",
    }


def _replace_file(file: Path, text: str) -> None:
    """Put the whole text in the place of the file at once."""
    beside = file.with_name(f".{file.name}.new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(file)


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
    """Add a person to a directory file: list the change; with --yes write the file. Then load it."""
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
    """Remove a person from a directory file: list the change; with --yes write the file. Then load it."""
    from countersign.directory import read_directory
    from countersign.people_import import without_person

    old = read_directory(into)
    change_people(old, without_person(old, person), into, yes=yes, as_json=as_json)


def delegate(
    delegator: Annotated[str, typer.Argument(metavar="PERSON", help="Who is away.")],
    to: Annotated[str, typer.Option(metavar="PERSON", help="Who votes for them.")],
    until: Annotated[
        datetime,
        typer.Option(parser=ended, metavar="WHEN", help="To the end of this day, or until before this moment; in UTC."),
    ],
    by: By,
    reason: Reason,
    since: Annotated[
        datetime | None,
        typer.Option("--from", parser=began, metavar="WHEN", help="From this day or moment, in UTC; default: now."),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(metavar="GROUP", help="Only this group; may be repeated. Default: all their groups."),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Delegate: let somebody vote for a person who is away, in that person's groups, until a given time."""
    from runtime.clock import utc_now
    from runtime.model.commands import DelegatePayload

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
    """End a delegation now; votes that were given by it stay."""
    act(lambda desk: desk.undelegate(by, delegation, reason), f"{delegation} is over", as_json=as_json)


def sign_out(
    person: Annotated[str, typer.Argument(metavar="PERSON", help="Their directory id.")],
    by: By,
    reason: Reason,
    *,
    as_json: AsJson = False,
) -> None:
    """End all of a person's sessions in the console now. Who is to stay out needs another directory, too."""
    from countersign.console import sign_out as end_all

    ended = run(end_all(shared_settings("database_url"), person, by, reason))
    facts = {"person": person, "sessions": ended}
    show_facts(facts, f"{counted(ended, 'session')} of {person} ended", as_json=as_json)


passkeys = typer.Typer(no_args_is_help=True, help="Invite people to register passkeys; list and revoke passkeys.")

_PASSKEY_COLUMNS = (
    "credential_id",
    "person",
    "registered_at",
    "invited_by",
    "revoked_at",
    "revoked_by",
    "revoked_reason",
)


@passkeys.command()
def invite(
    person: Annotated[str, typer.Argument(metavar="PERSON", help="The person's directory id; not yours.")],
    by: By,
    reason: Reason,
    *,
    as_json: AsJson = False,
) -> None:
    """Print a link with which one person registers a passkey: give it only to them. It works once, within a day."""
    from countersign.cli.operate import perform
    from countersign.settings import required
    from runtime.services.signing_links import PATH, id_of

    settings, token = shared_settings("database_url"), secrets.token_urlsafe(32)
    link = f"{required(settings, 'public_url')}{PATH}{token}"
    facts = run(perform(settings, lambda desk: desk.invite_passkey(by, person, id_of(token), reason)))
    if as_json:
        show_json({**facts, "link": link})
        return
    if facts["status"] == "received":
        out.print(f"on record as {facts['notification_id']}: the link works once a worker has run")
    typer.echo(link)


@passkeys.command("list")
@takes(was_made=between, page=page)
def list_registered(
    person: Annotated[str | None, typer.Option(metavar="PERSON", help="Only one person's.")] = None,
    *,
    as_json: AsJson = False,
    was_made: Between,
    page: Page,
) -> None:
    """List passkeys, newest first, including revoked ones."""
    from countersign.cli.command import find
    from runtime.services.people import list_passkeys

    found = within(find(list_passkeys, person), was_made, "registered_at")
    show_whole("passkeys", found, page, keyed("credential_id"), table(*_PASSKEY_COLUMNS), as_json=as_json)


@passkeys.command(context_settings={"ignore_unknown_options": True})  # an id may begin with a dash
def revoke(
    passkey: Annotated[str, typer.Argument(metavar="PASSKEY", help="Its id, from `people passkeys list`.")],
    by: By,
    reason: Reason,
    *,
    as_json: AsJson = False,
) -> None:
    """Revoke a passkey; what it has signed stays valid."""
    act(lambda desk: desk.revoke_passkey(by, passkey, reason), f"{passkey} is revoked", as_json=as_json)


people = typer.Typer()
people.command("list")(list_)
people.command()(show)
people.command("import")(import_)
people.command()(add)
people.command()(remove)
people.command()(delegate)
people.command()(undelegate)
people.command("sign-out")(sign_out)
people.add_typer(passkeys, name="passkeys")


@people.command()
def load(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A directory as YAML, with a higher version than the one loaded.")
    ],
    by: By,
    *,
    as_json: AsJson = False,
) -> None:
    """Load a directory file into the database. You are in the directory that is loaded, or if none is, in the file."""
    from countersign.loaded_files import load_people

    directory = run(load_people(shared_settings("directory_database_url"), file, by))
    counts = {"people": len(directory.people), "agents": len(directory.agents)}
    text = f"{counted(counts['people'], 'person', 'people')}, {counted(counts['agents'], 'agent')}"
    facts = {"version": directory.version, **counts}
    show_facts(facts, f"version {directory.version}: {text}", as_json=as_json)
