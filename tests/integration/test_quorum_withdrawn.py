"""Votes that are withdrawn, and given anew: what is left is enough for runtime, policy and verifier, or for none."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from evidence.verify.facts import Counted, until_withdrawn
from evidence.verify.forms import VoteForm
from receipts.canonical import digest
from receipts.chain import VOTE_COUNTED, VOTE_WITHDRAWN, Actor, Correlation, Leaf
from receipts.fields import timestamp
from runtime.approvals.request_rules import refuse_withdrawal
from runtime.approvals.rules import Ballot, Cast, refuse_vote, tally
from runtime.model.person import Person
from runtime.model.requirement import Requirement
from runtime.model.states import ApprovalStatus
from runtime.model.votes import Vote, VoteVerdict
from tests.integration.test_quorum_rules import REQUIREMENTS, SOME, _ballot, _kept, bundle, enough, fulfilled, told
from tests.opa_server import question
from tests.unit.test_approvals import NOW

__all__ = ["bundle"]

PEOPLE = ["p0", "p1", "p2", "p3"]
ACTS = st.lists(st.tuples(st.sampled_from(PEOPLE), st.booleans()), max_size=14)
"""Who does something, and whether that is to withdraw."""
Course = tuple[dict[str, object], dict[str, list[str]], list[tuple[str, bool]]]
COURSES = st.tuples(REQUIREMENTS, st.fixed_dictionaries(dict.fromkeys(PEOPLE, SOME)), ACTS)


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
