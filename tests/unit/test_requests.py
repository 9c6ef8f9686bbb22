"""Requests: the canonical action, withdrawing and handing on votes, and the paused clock.

What people may do with a request beside deciding it: take their vote back, and hand it to another.

The clock stands still for the union of the times in which a question is open, and never longer than the bound.

The canonical action: what changes it, what does not, and what must not be seen in it.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.approvals.request_rules import Asker, Candidate, refuse_ask, refuse_hand, refuse_reply, refuse_withdrawal
from runtime.approvals.rules import Ballot
from runtime.model.action import Acting, Action, Tier, dedupe_key
from runtime.model.person import Person
from runtime.model.questions import MOST_QUESTIONS, Answerers, Question, answer_of, pause_so_far, paused_until
from runtime.model.states import ApprovalStatus
from runtime.model.votes import RefusalCode
from tests.unit.test_approval_rules import BALLOT, NOW

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


START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
LONGEST = timedelta(minutes=60)


def _question(asked: int, answered: int | None) -> Question:
    """Return a question that was asked and answered so many minutes after the start."""
    at = None if answered is None else START + timedelta(minutes=answered)
    answer = answer_of("rita", "person", "Rita", "the founders", at) if at else None
    return Question(f"qst_{asked}", "ann", "Ann", "who?", START + timedelta(minutes=asked), answer)


SPANS = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 50)).map(lambda span: (span[0], sum(span))), max_size=8)


def _minutes(spans: list[tuple[int, int]]) -> int:
    return len({minute for start, end in spans for minute in range(start, end)})


@given(SPANS)
def test_each_minute_counts_once_up_to_the_bound(spans: list[tuple[int, int]]) -> None:
    found = pause_so_far([_question(*span) for span in spans], LONGEST)
    assert found == min(timedelta(minutes=_minutes(spans)), LONGEST)


@given(SPANS, st.integers(0, 200))
def test_while_one_is_open_the_bound_is_granted_and_comes_when_it_is_used_up(
    spans: list[tuple[int, int]], since: int
) -> None:
    asked = [*(_question(*span) for span in spans if span[0] <= since), _question(since, None)]
    assert pause_so_far(asked, LONGEST) == LONGEST
    until = paused_until(asked, LONGEST)
    assert until is not None
    before = [span for span in spans if span[0] <= since]
    end = int((until - START) / timedelta(minutes=1))
    stood = _minutes([*before, (since, max(since, end))])
    assert stood == max(60, _minutes([*before, (since, since)]))


@given(SPANS)
def test_where_none_is_open_the_clock_goes_on(spans: list[tuple[int, int]]) -> None:
    assert paused_until([_question(*span) for span in spans], LONGEST) is None


def test_without_a_bound_the_clock_goes_on() -> None:
    assert pause_so_far([_question(0, None)], timedelta(0)) == timedelta(0)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.dictionaries(st.text(max_size=6), JSON, max_size=4)


def _action(fields: dict[str, Any], *, salt: str = "s", pointers: tuple[str, ...] = (), target: str = "t") -> Action:
    acting = Acting(
        connector="c",
        operation="o",
        target=target,
        fields=fields,
        idempotency_key="k",
        tier=Tier.LOW,
        reversible_by=None,
        redact=pointers,
        forgotten=None,
    )
    return acting.action(salt)


@given(FIELDS, FIELDS)
def test_two_actions_have_one_digest_only_if_they_are_the_same(a: dict[str, Any], b: dict[str, Any]) -> None:
    same = repr(sorted(_typed(a))) == repr(sorted(_typed(b)))
    assert (_action(a).digest == _action(b).digest) == same


def _typed(fields: dict[str, Any]) -> list[str]:
    return [f"{name!r}:{_canonical(value)}" for name, value in fields.items()]


def _canonical(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(sorted(_typed(value))) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_canonical(item) for item in value) + "]"
    return repr(value)


@given(FIELDS)
def test_the_order_of_fields_does_not_matter(fields: dict[str, Any]) -> None:
    assert _action(fields).digest == _action(dict(reversed(fields.items()))).digest


def test_a_hidden_value_is_bound_by_the_digest_and_not_in_the_action() -> None:
    one, two = (_action({"who": {"email": mail}}, pointers=("/who/email",)) for mail in ("a@x", "b@x"))
    assert one.digest != two.digest
    assert one.redacted == ("/who/email",)
    assert "a@x" not in str(one.fields)


def test_a_guess_at_a_hidden_value_cannot_be_tested_without_the_salt() -> None:
    fields = {"pin": "1234"}
    assert (
        _action(fields, pointers=("/pin",), salt="one").digest != _action(fields, pointers=("/pin",), salt="two").digest
    )


def test_names_like_secrets_are_hidden_without_being_declared() -> None:
    action = _action({"list": [{"api_token": "xyz"}]})
    assert action.redacted == ("/list/0/api_token",)
    assert "xyz" not in str(action.fields)


def test_the_fields_given_are_left_as_they_are() -> None:
    fields = {"a": {"password": "p"}}
    _action(fields)
    assert fields == {"a": {"password": "p"}}


def test_a_dedupe_key_depends_on_every_part() -> None:
    assert len({dedupe_key("a", "b"), dedupe_key("ab", ""), dedupe_key("b", "a")}) == 3
