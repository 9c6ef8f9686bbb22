"""Worlds in which people click: what is required, who has which accounts, who stands in for whom, and what they say.

Each is played by the rules of the runtime, click by click; what was counted is then told to policy and to the verifier.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from runtime.approvals.rules import Ballot, Cast, tally
from runtime.approvals.standing_in import way_to_vote
from runtime.model.actor import Person
from runtime.model.approvals.delegation import Delegation, StandIn
from runtime.model.approvals.requirement import Requirement
from runtime.model.approvals.votes import Refusal, Vote, VoteVerdict
from runtime.model.states import ApprovalStatus
from tests.unit.test_approvals import BALLOT, NOW

GROUPS = ("a", "b", "c", "d")
LEADS = "next"
REQUESTERS = ("ann", "hook")
"""Who asked, and who brought it in, as policy is told."""
RECORDER = "omar"
PEOPLE = ("p0", "p1", "p2", "p3", "p4", "p5", *REQUESTERS, RECORDER)
ENDS = NOW + timedelta(hours=8)
JOINED_AFTER = timedelta(hours=6)
CLICKS = 10
_SAID = ("approve",) * 12 + ("reject", "withdraw", "withdraw")
_REASONS = ("seen and checked",) * 9 + (" ",)


@dataclass(frozen=True)
class Click:
    """What a person says by one of their accounts, and when; `said` is a verdict, or that they withdraw theirs."""

    person: str
    account: tuple[str, str]
    said: str
    reason: str
    at: datetime


@dataclass(frozen=True)
class World:
    """`document` is what is required, as policy's answer has it; `accounts` are by person."""

    document: dict[str, Any]
    groups: dict[str, list[str]]
    accounts: dict[str, list[tuple[str, str]]]
    stand_ins: list[StandIn]
    clicks: list[Click]


@dataclass
class Played:
    """What the runtime counted, the status that followed, and when it did."""

    votes: list[Vote] = field(default_factory=list)
    status: ApprovalStatus = ApprovalStatus.REQUESTED
    at: datetime = NOW
    refused: int = 0


def worlds(count: int, seed: int) -> Iterator[World]:
    """Yield so many worlds, the same for a seed."""
    rng = random.Random(seed)  # noqa: S311 - votes, no secrets
    return (_world(rng) for _ in range(count))


def _world(rng: random.Random) -> World:
    groups = {person: rng.sample((*GROUPS, LEADS, "else"), rng.randint(0, 3)) for person in PEOPLE}
    accounts = {person: [("T1", f"U{person}")] + [("T2", f"V{person}")] * rng.randint(0, 1) for person in PEOPLE}
    asked = rng.sample(GROUPS, rng.randint(1, 3))
    document = {
        "quorum": rng.randint(1, 3),
        "groups": asked,
        "all_groups": rng.random() < 0.4,
        "exclude": sorted(REQUESTERS),
        "expires_in": "PT8H",
        "reason_required": rng.random() < 0.3,
        "escalate_to": [{"after": "PT6H", "to": [LEADS]}],
    }
    stand_ins = [_stand_in(rng, number, groups, accounts) for number in range(rng.randint(0, 8))]
    moments = sorted(NOW + timedelta(minutes=rng.randint(0, 500)) for _ in range(CLICKS))
    return World(document, groups, accounts, stand_ins, [_click(rng, accounts, at) for at in moments])


def _stand_in(
    rng: random.Random, number: int, groups: dict[str, list[str]], accounts: dict[str, list[tuple[str, str]]]
) -> StandIn:
    delegator, delegate = rng.sample(PEOPLE, 2)
    given = [group for group in groups[delegator] if rng.random() < 0.8]
    starts = NOW + timedelta(minutes=rng.randint(-60, 300))
    ends = starts + timedelta(minutes=rng.randint(1, 500))
    by = rng.choice(PEOPLE)
    delegation = Delegation(f"dlg_{number}", delegator, delegate, tuple(given), starts, ends, by, "on leave")
    return StandIn(delegation, Person(delegator, delegator, tuple(given)), accounts[delegator])


def _click(rng: random.Random, accounts: dict[str, list[tuple[str, str]]], at: datetime) -> Click:
    person = rng.choice(PEOPLE)
    return Click(person, rng.choice(accounts[person]), rng.choice(_SAID), rng.choice(_REASONS), at)


def play(world: World) -> Played:
    """Let everybody click in turn, as the runtime takes it: until it is decided, and not once its time is over."""
    played, requirement = Played(), Requirement.of(world.document)
    for click in world.clicks:
        played.at = click.at if played.status is ApprovalStatus.REQUESTED else played.at
        if click.said == "withdraw":
            _withdraw(played, click)
            continue
        vote = _vote(world, played, requirement, click)
        if vote is None:
            played.refused += 1
            continue
        played.votes.append(vote)
        cast = [Cast(one.verdict, one.person, one.groups, one.delegator) for one in played.votes]
        played.status = tally(requirement, cast)
    return played


def _withdraw(played: Played, click: Click) -> None:
    """Take back what the person has said: it counts no more."""
    if played.status is ApprovalStatus.REQUESTED and click.at < ENDS:
        played.votes = [vote for vote in played.votes if vote.person != click.person]


def _vote(world: World, played: Played, requirement: Requirement, click: Click) -> Vote | None:
    verdict = VoteVerdict(click.said)
    person = Person(click.person, click.person, tuple(world.groups[click.person]))
    current = [one for one in world.stand_ins if one.delegation.delegate == person.id]
    ballot = _ballot(world, played, requirement, click.at)
    way = way_to_vote(ballot, person, [click.account], current, verdict, click.reason, click.at)
    if isinstance(way, Refusal):
        return None
    groups = way.delegator.groups if way else person.groups
    by = way.document() if way else None
    team, account = click.account
    return Vote(person.id, person.id, groups, verdict, click.reason.strip(), team, account, click.at, delegation=by)


def _ballot(world: World, played: Played, requirement: Requirement, at: datetime) -> Ballot:
    return replace(
        BALLOT,
        status=played.status,
        requirement=requirement,
        requested_by=REQUESTERS[0],
        submitted_by=REQUESTERS[1],
        requester_accounts=frozenset(world.accounts[REQUESTERS[0]]),
        voted=frozenset(person for vote in played.votes for person in vote.people),
        voted_accounts=frozenset((vote.team, vote.account) for vote in played.votes),
        joined=(LEADS,) if at >= NOW + JOINED_AFTER else (),
        expires_at=ENDS,
    )
