"""Classes of signers and a veto: the contract, the rules, and how a change of policy is sorted."""

import json
from dataclasses import replace
from typing import Any

import pytest

from evidence.records import RequirementRecord
from policy.answer import parse_answer
from policy.changes import config_changes
from policy.contract import PolicyUnavailableError
from policy.contract import Requirement as Contract
from policy.differences import requirement_differences
from runtime.approvals.rules import Cast, ends_request, is_met, leaves_open, missing_classes, shortfall, tally
from runtime.model.person import Person
from runtime.model.requirement import Requirement, SignerClass
from runtime.model.states import ApprovalStatus
from runtime.model.votes import VoteVerdict
from tests.unit.test_policy_answer import ASK, REQUIREMENT
from tests.unit.test_policy_changes import files

RISK = {"groups": ["risk"], "quorum": 2, "all_groups": False}
LEGAL = {"groups": ["legal"], "quorum": 1, "all_groups": False}
EACH = {"groups": ["risk", "legal"], "quorum": 1, "all_groups": True}
FIVE: dict[str, Any] = {**REQUIREMENT, "quorum": 5, "groups": ["risk", "legal", "ops"], "exclude": ["ann"]}
COMMITTEE = {**FIVE, "classes": [RISK, LEGAL], "veto": ["legal"]}
NOBODY: frozenset[str] = frozenset()


def parsed(**changes: Any) -> Contract:
    found = parse_answer({**ASK, "requirement": {**COMMITTEE, **changes}}, "answer").requirement
    assert found is not None
    return found


def test_what_policy_says_of_classes_and_veto_is_kept_as_it_was_said() -> None:
    said = parsed().model_dump(mode="json")
    assert (said["classes"], said["veto"]) == ([RISK, LEGAL], ["legal"])
    stored = Requirement.of(said).document()
    assert (stored["classes"], stored["veto"]) == ([RISK, LEGAL], ["legal"])
    told = RequirementRecord.model_validate(stored).model_dump(mode="json")
    assert told == stored


