"""Who may vote, and what votes add up to."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.approvals.rules import Ballot, Cast, refuse_vote, shortfall, tally
from runtime.model.person import Person
from runtime.model.requirement import NextInLine, Requirement
from runtime.model.states import ApprovalStatus
from runtime.model.votes import VoteVerdict

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
TWO = Requirement(
    quorum=2,
    groups=("compliance",),
    all_groups=False,
    exclude=(),
    reason_required=False,
    escalate_to=(NextInLine("PT6H", ("seniors",)),),
    expires_in="PT8H",
)
BALLOT = Ballot(
    status=ApprovalStatus.REQUESTED,
    requirement=TWO,
    requested_by="rita",
    submitted_by="portal",
    requester_accounts=frozenset({("T1", "URITA")}),
    voted=frozenset(),
    voted_accounts=frozenset(),
    joined=(),
    expires_at=NOW + timedelta(hours=1),
)
ANN = Person("ann", "Ann", ("compliance",))
YES, NO = VoteVerdict.APPROVE, VoteVerdict.REJECT


def _code(
    ballot: Ballot, person: Person = ANN, verdict: VoteVerdict = YES, reason: str | None = "checked"
) -> str | None:
    refusal = refuse_vote(ballot, person, [("T1", f"U{person.id.upper()}")], verdict, reason, NOW)
    return refusal.code if refusal else None


def test_a_member_of_the_group_may_vote() -> None:
    assert _code(BALLOT) is None


@pytest.mark.parametrize(
    ("ballot", "person", "code"),
    [
        (replace(BALLOT, status=ApprovalStatus.CANCELED), ANN, "vote.closed"),
        (replace(BALLOT, expires_at=NOW), ANN, "vote.expired"),
        (replace(BALLOT, requested_by="ann"), ANN, "vote.requester"),
        (replace(BALLOT, submitted_by="ann"), ANN, "vote.requester"),
        (replace(BALLOT, requirement=replace(TWO, exclude=("ann",))), ANN, "vote.excluded"),
        (BALLOT, Person("sue", "Sue", ("seniors",)), "vote.not_in_group"),
        (BALLOT, Person("sue", "Sue", ()), "vote.not_in_group"),
        (replace(BALLOT, voted=frozenset({"ann"})), ANN, "vote.repeated"),
        (replace(BALLOT, requester_accounts=frozenset({("T1", "UANN")})), ANN, "vote.requester"),
        (replace(BALLOT, voted_accounts=frozenset({("T1", "UANN")})), ANN, "vote.repeated"),
    ],
)
def test_a_vote_that_does_not_count_is_refused_with_its_reason(ballot: Ballot, person: Person, code: str) -> None:
    assert _code(ballot, person) == code


def test_those_next_in_line_may_vote_once_time_runs_short() -> None:
    assert _code(BALLOT, Person("sue", "Sue", ("seniors",))) == "vote.not_in_group"
    assert _code(replace(BALLOT, joined=("seniors",)), Person("sue", "Sue", ("seniors",))) is None


def test_of_those_next_in_line_only_who_was_asked_by_then_may_vote() -> None:
    requirement = replace(BALLOT.requirement, escalate_to=(NextInLine("PT6H", ("seniors", "board")),))
    ballot = replace(BALLOT, requirement=requirement, joined=("seniors",))
    assert _code(ballot, Person("bo", "Bo", ("board",))) == "vote.not_in_group"
    assert _code(replace(ballot, joined=("seniors", "board")), Person("bo", "Bo", ("board",))) is None


@pytest.mark.parametrize("reason", ["", "  ", "no"])
def test_a_rejection_needs_a_reason(reason: str) -> None:
    assert _code(BALLOT, ANN, NO, reason) == "vote.reason_missing"
    assert _code(BALLOT, ANN, YES, reason) is None
    strict = replace(BALLOT, requirement=replace(TWO, reason_required=True))
    assert _code(strict, ANN, YES, reason) == "vote.reason_missing"


def test_a_reason_of_three_letters_is_one() -> None:
    assert _code(BALLOT, ANN, NO, "yes") is None


def test_a_request_is_open_until_it_expires_or_is_ended() -> None:
    assert BALLOT.is_open(BALLOT.expires_at - timedelta(seconds=1))
    assert not BALLOT.is_open(BALLOT.expires_at)
    assert not replace(BALLOT, status=ApprovalStatus.CANCELED).is_open(NOW)


VOTES = st.lists(st.tuples(st.sampled_from(["a", "b", "c", "d"]), st.sampled_from([YES, NO])), max_size=6)


@given(VOTES, st.integers(1, 3))
def test_approved_means_enough_distinct_people_and_nobody_against(
    votes: list[tuple[str, VoteVerdict]], quorum: int
) -> None:
    status = tally(replace(TWO, quorum=quorum), [Cast(verdict, person, ["compliance"]) for person, verdict in votes])
    against = any(verdict is NO for _, verdict in votes)
    enough = len({person for person, _ in votes}) >= quorum
    assert (status is ApprovalStatus.REJECTED) == against
    assert (status is ApprovalStatus.APPROVED) == (enough and not against)


def test_an_approver_who_has_left_the_groups_counts_no_more() -> None:
    assert tally(TWO, [Cast(YES, "a", ["compliance"]), Cast(YES, "b", [])]) is ApprovalStatus.REQUESTED


@pytest.mark.parametrize(("signed", "status"), [("passkey", ApprovalStatus.APPROVED), ("", ApprovalStatus.REQUESTED)])
def test_where_a_passkey_is_asked_a_click_counts_for_nothing(signed: str, status: ApprovalStatus) -> None:
    requirement = replace(TWO, quorum=1, sign_with="passkey")
    assert tally(requirement, [Cast(YES, "a", ["compliance"], signed_with=signed)]) is status


def test_a_quorum_of_nothing_is_not_met_by_nobody() -> None:
    assert tally(replace(TWO, quorum=0), []) is ApprovalStatus.REQUESTED


BOTH = replace(TWO, quorum=1, groups=("compliance", "legal"), all_groups=True)
EITHER = ["compliance", "legal"]


@pytest.mark.parametrize(
    ("groups", "status"),
    [
        ([["compliance"], ["compliance"]], ApprovalStatus.REQUESTED),
        ([["compliance"], ["legal"]], ApprovalStatus.APPROVED),
        ([EITHER], ApprovalStatus.REQUESTED),
        ([EITHER, ["compliance"]], ApprovalStatus.APPROVED),
        ([["compliance"], EITHER], ApprovalStatus.APPROVED),
        ([EITHER, EITHER], ApprovalStatus.APPROVED),
        ([EITHER, ["seniors"]], ApprovalStatus.REQUESTED),
    ],
)
def test_all_groups_means_a_distinct_person_for_each(groups: list[list[str]], status: ApprovalStatus) -> None:
    votes = [Cast(YES, f"p{number}", each) for number, each in enumerate(groups)]
    assert tally(BOTH, votes) is status


BEN, SUE, LEA = (
    Person("ben", "Ben", ("compliance",)),
    Person("sue", "Sue", ("seniors",)),
    Person("lea", "Lea", ("legal",)),
)


@pytest.mark.parametrize(
    ("requirement", "people", "barred", "why"),
    [
        (TWO, [ANN, BEN], set(), ""),
        (TWO, [ANN, SUE], set(), ""),  # once time runs short
        (TWO, [ANN, BEN], {"ann"}, "it needs 2 distinct people, and 1 may decide"),
        (replace(TWO, exclude=("ben",)), [ANN, BEN], set(), "it needs 2 distinct people, and 1 may decide"),
        (TWO, [ANN, LEA], set(), "it needs 2 distinct people, and 1 may decide"),
        (TWO, [], set(), "it needs 2 distinct people, and 0 may decide; nobody in compliance may"),
        (BOTH, [ANN, LEA], set(), ""),
        (BOTH, [ANN, BEN], set(), "it needs 2 distinct people, and 2 may decide; nobody in legal may"),
        (BOTH, [Person("ann", "Ann", ("compliance", "legal"))], set(), "it needs 2 distinct people, and 1 may decide"),
    ],
)
def test_requirement_that_nobody_can_fulfil_is_seen(
    requirement: Requirement, people: list[Person], barred: set[str], why: str
) -> None:
    assert shortfall(requirement, people, barred) == why
