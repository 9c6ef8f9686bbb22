"""Classes of signers and a veto: runtime, policy and both verifiers say the same of random requirements and votes.

Of each person they agree on who may sign; of all votes together on whether the request is approved, rejected or open.
"""

import json
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from playwright.async_api import Page

from evidence.records import RequirementRecord, VoteRecord
from evidence.verify.contents import BrokenError
from evidence.verify.quorum import check_quorum
from policy.bundle import build_bundle
from policy.contract import Requirement as Contract
from policy.vetting import run_opa
from receipts.passkey_records import PASSKEY
from runtime.approvals.rules import Cast, refuse_vote, tally
from runtime.model.person import Person
from runtime.model.requirement import Requirement
from runtime.model.states import ApprovalStatus
from runtime.model.votes import VoteVerdict
from tests.browser import verify_page
from tests.opa_server import SHIPPED, opa_program, question, vote
from tests.unit.test_approval_rules import BALLOT, NOW

GROUPS, LEAD, COMMANDERS = ["risk", "legal", "ops"], "board", "duty"
ASKED = [*GROUPS, LEAD]
GLASS = {
    "groups": [COMMANDERS],
    "at_most": 2,
    "within": "P1D",
    "tell": [],
    "review_by": ["ops"],
    "review_within": "P3D",
}
PEOPLE = [f"p{number}" for number in range(7)]
BARRED = {"ann": "the requester", "hook": "the submitter", "eve": "excluded"}


def some_of(groups: list[str], least: int = 1) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(groups), min_size=least, max_size=3, unique=True)


CLASSES = st.builds(
    lambda groups, quorum, all_groups: {"groups": groups, "quorum": quorum, "all_groups": all_groups},
    some_of(ASKED),
    st.integers(1, 3),
    st.booleans(),
)
REQUIREMENTS = st.builds(
    lambda quorum, all_groups, classes, veto, more: {
        "quorum": quorum,
        "groups": GROUPS,
        "all_groups": all_groups,
        "expires_in": "PT8H",
        "escalate_to": [{"after": "PT6H", "to": [LEAD]}],
        **({"classes": classes} if classes else {}),
        **({"veto": veto} if veto else {}),
        **more,
    },
    st.integers(1, 5),
    st.integers(0, 4).map(lambda number: number == 0),
    st.lists(CLASSES, max_size=3),
    some_of(ASKED, least=0),
    st.sampled_from([{}, {}, {"break_glass": GLASS}, {"sign_with": PASSKEY}]),
)


class Given(NamedTuple):
    """One vote: whose, in which groups, what it says, and whether it is signed, or does without the others."""

    person: str
    groups: list[str]
    verdict: str
    is_signed: bool
    breaks_glass: bool


VOTES = st.lists(
    st.builds(
        Given,
        st.sampled_from([*PEOPLE, *BARRED]),
        some_of([*ASKED, COMMANDERS, "else"]),
        st.sampled_from([*["approve"] * 12, "reject", "changes"]),
        st.integers(0, 3).map(bool),
        st.integers(0, 7).map(lambda number: number == 0),
    ),
    min_size=2,
    max_size=8,
    unique_by=lambda one: one.person,
)
CASES = st.lists(st.tuples(REQUIREMENTS, VOTES), min_size=15, max_size=30)
Case = tuple[dict[str, Any], list[Given]]

_SAID = """[said |
    some [question, requirement] in input
    config := {"acme": {"requirements": {"high": requirement}}}
    asked := data.countersign.effect.approvals with input as question
        with data.countersign_config as config
        with data.countersign.effect.tiers.effective as "high"
        with data.countersign.effect.duties.excluded as ["ann", "eve", "hook"]
    granted := count([true | asked.unopposed; asked.fulfilled]) == 1
    codes := [code | some reason in asked.deny; code := reason.code]
    said := [granted, codes, [question.votes[place].person | some place in asked.entitled]]
]"""
_PAGE_SAYS = """
(cases) => cases.map(([requirement, votes, electorate]) => {
  const asked = new Map(votes.map(({person}) => [person, electorate]));
  let approved = true;
  try {
    demandQuorum("", requirement, votes, asked);
  } catch (error) {
    if (!(error instanceof Broken)) throw error;
    approved = false;
  }
  const ended = votes.some((vote) => isEndedBy(requirement, vote));
  return [approved && !ended, ended, votes.filter((vote) => isEntitled(vote, asked)).map(({person}) => person)];
})
"""


@pytest.fixture(scope="module")
def bundle() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bundle.tar.gz"
        file.write_bytes(build_bundle(SHIPPED).data)
        yield file


@pytest.fixture(scope="module")
async def page() -> AsyncIterator[Page]:
    async with verify_page() as page:
        yield page


def whole(requirement: dict[str, Any]) -> dict[str, Any]:
    return {**requirement, "exclude": ["ann", "eve", "hook"], "reason_required": False}


def uses_glass(requirement: dict[str, Any], one: Given) -> bool:
    return one.breaks_glass and "break_glass" in requirement and one.verdict == "approve" and COMMANDERS in one.groups


def told(requirement: dict[str, Any], one: Given) -> dict[str, Any]:
    """Return a vote as policy is told of it."""
    glass = {"break_glass": {"ticket": "INC-7", "nth": 1}} if uses_glass(requirement, one) else {}
    signed = {"signed_with": PASSKEY} if one.is_signed and "sign_with" in requirement else {}
    return {**vote(one.person), "groups": one.groups, "verdict": one.verdict, **glass, **signed}


