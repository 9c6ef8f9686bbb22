"""Quorum: runtime, policy and verifier agree on what votes add up to, also after withdrawals.

What votes add up to is told by three: the runtime, the policy, and the verifier of evidence. They agree.

So they do where people vote for others.

Votes that are withdrawn, and given anew: what is left is enough for runtime, policy and verifier, or for none.
"""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from evidence.records import RequirementRecord, VoteRecord
from evidence.verify.contents import BrokenError
from evidence.verify.facts import Counted, until_withdrawn
from evidence.verify.quorum import check_quorum
from evidence.verify.vote_forms import VoteForm
from policy.bundle import build_bundle
from policy.vetting import run_opa
from receipts import chain
from receipts.canonical import digest
from receipts.chain import VOTE_COUNTED, VOTE_WITHDRAWN, Actor, Correlation, Leaf
from receipts.fields import timestamp
from receipts.passkey_records import PASSKEY
from runtime.approvals.request_rules import refuse_withdrawal
from runtime.approvals.rules import Ballot, Cast, refuse_vote, tally, way_to_vote
from runtime.model.delegation import Delegation, StandIn
from runtime.model.person import Person
from runtime.model.requirement import Requirement
from runtime.model.states import ApprovalStatus
from runtime.model.votes import Refusal, Vote, VoteVerdict
from tests.opa_server import SHIPPED, opa_program, question, vote
from tests.unit.test_approval_rules import BALLOT, NOW

GROUPS = ["a", "b", "c", "d"]
SOME = st.lists(st.sampled_from([*GROUPS, "next", "else"]), max_size=3, unique=True)
REQUIREMENTS = st.builds(
    lambda quorum, groups, all_groups: {
        "quorum": quorum,
        "groups": groups,
        "all_groups": all_groups,
        "exclude": [],
        "expires_in": "PT8H",
        "reason_required": False,
        "escalate_to": [{"after": "PT6H", "to": ["next"]}],
    },
    st.integers(1, 4),
    st.lists(st.sampled_from(GROUPS), min_size=1, max_size=4, unique=True),
    st.booleans(),
)
PEOPLE = ["p0", "p1", "p2", "p3", "p4"]
WHOSE = st.lists(st.sampled_from(PEOPLE), min_size=1, max_size=2, unique=True)
VOTES = st.lists(st.tuples(WHOSE, SOME), max_size=5, unique_by=lambda vote: vote[0][0])
"""Of each vote, who has approved and, where it was for somebody else, for whom; and the groups."""
Case = tuple[dict[str, Any], list[tuple[list[str], list[str]]]]

_EACH = """[granted |
    some [question, requirement] in input
    config := {"acme": {"requirements": {"high": requirement}}}
    fulfilled := [true | data.countersign.effect.approvals.fulfilled
        with input as question
        with data.countersign_config as config
        with data.countersign.effect.tiers.effective as "high"]
    granted := count(fulfilled) == 1
]"""

REQUESTERS = {"ann", "hook"}
"""Who asked, as `question` tells policy."""
EVERYBODY = [*PEOPLE, *sorted(REQUESTERS)]
TWO = st.lists(st.sampled_from(EVERYBODY), min_size=2, max_size=2, unique=True)
World = tuple[dict[str, Any], dict[str, list[str]], list[tuple[list[str], list[str], str, bool]], list[str]]
WORLDS = st.tuples(
    REQUIREMENTS,
    st.fixed_dictionaries(dict.fromkeys(EVERYBODY, SOME)),
    st.lists(st.tuples(TWO, SOME, st.sampled_from([*EVERYBODY, "omar"]), st.booleans()), max_size=6),
    st.lists(st.sampled_from(EVERYBODY), max_size=10),
)
"""What is required, the groups of each person, delegations (of whom to whom, the groups, by whom recorded, whether they
are over), and who clicks, in that order."""


def _ballot(requirement: dict[str, Any]) -> Ballot:
    """Return an open approval that those two requesters asked for, whom policy is told of."""
    return replace(
        BALLOT,
        requirement=Requirement.of({**requirement, "exclude": sorted(REQUESTERS)}),
        requested_by="ann",
        submitted_by="hook",
        joined=("next",),
    )