def test_a_requirement_without_them_is_stored_and_told_as_before() -> None:
    plain = parse_answer(ASK, "answer").requirement
    assert plain is not None
    assert plain.model_dump(mode="json") == REQUIREMENT
    assert Requirement.of(REQUIREMENT).document() == REQUIREMENT
    assert RequirementRecord.model_validate(REQUIREMENT).model_dump(mode="json") == REQUIREMENT


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"classes": []}, "classes: List should have at least 1 item"),
        ({"classes": [LEGAL] * 21}, "classes: List should have at most 20 items"),
        ({"classes": [{**LEGAL, "quorum": 0}]}, "classes.0.quorum: Input should be greater than or equal to 1"),
        ({"classes": [{**LEGAL, "groups": []}]}, "classes.0.groups: List should have at least 1 item"),
        ({"classes": [{**LEGAL, "name": "law"}]}, "classes.0.name: Extra inputs are not permitted"),
        ({"classes": [{"groups": ["legal"], "quorum": 1}]}, "classes.0.all_groups: Field required"),
        ({"classes": [LEGAL, {**LEGAL, "groups": ["audit"]}]}, "classes.1.groups: 'audit' is in neither groups nor"),
        ({"classes": None}, "classes: Input should be a valid array"),
        ({"veto": []}, "veto: List should have at least 1 item"),
        ({"veto": ["legal", "board"]}, "veto: 'board' is in neither groups nor escalate_to"),
        ({"veto": "legal"}, "veto: Input should be a valid array"),
        (
            {"groups": [*"abcdefghi"], "veto": ["a"], "classes": [{**EACH, "groups": [*"abcdefghi"]}]},
            "classes.0.groups: at most 8 can each have to sign",
        ),
    ],
)
def test_classes_and_a_veto_that_are_off_make_the_answer_unavailable(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(PolicyUnavailableError) as error:
        parsed(**changes)
    assert str(error.value).startswith(f"answer.requirement.{said}")


def test_groups_of_classes_and_of_the_veto_count_for_the_length_of_an_answer() -> None:
    groups = [f"{number:02}" + "x" * 100 for number in range(60)]
    quarter = {"groups": groups, "classes": [{**RISK, "groups": groups}], "veto": groups}
    assert parsed(**quarter).veto == groups
    with pytest.raises(PolicyUnavailableError, match="more than 20000 bytes"):
        parsed(**{**quarter, "classes": [{**RISK, "groups": groups}] * 2})
    with pytest.raises(PolicyUnavailableError, match="more than 20000 bytes"):
        parsed(**quarter, escalate_to=[{"after": "PT1H", "to": groups}])


def test_those_next_in_line_may_be_a_class_and_have_the_veto() -> None:
    line = [{"after": "PT6H", "to": ["board"]}]
    found = parsed(escalate_to=line, classes=[{**LEGAL, "groups": ["board", "legal"]}], veto=["board"])
    assert found.veto == ["board"]


WANTED = Requirement.of(COMMITTEE)


def votes(said: str) -> list[Cast]:
    """Return votes: of each its groups by their first letters, and `!` behind them where it is a no."""
    named = {group[0]: group for group in WANTED.groups}
    return [
        Cast(
            VoteVerdict.REJECT if "!" in one else VoteVerdict.APPROVE,
            f"p{place}",
            [named[letter] for letter in one.strip("!")],
        )
        for place, one in enumerate(said.split())
    ]


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("r r l o o", ApprovalStatus.APPROVED),
        ("rl r o o o", ApprovalStatus.APPROVED),
        ("r r l o", ApprovalStatus.REQUESTED),
        ("r r o o o o", ApprovalStatus.REQUESTED),
        ("r l l o o o", ApprovalStatus.REQUESTED),
        ("r! r l o o", ApprovalStatus.REQUESTED),
        ("r! r r l o o", ApprovalStatus.APPROVED),
        ("o! r!", ApprovalStatus.REQUESTED),
        ("rl!", ApprovalStatus.REJECTED),
        ("r r l o o l!", ApprovalStatus.REJECTED),
    ],
)
def test_a_quorum_with_classes_is_met_and_a_veto_alone_ends_it(said: str, status: ApprovalStatus) -> None:
    assert tally(WANTED, votes(said)) is status


def test_without_a_veto_any_no_ends_it() -> None:
    assert tally(replace(WANTED, veto=()), votes("o!")) is ApprovalStatus.REJECTED


def test_break_glass_does_without_classes_and_not_against_a_veto() -> None:
    glass = Cast(VoteVerdict.APPROVE, "eve", ["duty"], uses_break_glass=True)
    assert tally(WANTED, [glass, *votes("o!")]) is ApprovalStatus.APPROVED
    assert tally(WANTED, [glass, *votes("l!")]) is ApprovalStatus.REJECTED


def test_a_no_ends_the_request_or_leaves_it_open_and_an_approval_does_neither() -> None:
    no, veto, yes = votes("r! l! l")
    assert [ends_request(WANTED, one) for one in (no, veto, yes)] == [False, True, False]
    assert [leaves_open(WANTED, one) for one in (no, veto, yes)] == [True, False, False]


def test_where_each_group_of_a_class_signs_each_has_a_person_of_its_own() -> None:
    wanted = Requirement.of({**FIVE, "quorum": 1, "classes": [EACH]})
    both, risk = frozenset({"risk", "legal"}), frozenset({"risk"})
    assert not is_met(wanted, {"p0": both})
    assert not is_met(wanted, {"p0": risk, "p1": risk})
    assert is_met(wanted, {"p0": both, "p1": risk})
    assert missing_classes(wanted, {"p0": both}) == ("1 of each of risk and legal",)


NO_LEGAL = "it needs 1 of legal, and 0 may decide; nobody in legal may"