def may_sign(requirement: dict[str, Any], one: Given) -> bool:
    """Return whether the runtime lets this person vote, once all who are next in line are asked."""
    ballot = replace(
        BALLOT,
        requirement=Requirement.of(whole(requirement)),
        requested_by="ann",
        submitted_by="hook",
        joined=(LEAD,),
    )
    person = Person(one.person, one.person, tuple(one.groups))
    return refuse_vote(ballot, person, [("T1", one.person)], VoteVerdict(one.verdict), "checked", NOW) is None


def counted(case: Case) -> list[Given]:
    """Return the votes that the runtime would have counted: of those who may sign, or use break-glass."""
    requirement, votes = case
    glass = [one for one in votes if uses_glass(requirement, one) and one.person not in BARRED]
    return [one for one in votes if one in glass or may_sign(requirement, one)]


def runtime_says(requirement: dict[str, Any], votes: list[Given]) -> tuple[bool, bool]:
    """Return whether it is approved, and whether it is rejected."""
    cast = [
        Cast(
            VoteVerdict(one.verdict),
            one.person,
            one.groups,
            uses_break_glass=uses_glass(requirement, one) and (one.is_signed or "sign_with" not in requirement),
            signed_with=PASSKEY if one.is_signed and "sign_with" in requirement else "",
        )
        for one in votes
    ]
    status = tally(Requirement.of(whole(requirement)), cast)
    return status is ApprovalStatus.APPROVED, status is ApprovalStatus.REJECTED


def verifier_says(requirement: dict[str, Any], votes: list[Given]) -> tuple[bool, bool]:
    required = RequirementRecord(**whole(requirement))
    records = [VoteRecord(**told(requirement, one)) for one in votes]
    ended = any(required.is_ended_by(one) for one in records)
    try:
        check_quorum("", required, records, {one.person: set(ASKED) for one in records})
    except BrokenError:
        return False, ended
    return not ended, ended


async def policy_says(bundle: Path, cases: list[Case]) -> list[tuple[bool, bool, set[str]]]:
    asked = [
        [question([told(requirement, one) for one in votes] or None).model_dump(mode="json"), requirement]
        for requirement, votes in cases
    ]
    arguments = ("eval", "--bundle", str(bundle), "--stdin-input", "--strict-builtin-errors", "--format", "raw")
    said = json.loads(await run_opa(opa_program(), *arguments, _SAID, stdin=json.dumps(asked)))
    return [(granted, "approvals.rejected" in codes, set(entitled)) for granted, codes, entitled in said]


async def page_says(page: Page, cases: list[Case]) -> list[tuple[bool, bool, set[str]]]:
    asked = [[whole(requirement), [told(requirement, one) for one in votes], ASKED] for requirement, votes in cases]
    return [(approved, ended, set(people)) for approved, ended, people in await page.evaluate(_PAGE_SAYS, asked)]


@given(cases=CASES)
@settings(max_examples=40, phases=[Phase.generate], deadline=None)  # a batch is not worth shrinking
async def test_all_four_agree_on_who_may_sign_and_what_their_votes_come_to(
    bundle: Path, page: Page, cases: list[Case]
) -> None:
    for requirement, _ in cases:
        document = whole(requirement)
        assert Contract.model_validate_json(json.dumps(document)).model_dump(mode="json") == document
        assert Requirement.of(document).document() == document
    seen = [(requirement, counted((requirement, votes))) for requirement, votes in cases]
    by_policy, by_page = await policy_says(bundle, seen), await page_says(page, seen)
    for (requirement, votes), policy, shown in zip(seen, by_policy, by_page, strict=True):
        entitled = {one.person for one in votes if may_sign(requirement, one)}
        by_runtime = (*runtime_says(requirement, votes), entitled)
        assert (requirement, votes, by_runtime) == (requirement, votes, policy)
        assert (requirement, votes, verifier_says(requirement, votes)) == (requirement, votes, by_runtime[:2])
        assert (requirement, votes, shown) == (requirement, votes, by_runtime)


@given(cases=CASES)
@settings(max_examples=8, phases=[Phase.generate], deadline=None)
async def test_policy_counts_nobody_whom_the_runtime_would_refuse(bundle: Path, cases: list[Case]) -> None:
    for (requirement, votes), (_, _, entitled) in zip(cases, await policy_says(bundle, cases), strict=True):
        may = {one.person for one in votes if may_sign(requirement, one)}
        assert (requirement, votes, entitled) == (requirement, votes, may)


FIVE: dict[str, Any] = {
    "quorum": 5,
    "groups": GROUPS,
    "all_groups": False,
    "expires_in": "PT8H",
    "escalate_to": [],
    "classes": [
        {"groups": ["risk"], "quorum": 2, "all_groups": False},
        {"groups": ["legal"], "quorum": 1, "all_groups": False},
    ],
    "veto": ["legal"],
}


def given_by(said: str) -> list[Given]:
    """Return votes: of each its group by the first letter, and `!` behind it where it is a no."""
    named = {group[0]: group for group in GROUPS}
    return [
        Given(f"p{place}", [named[one[0]]], "reject" if "!" in one else "approve", is_signed=False, breaks_glass=False)
        for place, one in enumerate(said.split())
    ]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("r r l o o", (True, False)),
        ("r r l o", (False, False)),
        ("r r o o o", (False, False)),
        ("r l l o o", (False, False)),
        ("r r l o o!", (False, False)),
        ("r r l o o o!", (True, False)),
        ("r r l o o l!", (False, True)),
        ("l!", (False, True)),
    ],
)
async def test_five_of_seven_with_two_of_risk_and_one_of_legal_who_has_a_veto(
    bundle: Path, page: Page, said: str, expected: tuple[bool, bool]
) -> None:
    case = (FIVE, given_by(said))
    [by_policy], [by_page] = await policy_says(bundle, [case]), await page_says(page, [case])
    assert [runtime_says(*case), verifier_says(*case), by_policy[:2], by_page[:2]] == [expected] * 4