@pytest.fixture(scope="module")
def bundle() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bundle.tar.gz"
        file.write_bytes(build_bundle(SHIPPED).data)
        yield file


def leave(delegator: str = "", recorded_by: str = "omar") -> dict[str, Any]:
    """Return what a vote for somebody else has besides."""
    return {"delegation": {"delegator": delegator, "recorded_by": recorded_by}} if delegator else {}


def runtime_says(case: Case) -> bool:
    requirement, votes = case
    counted = [Cast(VoteVerdict.APPROVE, who, groups, next(iter(whom), None)) for (who, *whom), groups in votes]
    return tally(Requirement.of(requirement), counted) is ApprovalStatus.APPROVED


def verifier_says(case: Case) -> bool:
    requirement, votes = case
    counted = [
        VoteRecord(person=who, groups=groups, verdict="approve", **leave(*whom)) for (who, *whom), groups in votes
    ]
    return enough(requirement, [one.model_dump() for one in counted])


def enough(requirement: dict[str, Any], votes: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the verifier takes these votes for enough."""
    counted = [VoteRecord(**vote) for vote in votes]
    required = RequirementRecord(**requirement)
    asked = {*required.groups, *required.leads}
    try:
        check_quorum("", required, counted, {one.person: asked for one in counted})
    except BrokenError:
        return False
    return True


def asked_of_policy(case: Case) -> list[Any]:
    requirement, votes = case
    cast = [{**vote(who), "groups": groups, **leave(*whom)} for (who, *whom), groups in votes]
    return [question(cast or None).model_dump(mode="json"), _kept(requirement)]


def _kept(requirement: dict[str, Any]) -> dict[str, Any]:
    """Return what a tenant's configuration has of a requirement."""
    return {name: requirement[name] for name in ("quorum", "groups", "all_groups", "expires_in", "escalate_to")}


async def policy_says(bundle: Path, cases: list[Case]) -> list[bool]:
    return await fulfilled(bundle, [asked_of_policy(case) for case in cases])


async def fulfilled(bundle: Path, questions: list[list[Any]]) -> list[bool]:
    """Return what policy says of each question, where its requirement is the tenant's."""
    asked = json.dumps(questions)
    arguments = ("eval", "--bundle", str(bundle), "--stdin-input", "--strict-builtin-errors", "--format", "raw")
    return list(json.loads(await run_opa(opa_program(), *arguments, _EACH, stdin=asked)))


@given(cases=st.lists(st.tuples(REQUIREMENTS, VOTES), min_size=20, max_size=60))
@settings(max_examples=8, phases=[Phase.generate])  # a batch is not worth shrinking
async def test_runtime_policy_and_verifier_agree_on_what_is_enough(bundle: Path, cases: list[Case]) -> None:
    for case, said in zip(cases, await policy_says(bundle, cases), strict=True):
        assert (case, runtime_says(case), verifier_says(case)) == (case, said, said)


def _delegation(number: int, said: tuple[list[str], list[str], str, bool]) -> StandIn:
    """Return a delegation of those two people, for groups that the delegator is in, by whom, and whether it is over."""
    (delegator, delegate), groups, recorded_by, is_over = said
    ends = NOW if is_over else NOW + timedelta(days=1)
    delegation = Delegation(f"dlg_{number}", delegator, delegate, tuple(groups), NOW, ends, recorded_by, "on leave")
    return StandIn(delegation, Person(delegator, delegator, tuple(groups)), [("T1", delegator)])


def clicked(ballot: Ballot, world: World) -> list[Vote]:
    """Return the votes that the runtime counts when everybody clicks, one after the other, some of them twice."""
    _, groups, said, clicks = world
    stand_ins = [_delegation(number, one) for number, one in enumerate(said)]
    votes = list[Vote]()
    for place, who in enumerate(clicks):
        person = Person(who, who, tuple(groups[who]))
        seen = replace(
            ballot,
            voted=frozenset(one for vote in votes for one in vote.people),
            voted_accounts=frozenset((vote.team, vote.account) for vote in votes),
        )
        way = way_to_vote(seen, person, [("T1", who)], stand_ins, VoteVerdict.APPROVE, "seen", NOW)
        if not isinstance(way, Refusal):
            counts = way.delegator.groups if way else person.groups
            said_for = way.document() if way else None
            at = NOW + timedelta(seconds=place)
            votes.append(
                Vote(who, who, counts, VoteVerdict.APPROVE, "seen", "T1", who, at, delegation=said_for),
            )
    return votes


def told(votes: Sequence[Vote]) -> list[dict[str, Any]]:
    """Return votes as policy is told of them."""
    return [
        {**vote(one.person), "groups": list(one.groups), **leave(one.delegator or "", _recorded_by(one))}
        for one in votes
    ]


def _recorded_by(one: Vote) -> str:
    return str(one.delegation["recorded_by"]) if one.delegation else ""


@given(worlds=st.lists(WORLDS, min_size=20, max_size=60))
@settings(max_examples=8, phases=[Phase.generate])
async def test_what_is_counted_is_enough_for_all_three_or_for_none_and_nobody_counts_wrongly(
    bundle: Path, worlds: list[World]
) -> None:
    counted = [clicked(_ballot(world[0]), world) for world in worlds]
    asked = [
        [question(told(votes) or None).model_dump(mode="json"), _kept(world[0])]
        for world, votes in zip(worlds, counted, strict=True)
    ]
    for world, votes, said in zip(worlds, counted, await fulfilled(bundle, asked), strict=True):
        cast = [Cast(one.verdict, one.person, one.groups, one.delegator) for one in votes]
        by_runtime = tally(Requirement.of(world[0]), cast) is ApprovalStatus.APPROVED
        assert (world, by_runtime, enough(world[0], told(votes))) == (world, said, said)
        people = [person for one in votes for person in one.people]
        assert len(set(people)) == len(people), "nobody stands in two votes"
        assert not REQUESTERS & {*people, *map(_recorded_by, votes)}


@given(cases=st.lists(st.tuples(REQUIREMENTS, VOTES, st.lists(st.booleans(), min_size=5)), min_size=20, max_size=60))
@settings(max_examples=8, phases=[Phase.generate])
async def test_they_agree_on_what_is_enough_where_it_has_to_be_signed(
    bundle: Path, cases: list[tuple[dict[str, Any], list[tuple[list[str], list[str]]], list[bool]]]
) -> None:
    asked, answers = [], []
    for plain, votes, signs in cases:
        requirement = {**plain, "sign_with": PASSKEY}
        signed = [(vote, sign) for vote, sign in zip(votes, signs, strict=False)]
        cast = [
            Cast(VoteVerdict.APPROVE, who, groups, next(iter(whom), None), signed_with=PASSKEY if sign else "")
            for ((who, *whom), groups), sign in signed
        ]
        said = [
            {**vote(who), "groups": groups, **leave(*whom), **({"signed_with": PASSKEY} if sign else {})}
            for ((who, *whom), groups), sign in signed
        ]
        by_runtime = tally(Requirement.of(requirement), cast) is ApprovalStatus.APPROVED
        answers.append((by_runtime, enough(requirement, said)))
        kept = {**_kept(requirement), "sign_with": PASSKEY}
        asked.append([question(said or None).model_dump(mode="json"), kept])
    for case, answer, by_policy in zip(cases, answers, await fulfilled(bundle, asked), strict=True):
        assert (case, answer) == (case, (by_policy, by_policy))


VOTERS = ["p0", "p1", "p2", "p3"]
ACTS = st.lists(st.tuples(st.sampled_from(VOTERS), st.booleans()), max_size=14)
"""Who does something, and whether that is to withdraw."""
Course = tuple[dict[str, object], dict[str, list[str]], list[tuple[str, bool]]]
COURSES = st.tuples(REQUIREMENTS, st.fixed_dictionaries(dict.fromkeys(VOTERS, SOME)), ACTS)


def leaf(event: str, vote: Vote, seq: int) -> Leaf:
    """Return the leaf of a vote, or of its withdrawal."""
    data = {"approval_id": "apr_1", "person": vote.person, "digest": digest(vote.document())}
    correlation = Correlation(request_id="req", run_id="run_1", step=None, approval_id="apr_1", effect_id=None)
    return Leaf(
        run_id="run_1",
        seq=seq,
        prev_hash="0" * 64,
        hash="0" * 64,
        at=timestamp(vote.at),
        event=event,
        actor=Actor(id=vote.person, kind="person"),
        correlation=correlation,
        data=data,
    )


def played(ballot: Ballot, course: Course) -> tuple[list[Vote], list[Counted], list[Leaf]]:
    """Return the votes that count for the runtime, and all votes and leaves as the evidence has them."""
    _, groups, acts = course
    votes, said, leaves = list[Vote](), list[Counted](), list[Leaf]()
    for place, (who, withdraws) in enumerate(acts):
        person = Person(who, who, tuple(groups[who]))
        seen = replace(
            ballot,
            voted=frozenset(vote.person for vote in votes),
            voted_accounts=frozenset((vote.team, vote.account) for vote in votes),
        )
        if withdraws:
            if refuse_withdrawal(seen, person, seen.voted, "read again", NOW) is None:
                (mine,) = (vote for vote in votes if vote.person == who)
                votes.remove(mine)
                leaves.append(leaf(VOTE_WITHDRAWN, mine, place + 1))
        elif refuse_vote(seen, person, [("T1", who)], VoteVerdict.APPROVE, "seen", NOW) is None:
            at = NOW + timedelta(seconds=place // 3)  # some are given anew at the very moment
            vote = Vote(who, who, person.groups, VoteVerdict.APPROVE, "seen", "T1", who, at)
            votes.append(vote)
            leaves.append(leaf(VOTE_COUNTED, vote, place + 1))
            said.append(Counted(VoteForm.model_validate(vote.document()), leaves[-1]))
    return votes, said, leaves


def of_form(votes: Sequence[Counted]) -> list[dict[str, object]]:
    return [vote.record.model_dump() for vote in votes]


@given(courses=st.lists(COURSES, min_size=20, max_size=60))
@settings(max_examples=8, phases=[Phase.generate])
async def test_after_withdrawals_all_three_count_the_same_votes(bundle: Path, courses: list[Course]) -> None:
    outcomes = [played(_ballot(course[0]), course) for course in courses]
    asked = [
        [question(told(votes) or None).model_dump(mode="json"), _kept(course[0])]
        for course, (votes, _, _) in zip(courses, outcomes, strict=True)
    ]
    for course, (votes, said, leaves), by_policy in zip(courses, outcomes, await fulfilled(bundle, asked), strict=True):
        left = [vote for vote in until_withdrawn(said, leaves) if vote.until is None]
        assert [vote.record.person for vote in left] == [vote.person for vote in votes]
        assert len({vote.record.person for vote in left}) == len(left), "nobody counts twice"
        cast = [Cast(vote.verdict, vote.person, vote.groups) for vote in votes]
        by_runtime = tally(Requirement.of(course[0]), cast) is ApprovalStatus.APPROVED
        assert (course, by_runtime, enough(course[0], of_form(left))) == (course, by_policy, by_policy)


def test_what_each_leaf_says_is_read_once_however_many_votes_were_withdrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    built = list[object]()
    votes = [Vote(who, who, [], VoteVerdict.APPROVE, "seen", "T1", who, NOW) for who in map(str, range(40))]
    said = [Counted(VoteForm.model_validate(one.document()), leaf(VOTE_COUNTED, one, 1)) for one in votes]
    left = [leaf(VOTE_WITHDRAWN, one, 2) for one in reversed(votes)]

    def building(value: object) -> object:
        built.append(value)
        return value

    monkeypatch.setattr(chain, "built", building)
    assert {vote.until for vote in until_withdrawn(said, left)} == {2}
    assert len(built) <= len(said) + len(left)
