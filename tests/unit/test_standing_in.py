"""Who may vote for somebody else, and that it is never a way round what either may not do."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from runtime.approvals.rules import Ballot, Cast, tally, way_to_vote
from runtime.model.delegation import Delegation, StandIn
from runtime.model.person import Person
from runtime.model.states import ApprovalStatus
from runtime.model.votes import Refusal, VoteVerdict
from tests.unit.test_approvals import BALLOT, NOW, TWO

YES = VoteVerdict.APPROVE
ANN = Person("ann", "Ann", ("compliance",))
CAT = Person("cat", "Cat", ("compliance",))
SAM = Person("sam", "Sam", ("security",))
FOR_ANN = Delegation("dlg_1", "ann", "sam", ("compliance",), NOW, NOW + timedelta(days=1), "omar", "on leave")


def _for(person: Person, **changed: Any) -> StandIn:
    delegation = replace(FOR_ANN, **{"delegator": person.id, **changed})
    return StandIn(delegation, person, [("T1", f"U{person.id.upper()}")])


def _way(ballot: Ballot, *stand_ins: StandIn, person: Person = SAM, reason: str | None = "checked") -> str | None:
    """Return for whom the person votes, or the code of why not; None for themselves."""
    way = way_to_vote(ballot, person, [("T1", f"U{person.id.upper()}")], stand_ins, YES, reason, NOW)
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
    assert tally(TWO, [Cast(YES, who, ["compliance"], whom) for who, whom in votes]) is status