def people(said: str) -> list[Person]:
    return [Person(one.person, one.person, tuple(one.groups)) for one in votes(said)]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("r r l o o", ""),
        ("r r o o o", NO_LEGAL),
        ("r l l o o", "it needs 2 of risk, and 1 may decide"),
        (
            "r r o",
            f"it needs 5 distinct people, and 3 may decide; nobody in legal may; {NO_LEGAL}",
        ),
    ],
)
def test_a_class_that_too_few_people_are_in_is_named(said: str, why: str) -> None:
    assert shortfall(WANTED, people(said), NOBODY) == why


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (SignerClass(("risk",), 2, all_groups=False), "2 of risk"),
        (SignerClass(("risk", "legal"), 2, all_groups=False), "2 of risk or legal"),
        (SignerClass(("risk", "legal"), 1, all_groups=True), "1 of each of risk and legal"),
        (SignerClass(("risk", "legal"), 3, all_groups=True), "3 people, 1 of each of risk and legal"),
        (SignerClass(("risk",), 2, all_groups=True), "2 of risk"),
    ],
)
def test_a_class_is_said_in_words(one: SignerClass, words: str) -> None:
    assert one.words == words


CHANGES = [
    ("classes", [RISK, LEGAL], [RISK], "fewer-signatures", "stricter"),
    ("classes", [RISK], [{**RISK, "quorum": 1}], "fewer-signatures", "stricter"),
    ("classes", [EACH], [{**EACH, "all_groups": False}], "fewer-signatures", "stricter"),
    ("classes", [LEGAL], [{**LEGAL, "groups": ["risk", "legal"]}], "other-people", "stricter"),
    ("classes", [LEGAL], [{**LEGAL, "groups": ["ops"]}], "other-people", "other-people"),
    ("classes", [RISK, LEGAL], [LEGAL, RISK], "unchanged", "unchanged"),
    ("classes", [LEGAL, RISK], [{**RISK, "quorum": 3}, LEGAL], "stricter", "fewer-signatures"),
    ("classes", [RISK], [RISK, {**RISK, "quorum": 1}], "unchanged", "unchanged"),
    ("veto", [], ["legal"], "weaker-terms", "stricter"),
    ("veto", ["legal", "risk"], ["legal"], "weaker-terms", "stricter"),
    ("veto", ["legal"], ["risk"], "other-people", "other-people"),
    ("veto", ["legal", "risk"], ["risk", "legal"], "unchanged", "unchanged"),
]
STEPS = [
    (member, *step)
    for member, before, after, there, back in CHANGES
    for step in ((before, after, there), (after, before, back))
]


def with_member(member: str, value: Any) -> dict[str, Any]:
    return {**FIVE, **({member: value} if value else {})}


@pytest.mark.parametrize(("member", "before", "after", "expected"), STEPS)
def test_a_change_of_a_class_or_the_veto_is_sorted_by_what_it_gives_away(
    member: str, before: Any, after: Any, expected: str
) -> None:
    was, now = (Contract.model_validate_json(json.dumps(with_member(member, value))) for value in (before, after))
    found = [(str(one.kind), one.member) for one in requirement_differences(was, now)]
    assert found == ([] if expected == "unchanged" else [(expected, f"requirement.{member}")])


@pytest.mark.parametrize(
    ("member", "before", "after", "direction"),
    [
        ("classes", [RISK, LEGAL], [LEGAL], "wider"),
        ("veto", [], ["legal"], "wider"),
        ("veto", ["legal"], [], "narrower"),
    ],
)
def test_a_change_of_a_tenants_class_or_veto_has_a_direction(
    member: str, before: Any, after: Any, direction: str
) -> None:
    kept = {name: value for name, value in FIVE.items() if name not in ("exclude", "reason_required")}
    old, new = (
        files({"requirements": {"high": {**kept, **({member: value} if value else {})}}}) for value in (before, after)
    )
    [found] = config_changes(old, new)
    assert (found.path, found.direction) == (("requirements", "high", member), direction)
