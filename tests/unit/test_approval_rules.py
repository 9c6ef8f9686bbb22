"""Approval rules: who may vote, also for somebody else, who can be reached, and what votes add up to.

Who may vote, and what votes add up to.

Who may vote for somebody else, and that it is never a way round what either may not do.

Who can decide as things stand: those who are asked and can be reached, and one deputy for each who cannot.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.approvals.electorate import able, users_of
from runtime.approvals.rules import Ballot, Cast, refuse_vote, shortfall, tally, way_to_vote
from runtime.model.delegation import AskedPerson, Delegation, Deputy, StandIn
from runtime.model.person import Person
from runtime.model.requirement import NextInLine, Requirement
from runtime.model.states import ApprovalStatus
from runtime.model.votes import Refusal, VoteVerdict

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


YES_FOR_ANOTHER = VoteVerdict.APPROVE

CAT = Person("cat", "Cat", ("compliance",))
SAM = Person("sam", "Sam", ("security",))
FOR_ANN = Delegation("dlg_1", "ann", "sam", ("compliance",), NOW, NOW + timedelta(days=1), "omar", "on leave")


def _for(person: Person, **changed: Any) -> StandIn:
    delegation = replace(FOR_ANN, **{"delegator": person.id, **changed})
    return StandIn(delegation, person, [("T1", f"U{person.id.upper()}")])


def _way(ballot: Ballot, *stand_ins: StandIn, person: Person = SAM, reason: str | None = "checked") -> str | None:
    """Return for whom the person votes, or the code of why not; None for themselves."""
    way = way_to_vote(ballot, person, [("T1", f"U{person.id.upper()}")], stand_ins, YES_FOR_ANOTHER, reason, NOW)
    if isinstance(way, Refusal):
        return str(way.code)
    return way.delegator.id if way else None


def test_a_delegate_votes_for_the_first_delegator_for_whom_it_counts() -> None:
    assert _way(BALLOT, _for(ANN), _for(CAT)) == "ann"
    assert _way(replace(BALLOT, voted=frozenset({"ann"})), _for(ANN), _for(CAT)) == "cat"


def test_who_is_asked_votes_for_themselves() -> None:
    assert _way(BALLOT, _for(CAT, delegate="ann"), person=ANN) is None


def test_nobody_stands_in_for_nobody() -> None:
    assert _way(BALLOT) == "vote.not_in_group"


@pytest.mark.parametrize(
    ("stand_in", "code"),
    [
        (_for(ANN, delegate="ben"), "vote.not_in_group"),
        (_for(ANN, starts_at=NOW + timedelta(seconds=1)), "vote.not_in_group"),
        (_for(ANN, ends_at=NOW), "vote.not_in_group"),
        (_for(replace(ANN, groups=())), "vote.not_in_group"),
        (_for(replace(ANN, groups=("legal",))), "vote.not_in_group"),
        (_for(SAM), "vote.not_in_group"),
        (_for(ANN, recorded_by="sam"), "vote.not_in_group"),
        (_for(ANN, recorded_by="rita"), "vote.requester"),
        (_for(ANN, recorded_by="portal"), "vote.requester"),
    ],
)
def test_a_delegation_holds_for_its_delegate_in_its_time_and_groups_alone(stand_in: StandIn, code: str) -> None:
    assert _way(BALLOT, stand_in) == code


@pytest.mark.parametrize(
    ("ballot", "code"),
    [
        (replace(BALLOT, requested_by="ann"), "vote.requester"),
        (replace(BALLOT, submitted_by="ann"), "vote.requester"),
        (replace(BALLOT, requester_accounts=frozenset({("T1", "UANN")})), "vote.requester"),
        (replace(BALLOT, requested_by="sam"), "vote.requester"),
        (replace(BALLOT, submitted_by="sam"), "vote.requester"),
        (replace(BALLOT, requirement=replace(TWO, exclude=("ann",))), "vote.excluded"),
        (replace(BALLOT, requirement=replace(TWO, exclude=("sam",))), "vote.excluded"),
        (replace(BALLOT, requirement=replace(TWO, exclude=("omar",))), "vote.requester"),
        (replace(BALLOT, voted=frozenset({"ann"})), "vote.repeated"),
        (replace(BALLOT, voted=frozenset({"sam"})), "vote.repeated"),
        (replace(BALLOT, voted_accounts=frozenset({("T1", "UANN")})), "vote.repeated"),
        (replace(BALLOT, voted_accounts=frozenset({("T1", "USAM")})), "vote.repeated"),
        (replace(BALLOT, holder=CAT), "task.claimed"),
        (replace(BALLOT, status=ApprovalStatus.EXPIRED), "vote.closed"),
    ],
)
def test_a_delegate_may_nothing_that_either_of_the_two_may_not(ballot: Ballot, code: str) -> None:
    assert _way(ballot, _for(ANN)) == code


def test_a_delegate_goes_on_with_what_their_delegator_has_claimed() -> None:
    assert _way(replace(BALLOT, holder=ANN), _for(ANN)) == "ann"


def test_a_delegate_gives_the_reason_that_is_wanted() -> None:
    strict = replace(BALLOT, requirement=replace(TWO, reason_required=True))
    assert _way(strict, _for(ANN), reason="  ") == "vote.reason_missing"


@pytest.mark.parametrize(
    ("votes", "status"),
    [
        ([("sam", "ann"), ("cat", None)], ApprovalStatus.APPROVED),
        ([("sam", "ann"), ("ann", None)], ApprovalStatus.REQUESTED),
        ([("sam", "ann"), ("sam", "cat")], ApprovalStatus.REQUESTED),
        ([("sam", "ann"), ("ben", "ann")], ApprovalStatus.REQUESTED),
        ([("sam", "ann"), ("ann", "cat")], ApprovalStatus.REQUESTED),
    ],
)
def test_nobody_counts_twice_by_the_name_of_another(
    votes: list[tuple[str, str | None]], status: ApprovalStatus
) -> None:
    assert tally(TWO, [Cast(YES_FOR_ANOTHER, who, ["compliance"], whom) for who, whom in votes]) is status


BOTH_GROUPS = {"desk", "board"}


def _asked(name: str, *groups: str, deputies: tuple[Deputy, ...] = (), away: bool = False) -> AskedPerson:
    return AskedPerson(Person(name, name.title(), groups), () if away else (f"U{name.upper()}",), deputies)


def _deputy(name: str, *groups: str, by: str = "omar", users: tuple[str, ...] | None = None) -> Deputy:
    return Deputy(name, name.title(), by, groups, (f"U{name.upper()}",) if users is None else users)


def _who(asked: list[AskedPerson], *barred: str) -> dict[str, tuple[str, ...]]:
    return {person.id: person.groups for person in able(asked, BOTH_GROUPS, set(barred))}


def test_who_is_asked_and_has_an_account_can() -> None:
    assert _who([_asked("ann", "desk"), _asked("ben", "desk", away=True)]) == {"ann": ("desk",)}


def test_a_deputy_can_for_who_is_away_in_the_groups_that_were_given() -> None:
    away = _asked("ben", "desk", "board", deputies=(_deputy("pam", "board"),), away=True)
    assert _who([away]) == {"pam": ("board",)}


def test_who_is_asked_votes_for_themselves_and_not_for_another_group() -> None:
    away = _asked("ben", "board", deputies=(_deputy("ann", "board"),), away=True)
    assert _who([_asked("ann", "desk"), away]) == {"ann": ("desk",)}


def test_as_few_as_can_be_stay_without_a_vote() -> None:
    first = _asked("ann", "desk", deputies=(_deputy("pam", "desk"), _deputy("sam", "desk")), away=True)
    second = _asked("ben", "desk", deputies=(_deputy("pam", "desk"),), away=True)
    assert set(_who([first, second])) == {"pam", "sam"}


def test_nobody_can_who_is_barred_nor_for_them_nor_by_their_word() -> None:
    asked = [
        _asked("ann", "desk"),
        _asked("ben", "desk", deputies=(_deputy("pam", "desk"),), away=True),
        _asked("cat", "desk", deputies=(_deputy("sam", "desk", by="rita"),), away=True),
        _asked("dan", "desk", deputies=(_deputy("rita", "desk"),), away=True),
    ]
    assert _who(asked, "ann", "ben", "rita") == {}


def test_a_deputy_without_an_account_or_for_other_groups_cannot() -> None:
    asked = [
        _asked("ann", "desk", deputies=(_deputy("pam", "desk", users=()),), away=True),
        _asked("ben", "desk", "legal", deputies=(_deputy("sam", "legal"),), away=True),
    ]
    assert _who(asked) == {}


def test_cards_go_to_those_asked_and_to_who_may_vote_for_them_each_once() -> None:
    deputies = (_deputy("pam", "desk"), _deputy("ann", "desk"))
    asked = [_asked("ann", "desk"), _asked("ben", "desk", deputies=deputies), _asked("cat", "legal")]
    assert users_of(asked, BOTH_GROUPS, set()) == ["UANN", "UBEN", "UPAM"]
    assert users_of(asked, BOTH_GROUPS, {"ben"}) == ["UANN"]
