"""What people may do with a request beside deciding it: take their vote back, and hand it to another."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.approvals.request_rules import Asker, Candidate, refuse_ask, refuse_hand, refuse_reply, refuse_withdrawal
from runtime.approvals.rules import Ballot
from runtime.model.person import Person
from runtime.model.questions import MOST_QUESTIONS, Answerers, Question
from runtime.model.states import ApprovalStatus
from runtime.model.votes import RefusalCode
from tests.unit.test_approvals import BALLOT, NOW

GROUP = BALLOT.requirement.groups[0]
ANN, BEN, CAT = (Person(name, name.title(), (GROUP,)) for name in ("p-ann", "p-ben", "p-cat"))
EVERYBODY = [ANN, BEN, CAT, replace(ANN, id=BALLOT.requested_by), Person("p-zoe", "Zoe", ("elsewhere",))]


def whose(person: Person) -> Candidate:
    return Candidate(person, [("T1", person.id)])


def test_who_has_voted_takes_their_vote_back_while_the_request_is_open() -> None:
    assert refuse_withdrawal(BALLOT, ANN, frozenset({ANN.id}), "read again", NOW) is None


def test_only_the_voter_takes_a_vote_back() -> None:
    refusal = refuse_withdrawal(BALLOT, BEN, frozenset({ANN.id}), "read again", NOW)
    assert refusal
    assert refusal.code is RefusalCode.NO_VOTE


def test_a_vote_is_taken_back_for_a_reason() -> None:
    refusal = refuse_withdrawal(BALLOT, ANN, frozenset({ANN.id}), "  ", NOW)
    assert refusal
    assert refusal.code is RefusalCode.REASON_MISSING


@pytest.mark.parametrize(
    ("ballot", "code"),
    [
        (replace(BALLOT, status=ApprovalStatus.APPROVED), RefusalCode.CLOSED),
        (replace(BALLOT, expires_at=NOW), RefusalCode.EXPIRED),
    ],
)
def test_what_is_over_stays_as_it_was_decided(ballot: Ballot, code: RefusalCode) -> None:
    refusal = refuse_withdrawal(ballot, ANN, frozenset({ANN.id}), "read again", NOW)
    assert refusal
    assert refusal.code is code
    handed = refuse_hand(ballot, whose(ANN), whose(BEN), "away", NOW)
    assert handed
    assert handed.code is code


def test_who_may_decide_hands_it_to_somebody_else_who_may() -> None:
    assert refuse_hand(BALLOT, whose(ANN), whose(BEN), "away", NOW) is None


@pytest.mark.parametrize(
    "to", [ANN, replace(BEN, id=BALLOT.requested_by), replace(BEN, id=BALLOT.submitted_by), replace(BEN, groups=())]
)
def test_nothing_is_handed_to_oneself_or_to_who_may_not_decide(to: Person) -> None:
    refusal = refuse_hand(BALLOT, whose(ANN), whose(to), "away", NOW)
    assert refusal
    assert (refusal.code, refusal.about) == (RefusalCode.NOT_ENTITLED, (to.name,))


def test_nothing_is_handed_to_who_is_excluded_or_has_voted() -> None:
    excluded = replace(BALLOT, requirement=replace(BALLOT.requirement, exclude=(BEN.id,)))
    voted = replace(BALLOT, voted=frozenset({BEN.id}))
    by_account = replace(BALLOT, voted_accounts=frozenset({("T1", BEN.id)}))
    for ballot in (excluded, voted, by_account):
        refusal = refuse_hand(ballot, whose(ANN), whose(BEN), "away", NOW)
        assert refusal
        assert refusal.code is RefusalCode.NOT_ENTITLED


def test_what_somebody_works_on_is_theirs_alone_to_hand_on() -> None:
    held = replace(BALLOT, holder=ANN)
    assert refuse_hand(held, whose(ANN), whose(BEN), "away", NOW) is None
    refusal = refuse_hand(held, whose(CAT), whose(BEN), "away", NOW)
    assert refusal
    assert refusal.code is RefusalCode.CLAIMED


@given(acts=st.lists(st.tuples(st.sampled_from(EVERYBODY), st.sampled_from(EVERYBODY)), max_size=12))
def test_whoever_comes_to_hold_a_request_may_decide_it(acts: list[tuple[Person, Person]]) -> None:
    ballot = replace(BALLOT, holder=ANN)
    for person, to in acts:
        before = ballot.holder
        if refuse_hand(ballot, whose(person), whose(to), "away", NOW) is None:
            assert person == before, "none but who held it"
            ballot = replace(ballot, holder=to)
    assert ballot.holder in (ANN, BEN, CAT)


OPEN = Question("q1", ANN.id, ANN.name, "Why now?", NOW)
ANSWERED = replace(OPEN, answer={"text": "Because."})


@pytest.mark.parametrize(
    "asker",
    [
        Asker(BALLOT.requested_by, frozenset()),
        Asker(BALLOT.submitted_by, frozenset()),
        Asker("somebody-new", BALLOT.requester_accounts),
        Asker("somebody-new", frozenset(), "desk"),
    ],
    ids=["by their id", "who sent it", "by an account of theirs", "a member of the group for questions"],
)
def test_whoever_asked_for_it_or_sent_it_answers(asker: Asker) -> None:
    assert refuse_reply(BALLOT, asker, OPEN, "Because of the audit.", NOW) is None


def test_nobody_else_answers_and_nobody_answers_twice() -> None:
    asked = Asker(BALLOT.requested_by, frozenset())
    theirs = replace(OPEN, person=BEN.id)
    for asker, question, code in (
        (Asker(ANN.id, frozenset({("T1", "UANN")})), OPEN, RefusalCode.NOT_ASKED),
        (Asker(BEN.id, frozenset(), "desk"), theirs, RefusalCode.NOT_ASKED),
        (asked, ANSWERED, RefusalCode.NO_QUESTION),
        (asked, None, RefusalCode.NO_QUESTION),
    ):
        refusal = refuse_reply(BALLOT, asker, question, "Because of the audit.", NOW)
        assert refusal
        assert refusal.code is code


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ([], None),
        ([OPEN], RefusalCode.QUESTION_OPEN),
        ([ANSWERED], None),
        ([replace(OPEN, person=BEN.id)], None),
        ([ANSWERED] * (MOST_QUESTIONS - 1), None),
        ([ANSWERED] * MOST_QUESTIONS, RefusalCode.QUESTIONS_FULL),
    ],
)
def test_one_question_at_a_time_is_asked_by_each_and_so_many_at_most(
    asked: list[Question], code: RefusalCode | None
) -> None:
    refusal = refuse_ask(None, ANN.id, asked, Answerers(users=("U1",)), "Why on a Sunday?")
    assert (refusal.code if refusal else None) is code
