"""Twenty thousand clicks: runtime, policy and verifier say the same of each request, and nobody counts who may not.

People click in worlds made for it: what is required, who has which accounts, who stands in for whom, what they say.
Each is played by the rules of the runtime, click by click; what was counted is then told to policy and to the verifier.
"""

import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from evidence.records import RequirementRecord, VoteRecord
from evidence.verify.contents import BrokenError
from evidence.verify.quorum import check_quorum
from policy.bundle import build_bundle
from policy.vetting import run_opa
from receipts.fields import timestamp
from receipts.passkey_records import PASSKEY
from runtime.approvals.request_rules import refuse_withdrawal
from runtime.approvals.rules import Ballot, cast_of, refuse_break_glass, refuse_vote, tally, way_to_vote
from runtime.model.delegation import Account, Delegation, StandIn
from runtime.model.person import Person
from runtime.model.requirement import Requirement
from runtime.model.states import ApprovalStatus
from runtime.model.votes import Refusal, Vote, VoteVerdict
from tests.opa_server import SHIPPED, opa_program, question
from tests.unit.test_approval_rules import BALLOT, NOW

GROUPS = ("a", "b", "c", "d")
LEADS, COMMANDERS = "next", "commanders"
REQUESTERS = ("ann", "hook")
"""Who asked, and who brought it in, as policy is told."""
RECORDER = "omar"
PEOPLE = ("p0", "p1", "p2", "p3", "p4", "p5", *REQUESTERS, RECORDER)
LASTS, JOINED_AFTER = timedelta(hours=8), timedelta(hours=6)
CLICKS = 10
GLASS: dict[str, Any] = {
    "groups": [COMMANDERS, "a"],
    "at_most": 2,
    "within": "P1D",
    "tell": [],
    "review_by": ["d"],
    "review_within": "P3D",
}
_SAID = ("approve",) * 11 + ("reject", "changes", "withdraw", "withdraw", "edit", "glass", "glass")
_REASONS = ("seen and checked",) * 9 + (" ",)


@dataclass(frozen=True)
class Click:
    """What a person says by one of their accounts, and when; `said` is a verdict, or what they do beside that."""

    person: str
    account: Account
    said: str
    reason: str
    signed: bool
    at: datetime


@dataclass(frozen=True)
class World:
    """`document` is what is required, as policy's answer has it; `accounts` are by person."""

    document: dict[str, Any]
    groups: dict[str, list[str]]
    accounts: dict[str, list[Account]]
    stand_ins: list[StandIn]
    clicks: list[Click]


@dataclass
class Played:
    """What the runtime counted, the status that followed, and when it did; since the last edit, where there was one."""

    votes: list[Vote] = field(default_factory=list)
    status: ApprovalStatus = ApprovalStatus.REQUESTED
    asked_at: datetime = NOW
    at: datetime = NOW
    editors: list[str] = field(default_factory=list)
    broken: Counter[str] = field(default_factory=Counter)
    did: Counter[str] = field(default_factory=Counter)

    @property
    def ends(self) -> datetime:
        """Return when what was asked for expires."""
        return self.asked_at + LASTS


def worlds(count: int, seed: int) -> Iterator[World]:
    """Yield so many worlds, the same for a seed."""
    rng = random.Random(seed)  # noqa: S311 - votes, no secrets
    return (_world(rng) for _ in range(count))


def _world(rng: random.Random) -> World:
    groups = {person: rng.sample((*GROUPS, LEADS, COMMANDERS, "else"), rng.randint(0, 3)) for person in PEOPLE}
    accounts = {person: [("T1", f"U{person}")] + [("T2", f"V{person}")] * rng.randint(0, 1) for person in PEOPLE}
    document = {
        "quorum": rng.randint(1, 3),
        "groups": rng.sample(GROUPS, rng.randint(1, 3)),
        "all_groups": rng.random() < 0.4,
        "expires_in": "PT8H",
        "reason_required": rng.random() < 0.3,
        "escalate_to": [{"after": "PT6H", "to": [LEADS]}],
        **({"break_glass": GLASS} if rng.random() < 0.4 else {}),
        **({"sign_with": PASSKEY} if rng.random() < 0.2 else {}),
        **({"editors_may_sign": True} if rng.random() < 0.3 else {}),
    }
    stand_ins = [_stand_in(rng, number, groups, accounts) for number in range(rng.randint(0, 8))]
    moments = sorted(NOW + timedelta(minutes=rng.randint(0, 500)) for _ in range(CLICKS))
    return World(document, groups, accounts, stand_ins, [_click(rng, accounts, at) for at in moments])


def _stand_in(
    rng: random.Random, number: int, groups: dict[str, list[str]], accounts: dict[str, list[Account]]
) -> StandIn:
    delegator, delegate = rng.sample(PEOPLE, 2)
    given = [group for group in groups[delegator] if rng.random() < 0.8]
    starts = NOW + timedelta(minutes=rng.randint(-60, 300))
    ends = starts + timedelta(minutes=rng.randint(1, 500))
    by = rng.choice(PEOPLE)
    delegation = Delegation(f"dlg_{number}", delegator, delegate, tuple(given), starts, ends, by, "on leave")
    return StandIn(delegation, Person(delegator, delegator, tuple(given)), accounts[delegator])


