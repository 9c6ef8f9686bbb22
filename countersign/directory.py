"""The directory file: people, agents, groups, Slack accounts; time zones, quiet hours, reminders, how often.

The database holds the one with the highest version that was loaded.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from countersign.foreseen_errors import CountersignError
from countersign.yaml_files import Fault, read_file
from policy.execution_windows import zones
from runtime.definitions.durations import LONGEST, parse_duration
from runtime.definitions.problems import Path as Place
from runtime.definitions.problems import show_path
from runtime.model.action import Tier
from runtime.model.delivery import Quiet, leaves_free_hour, minute_of_day

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

_SHORTEST = 60


def _zone(name: str) -> str:
    if name not in zones():
        raise ValueError("is no time zone of the IANA database, such as Europe/Zurich")
    return name


def _clock(text: str) -> str:
    try:
        minute_of_day(text)
    except ValueError as error:
        raise ValueError('is no time of the day, such as "18:30"') from error
    return text


def _pause(text: str) -> str:
    if not _SHORTEST <= parse_duration(text).total_seconds() <= LONGEST.total_seconds():
        raise ValueError("is shorter than a minute")
    return text


Zone = Annotated[str, AfterValidator(_zone)]
ClockTime = Annotated[str, AfterValidator(_clock)]
Pause = Annotated[str, AfterValidator(_pause)]


class _ClosedNotice(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, serialize_by_alias=True)


class QuietEntry(_ClosedNotice):
    """Quiet hours that begin on each of these days; `until` that is not later is on the next day. 24:00 ends a day."""

    days: Annotated[list[Day], Field(min_length=1, max_length=7)]
    since: ClockTime = Field("00:00", alias="from")
    until: ClockTime = "24:00"


def _room(entries: list[QuietEntry]) -> list[QuietEntry]:
    if not leaves_free_hour([Quiet.of(entry.model_dump()) for entry in entries]):
        raise ValueError("there is no hour of the week left in which anything can be said")
    return entries


QuietHours = Annotated[list[QuietEntry], Field(max_length=20), AfterValidator(_room)]


class RemindEntry(_ClosedNotice):
    """Reminders with growing pauses: the first after `first`, each pause `factor` times the one before."""

    first: Pause
    factor: Annotated[float, Field(ge=1, le=100)] = 1
    at_most: Annotated[int, Field(ge=1, le=20)]


class NoticesEntry(_ClosedNotice):
    """How the people of the tenant are told, where they say nothing else themselves.

    Requests of a tier that `passes` are told in quiet hours, too. `per_hour` is how many messages one person gets in an
    hour, before more are gathered into one. `remind` holds for what no verb or step says anything else of.
    """

    timezone: Zone = "UTC"
    quiet_hours: QuietHours = []
    passes: list[Annotated[Tier, Field(strict=False)]] = []
    per_hour: Annotated[int, Field(ge=1, le=1000)] | None = None
    remind: RemindEntry | None = None

    def of_person(self, timezone: str | None, quiet_hours: list[QuietEntry] | None) -> dict[str, Any]:
        """Return how a person is told, as it is stored; {} where nobody says anything of it."""
        quiet = self.quiet_hours if quiet_hours is None else quiet_hours
        hours = {
            "timezone": timezone or self.timezone,
            "quiet_hours": [entry.model_dump() for entry in quiet],
            "passes": [str(tier) for tier in self.passes],
        }
        often = {} if self.per_hour is None else {"per_hour": self.per_hour}
        return {**(hours if quiet else {}), **often}

    def reminders(self) -> dict[str, Any]:
        """Return when people are reminded, as it is stored: `first` in seconds; {} for never."""
        if self.remind is None:
            return {}
        first = round(parse_duration(self.remind.first).total_seconds())
        return {"first": first, "factor": self.remind.factor, "at_most": self.remind.at_most}


Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]*$", max_length=100)]
Title = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]+$", max_length=200)]
Address = Annotated[str, StringConstraints(pattern=r"^[^@\s]+@[^@\s]+$", max_length=254)]


class DirectoryError(CountersignError):
    """The directory file is not usable; the message names every fault and where it is."""


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Account(_Closed):
    """A Slack account."""

    team: Annotated[str, StringConstraints(pattern=r"^[TE][A-Z0-9]+$")]
    user: Annotated[str, StringConstraints(pattern=r"^[UW][A-Z0-9]+$")]


class SignInEntry(_Closed):
    """An account of an identity provider: `issuer` and `subject` (`iss`, `sub`) of its ID tokens (OpenID Connect)."""

    issuer: Annotated[str, StringConstraints(pattern=r"^https?://[^\s?#]+$", max_length=255)]
    subject: Annotated[str, StringConstraints(pattern=r"^[\x20-\x7e]+$", max_length=255)]


class PersonEntry(_Closed):
    """One person, who may have several accounts and still counts once.

    `triggers` are types of triggers that they may start runs with, by form. By the clock of `timezone` they are told
    nothing in `quiet_hours`; where they say neither, the tenant's hold, and [] are none. They sign in to the console
    by an account of `sign_in`, or by `email` where the settings trust the issuer for its domain. With `match_by_email`
    that address also tells which member of a Slack user group they are, where that account is not listed.
    """

    id: Name
    name: Title
    groups: list[Title] = []
    triggers: list[Title] = []
    email: Address | None = None
    slack: list[Account] = []
    sign_in: Annotated[list[SignInEntry], Field(max_length=20)] = []
    timezone: Zone | None = None
    quiet_hours: QuietHours | None = None


class GroupEntry(_Closed):
    """A group whose people are those of a Slack user group."""

    name: Title
    slack_usergroup: Annotated[str, StringConstraints(pattern=r"^S[A-Z0-9]{1,20}$")]


class AgentEntry(_Closed):
    """A program that calls the edge: what it may start, whose wishes it may bring, which verbs it may answer for.

    `signals` are types of triggers to whose runs it may send signals, `answers_for` people whose answers to tasks it
    may bring, `repairs` types of triggers: of runs of these it may bring people's repairs of steps. `cancels` and
    `undoes` are types of triggers: runs of these it may have stopped, or what they did taken back. With `previews`, for
    authors of policies, it may ask what a policy would answer.
    """

    id: Name
    name: Title
    triggers: list[Title] = []
    on_behalf: bool = False
    completes: list[Title] = []
    cancels: list[Title] = []
    undoes: list[Title] = []
    signals: list[Title] = []
    answers_for: list[Name] = []
    repairs: list[Title] = []
    previews: bool = False


class Directory(_Closed):
    """The whole file. Two people may be listed with one account: whoever clicks with it is refused.

    A file without `version` has version 0: it takes the place of others without one alone. `match_by_email` allows that
    members of user groups are told by an address that Slack says is confirmed.
    """

    version: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
    notices: NoticesEntry = NoticesEntry()
    groups: list[GroupEntry] = []
    match_by_email: bool = False
    people: list[PersonEntry]
    agents: list[AgentEntry] = []


def read_directory(path: Path) -> Directory:
    """Return the directory in a strict YAML file, or raise DirectoryError naming file, line and path of every fault."""
    return read_file(path, Directory, faults_of, DirectoryError)


def faults_of(directory: Directory) -> list[Fault]:
    """Return what is wrong among the entries of a directory, each of which is in order by itself."""
    return [*_repeated(directory), *_unknown(directory), *_of_user_groups(directory), *_addresses(directory)]


def _repeated(directory: Directory) -> Iterator[Fault]:
    """Find ids and accounts of providers that two entries share, and Slack accounts listed twice for one person."""
    entries = {("people", index): person.id for index, person in enumerate(directory.people)}
    entries |= {("agents", index): agent.id for index, agent in enumerate(directory.agents)}
    first: dict[str, Place] = {}
    for place, name in entries.items():
        if first.setdefault(name, place) != place:
            yield (*place, "id"), f"{name} is {show_path(first[name])} already"
    for index, person in enumerate(directory.people):
        for number, account in enumerate(person.slack):
            if account in person.slack[:number]:
                yield ("people", index, "slack", number), f"{account.team} {account.user} is listed twice"
    owners: dict[SignInEntry, int] = {}
    for index, person in enumerate(directory.people):
        for number, entry in enumerate(person.sign_in):
            if entry in owners:
                yield ("people", index, "sign_in", number), f"is that of people[{owners[entry]}] already"
            owners[entry] = index


def _unknown(directory: Directory) -> Iterator[Fault]:
    """Find people for whom an agent may answer, and whom the file does not have."""
    people = {person.id for person in directory.people}
    for index, agent in enumerate(directory.agents):
        for number, person in enumerate(agent.answers_for):
            if person not in people:
                yield ("agents", index, "answers_for", number), f"there is no person {person}"


def _of_user_groups(directory: Directory) -> Iterator[Fault]:
    """Find groups that are listed twice, and people who are said to be in one whose people Slack says."""
    names = [group.name for group in directory.groups]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield ("groups", index, "name"), f"{name} is groups[{names.index(name)}] already"
    for index, person in enumerate(directory.people):
        for number, group in enumerate(person.groups):
            if group in names:
                yield ("people", index, "groups", number), f"people of {group} come from its Slack user group alone"


def _addresses(directory: Directory) -> Iterator[Fault]:
    """Find addresses that two people have."""
    first: dict[str, int] = {}
    for index, person in enumerate(directory.people):
        if person.email is None:
            continue
        if first.setdefault(person.email.casefold(), index) != index:
            yield ("people", index, "email"), f"is that of people[{first[person.email.casefold()]}]"
