"""Identity: from a Slack user to exactly one person of the directory, or a refusal.

What is not known counts against the click.

Clicks of people whom Slack could not confirm in time are recorded. They are counted or refused as soon as Slack
answers: after a rate limit, an outage, or a restart of ours.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from bot.client import FAILURES, slack_logger
from bot.listeners.installation import Installation, InstallationWatch
from bot.listeners.private_answers import PrivateAnswers
from bot.origin import asked_from
from bot.payloads import User
from bot.profiles import Profile
from runtime.model.person import Person, SlackAccount
from runtime.model.votes import Refusal, RefusalCode
from runtime.services.approvals import ApprovalService
from runtime.services.refusal_words import refusal_words
from runtime.services.slack_people import Unconfirmed

# Leaves room to record the refusal before Slack's three seconds are over.
_LOOKUP_SECONDS = 1.0

# What Slack must deny of a full member.
_MUST_BE_FALSE = ("deleted", "is_bot", "is_restricted", "is_ultra_restricted")


T = TypeVar("T")


@dataclass(frozen=True)
class Identity:
    """Who acted: the account always, and either the one person or why not.

    `claimed` is the one person behind an account that Slack has not confirmed yet; they may do nothing until it has.
    """

    account: SlackAccount
    person: Person | None
    refusal: Refusal | None
    claimed: Person | None = None


def is_elsewhere(user: User, installation: Installation) -> bool:
    """Say whether the payload alone shows that the user is of another team; on Enterprise Grid it never does."""
    return user.team_id is None or (installation.enterprise is None and user.team_id != installation.team)


def team_refusal(user: User, installation: Installation, profile: Mapping[str, Any]) -> Refusal | None:
    """Refuse whoever is of another team; on Enterprise Grid, of another organization.

    Payload and profile must agree: the payload names a team of the user's, the installation's, or the organization.
    """
    organization = installation.enterprise
    is_colleague = organization is not None and _enterprise(profile) == organization
    is_member = profile.get("team_id") == installation.team and not profile.get("is_stranger")
    agrees = user.team_id is not None and user.team_id in (installation.team, organization, *_teams(profile))
    return None if (is_member or is_colleague) and agrees else Refusal(RefusalCode.OTHER_TEAM)


def _enterprise(profile: Mapping[str, Any]) -> str:
    """Return the organization that Slack says the user is of, or ""."""
    user = profile.get("enterprise_user")
    return str(user.get("enterprise_id", "")) if isinstance(user, dict) else ""


def _teams(profile: Mapping[str, Any]) -> list[str]:
    """Return the teams that Slack says the user is of, the home team first."""
    user = profile.get("enterprise_user")
    teams = user.get("teams") if isinstance(user, dict) else None
    home = profile.get("team_id")
    return [team for team in (home, *(teams if isinstance(teams, list) else ())) if isinstance(team, str)]


def profile_refusal(profile: Mapping[str, Any]) -> Refusal | None:
    """Refuse by what users.info says: only a certain full member passes, and nobody is called what they are not."""
    if profile.get("deleted") is True:
        return Refusal(RefusalCode.DEACTIVATED)
    if profile.get("is_bot") is True or profile.get("is_workflow_bot") or profile.get("id") == "USLACKBOT":
        return Refusal(RefusalCode.BOT)
    if profile.get("is_restricted") is True or profile.get("is_ultra_restricted") is True:
        return Refusal(RefusalCode.GUEST)
    clear = all(profile.get(flag) is False for flag in _MUST_BE_FALSE)
    return None if clear else Refusal(RefusalCode.UNCLEAR)


def only_person(people: Sequence[Person]) -> Person | Refusal:
    """Return the one person behind an account."""
    if len(people) == 1:
        return people[0]
    return Refusal(RefusalCode.AMBIGUOUS if people else RefusalCode.NOT_IN_DIRECTORY)


def _behind(teams: Iterable[str], known: Mapping[str, Sequence[Person]]) -> tuple[str | None, list[Person]]:
    """Return the first of the teams under which the directory knows anybody, with all whom it knows under any."""
    found: dict[str, Person] = {}
    first = None
    for team in teams:
        people = known.get(team, ())
        first = first or (team if people else None)
        found |= {person.id: person for person in people}
    return first, list(found.values())


async def identify(user: User, where: InstallationWatch, desk: ApprovalService) -> Identity:
    """Find the person behind a payload's user: the directory first, then Slack's record of them.

    Slack is asked about users of the directory alone, so unknown people cannot use up what Slack allows us. On
    Enterprise Grid a user has one id in all workspaces of the organization, so the directory may name any of them.
    """
    account = SlackAccount(user.team_id or "", user.id)
    until = asyncio.get_running_loop().time() + _LOOKUP_SECONDS
    installation = await _in_time(where.known(), until)
    if installation is not None and is_elsewhere(user, installation):
        return Identity(account, None, Refusal(RefusalCode.OTHER_TEAM))
    known = await desk.people(user.id)
    if not known:
        return Identity(account, None, Refusal(RefusalCode.NOT_IN_DIRECTORY))
    profile = await _in_time(where.profiles.of(installation.team, user.id), until) if installation is not None else None
    if installation is None or profile is None:
        where.profiles.missed.set()
        return _unconfirmed(account, installation, known)
    teams = _vet(user, installation, profile)
    if isinstance(teams, Refusal):
        return Identity(account, None, teams)
    team, people = _behind(teams, known)
    one = only_person(people)
    account = SlackAccount(team, user.id) if team else account
    return Identity(account, None, one) if isinstance(one, Refusal) else Identity(account, one, None)


async def _in_time(asked: Awaitable[T], until: float) -> T | None:
    """Return what Slack says, None where it says nothing in time."""
    try:
        async with asyncio.timeout_at(until):
            return await asked
    except FAILURES:
        return None


def _vet(user: User, installation: Installation, profile: Profile) -> Sequence[str] | Refusal:
    """Return the teams under which the directory may know the user, their own first, or why they cannot act."""
    if profile.get("id") != user.id:
        return Refusal(RefusalCode.LOOKUP_FAILED)
    teams = (*_teams(profile)[:1], installation.team, installation.enterprise)
    found = [team for team in dict.fromkeys(teams) if team]
    return team_refusal(user, installation, profile) or profile_refusal(profile) or found


def _unconfirmed(
    account: SlackAccount, installation: Installation | None, known: Mapping[str, Sequence[Person]]
) -> Identity:
    """Return whom the directory knows by an account that Slack has not confirmed."""
    teams = (account.team, installation.team if installation else "", (installation and installation.enterprise) or "")
    _, people = _behind([team for team in dict.fromkeys(teams) if team], known)
    one = only_person(people)
    claimed = one if isinstance(one, Person) else None
    return Identity(account, None, Refusal(RefusalCode.LOOKUP_FAILED), claimed)


LOOK = 15.0
"""Seconds until it is looked whether another process has left an unconfirmed click."""
LINGER = 5.0
"""Seconds for which clicks are looked for after somebody could not be confirmed."""
SOON = 1.0
"""Seconds until Slack is asked again about somebody whom it has not confirmed."""


class UnconfirmedClicks:
    """Looks after unconfirmed clicks until each is counted or refused."""

    def __init__(self, desk: ApprovalService, installation: InstallationWatch, answers: PrivateAnswers) -> None:
        self._desk = desk
        self._installation = installation
        self._answers = answers
        self._linger_until = 0.0

    async def run(self) -> None:
        """Confirm what can be, until canceled. A database that is away is asked again."""
        while True:
            try:
                is_done = await self.confirm_all()
            except Exception as error:  # noqa: BLE001 - the clicks are recorded, and are looked at again
                slack_logger().warning("unconfirmed clicks were not looked at: %s", type(error).__name__)
                is_done = True
            await self._rest(LOOK if is_done else SOON)

    async def _rest(self, seconds: float) -> None:
        """Wait that long; not so long after somebody was not confirmed, whose click may be still to be recorded."""
        profiles = self._installation.profiles
        if profiles.missed.is_set():
            profiles.missed.clear()
            self._linger_until = asyncio.get_running_loop().time() + LINGER
        if seconds == SOON or asyncio.get_running_loop().time() < self._linger_until:
            await asyncio.sleep(SOON)
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await profiles.missed.wait()

    async def confirm_all(self) -> bool:
        """Confirm whom Slack confirms now; return whether nobody is left."""
        found = await self._desk.accounts.unconfirmed()
        return all(await asyncio.gather(*map(self._confirm, found)))

    async def _confirm(self, one: Unconfirmed) -> bool:
        """Count or refuse a click; return whether that could be said."""
        who = await self._who(one.account)
        if who is None or who.claimed is not None:
            return False
        person = who.person.id if who.person else None
        confirmed = await self._desk.accounts.confirm(one.notification_id, who.account, person, who.refusal)
        if confirmed is not None:
            outcome = await self._desk.apply(confirmed)
            if outcome.refusal:
                words = refusal_words(outcome.refusal)
                await self._answers.tell(one.account.user, None, words, occasion=one.notification_id)
        return True

    async def _who(self, account: SlackAccount) -> Identity | None:
        """Return who it is in the workspace that knows them, None where the app is installed nowhere."""
        user, found = User(id=account.user, team_id=account.team or None), None
        for _, origin in await self._installation.everywhere():
            with asked_from(origin):
                found = await identify(user, self._installation, self._desk)
            if found.person or found.claimed:
                break
        return found