def _click(rng: random.Random, accounts: dict[str, list[Account]], at: datetime) -> Click:
    person, signed = rng.choice(PEOPLE), rng.random() < 0.8
    return Click(person, rng.choice(accounts[person]), rng.choice(_SAID), rng.choice(_REASONS), signed, at)


def play(world: World) -> Played:
    """Let everybody click in turn, as the runtime takes it: until it is decided, and not once its time is over."""
    played = Played()
    for click in world.clicks:
        if played.status is ApprovalStatus.REQUESTED:
            played.at = click.at
        done = _act(world, played, click)
        played.did[click.said if done else "refused"] += 1
        if played.status is ApprovalStatus.REQUESTED:
            played.status = tally(requirement_of(world, played), [cast_of(vote) for vote in played.votes])
    return played


def requirement_of(world: World, played: Played) -> Requirement:
    """Return what is required now: who edited is excluded, unless policy says that they may sign."""
    editors = [] if world.document.get("editors_may_sign") else played.editors
    return Requirement.of({**world.document, "exclude": sorted({*REQUESTERS, *editors})})


def _act(world: World, played: Played, click: Click) -> bool:
    match click.said:
        case "withdraw":
            return _withdraw(world, played, click)
        case "edit":
            return _edit(world, played, click)
        case "glass":
            vote = _break(world, played, click)
        case _:
            vote = _vote(world, played, click)
    played.votes += [vote] if vote else []
    return vote is not None


def _withdraw(world: World, played: Played, click: Click) -> bool:
    voters = frozenset(vote.person for vote in played.votes)
    person = _person(world, click)
    if refuse_withdrawal(_ballot(world, played, click.at), person, voters, click.reason, click.at):
        return False
    played.votes = [vote for vote in played.votes if vote.person != click.person]
    return True


def _edit(world: World, played: Played, click: Click) -> bool:
    """Void what was asked, and ask anew: whoever might have said no to it by themselves may."""
    person, ballot = _person(world, click), _ballot(world, played, click.at)
    if refuse_vote(ballot, person, [click.account], VoteVerdict.REJECT, click.reason, click.at):
        return False
    played.votes, played.asked_at = [], click.at
    played.editors += [] if click.person in played.editors else [click.person]
    return True


def _break(world: World, played: Played, click: Click) -> Vote | None:
    person, used = _person(world, click), played.broken[click.person]
    refusal = refuse_break_glass(
        _ballot(world, played, click.at), person, [click.account], click.reason, used, click.at
    )
    if refusal or not _is_signed_as_asked(world, click):
        return None
    played.broken[click.person] += 1
    return replace(_made(world, click, None), break_glass={"ticket": "INC-7", "nth": used + 1})


def _vote(world: World, played: Played, click: Click) -> Vote | None:
    verdict = VoteVerdict(click.said)
    current = [one for one in world.stand_ins if one.delegation.delegate == click.person]
    ballot, person = _ballot(world, played, click.at), _person(world, click)
    way = way_to_vote(ballot, person, [click.account], current, verdict, click.reason, click.at)
    is_unsigned = verdict is VoteVerdict.APPROVE and not _is_signed_as_asked(world, click)
    return None if isinstance(way, Refusal) or is_unsigned else replace(_made(world, click, way), verdict=verdict)


def _is_signed_as_asked(world: World, click: Click) -> bool:
    return click.signed or "sign_with" not in world.document


def _made(world: World, click: Click, way: StandIn | None) -> Vote:
    team, account = click.account
    return Vote(
        person=click.person,
        person_name=click.person,
        groups=way.delegator.groups if way else world.groups[click.person],
        verdict=VoteVerdict.APPROVE,
        reason=click.reason.strip(),
        team=team,
        account=account,
        at=click.at,
        delegation=way.document() if way else None,
        passkey={"nonce": "n"} if click.signed and "sign_with" in world.document else None,
    )


def _person(world: World, click: Click) -> Person:
    return Person(click.person, click.person, tuple(world.groups[click.person]))


def _ballot(world: World, played: Played, at: datetime) -> Ballot:
    return replace(
        BALLOT,
        status=played.status,
        requirement=requirement_of(world, played),
        requested_by=REQUESTERS[0],
        submitted_by=REQUESTERS[1],
        requester_accounts=frozenset(world.accounts[REQUESTERS[0]]),
        voted=frozenset(person for vote in played.votes for person in vote.people),
        voted_accounts=frozenset((vote.team, vote.account) for vote in played.votes),
        joined=(LEADS,) if at >= played.asked_at + JOINED_AFTER else (),
        expires_at=played.ends,
    )


VOTES = 20_000
SEED = 20_260_105
PORTION = 500

_EACH = """[said |
    some [question, requirement] in input
    config := {"acme": {"requirements": {"high": requirement}}}
    granted := count([true |
        data.countersign.effect.approvals.unopposed
            with input as question with data.countersign_config as config
            with data.countersign.effect.tiers.effective as "high"
        data.countersign.effect.approvals.fulfilled
            with input as question with data.countersign_config as config
            with data.countersign.effect.tiers.effective as "high"])
    denied := count([code | some reason in data.countersign.effect.approvals.deny
        with input as question with data.countersign_config as config
        with data.countersign.effect.tiers.effective as "high"
        code := reason.code])
    said := [granted, denied]
]"""


@pytest.fixture(scope="module")
def bundle() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bundle.tar.gz"
        file.write_bytes(build_bundle(SHIPPED).data)
        yield file


def told(vote: Vote) -> dict[str, Any]:
    """Return a vote as policy and the verifier are told of it."""
    names = ("delegator", "recorded_by")
    by = {"delegation": {name: vote.delegation[name] for name in names}} if vote.delegation else {}
    glass = {"break_glass": vote.break_glass} if vote.break_glass else {}
    signed = {"signed_with": "passkey"} if vote.passkey else {}
    said = {"person": vote.person, "groups": list(vote.groups), "verdict": str(vote.verdict), "at": timestamp(vote.at)}
    return {**said, **by, **glass, **signed}


def asked(world: World, played: Played) -> list[Any]:
    votes = [told(vote) for vote in played.votes]
    about = question(votes or None).model_dump(mode="json")
    times = {"requested_at": timestamp(played.asked_at), "expires_at": timestamp(played.ends)}
    edited = {"edited": {"by": played.editors, "requested": {"lei": "another"}}} if played.editors else {}
    at = {"time": timestamp(played.at), "approval": times if votes else None, **edited}
    return [{**about, **at}, {name: value for name, value in world.document.items() if name != "reason_required"}]


async def policy_says(bundle: Path, questions: list[list[Any]]) -> list[list[int]]:
    arguments = ("eval", "--bundle", str(bundle), "--stdin-input", "--strict-builtin-errors", "--format", "raw")
    return list(json.loads(await run_opa(opa_program(), *arguments, _EACH, stdin=json.dumps(questions))))


def verifier_grants(world: World, played: Played) -> bool:
    votes = [VoteRecord(**told(vote)) for vote in played.votes]
    required = RequirementRecord(**requirement_of(world, played).document())
    try:
        check_quorum("", required, votes, {vote.person: {*required.groups, LEADS} for vote in votes})
    except BrokenError:
        return False
    return all(vote.verdict == "approve" for vote in votes)


def wrongful(world: World, played: Played) -> Iterator[str]:
    """Yield what must never be counted, told without the rules of the runtime."""
    people = [person for vote in played.votes for person in vote.people]
    accounts = [(vote.team, vote.account) for vote in played.votes]
    if len(set(people)) < len(people) or len(set(accounts)) < len(accounts):
        yield "somebody counts twice"
    editors = [] if world.document.get("editors_may_sign") else played.editors
    for vote in played.votes:
        by = {str(vote.delegation["recorded_by"])} if vote.delegation else set()
        if (set(vote.people) | by) & {*REQUESTERS, *editors}:
            yield f"{vote.person} must not count"
        yield from (f"{vote.person} {why}" for why in _wrong_with(world, played, vote))


def _wrong_with(world: World, played: Played, vote: Vote) -> Iterator[str]:
    asked_for = GLASS["groups"] if vote.break_glass else [*world.document["groups"], LEADS]
    if not set(vote.groups).intersection(asked_for):
        yield "was not asked"
    if not played.asked_at <= vote.at < played.ends:
        yield "was early, or late"
    if (vote.verdict != "approve" or vote.break_glass) and len(vote.reason) < len("abc"):
        yield "gave no reason"
    if vote.delegation and not vote.delegation["starts_at"] <= timestamp(vote.at) < vote.delegation["ends_at"]:
        yield "stood in outside the time of that"
    if "sign_with" in world.document and vote.verdict == "approve" and not vote.passkey:
        yield "did not sign"
    if vote.break_glass and (vote.break_glass["nth"] > GLASS["at_most"] or "break_glass" not in world.document):
        yield "used break-glass that they might not"


@pytest.mark.parametrize("portion", range(VOTES // CLICKS // PORTION))
async def test_of_twenty_thousand_clicks_all_three_say_the_same_and_none_counts_wrongfully(
    bundle: Path, portion: int
) -> None:
    made = list(worlds(PORTION, SEED + portion))
    played = [play(world) for world in made]
    said = await policy_says(bundle, [asked(*pair) for pair in zip(made, played, strict=True)])
    for world, found, (granted, denied) in zip(made, played, said, strict=True):
        approved, rejected = found.status is ApprovalStatus.APPROVED, found.status is ApprovalStatus.REJECTED
        by_policy = (granted > 0, denied > 0)
        assert (world, (approved, rejected), verifier_grants(world, found)) == (world, by_policy, approved)
        assert [world, *wrongful(world, found)] == [world]
    assert len({found.status for found in played}) == 3
    did = sum((found.did for found in played), Counter[str]())
    assert all(did[act] for act in ("approve", "reject", "changes", "withdraw", "edit", "glass")), did
