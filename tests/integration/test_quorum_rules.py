"""What votes add up to is told by three: the runtime, the policy, and the verifier of evidence. They agree."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from evidence.records import RequirementRecord, VoteRecord
from evidence.verify.material.contents import BrokenError
from evidence.verify.people.quorum import check_quorum
from policy.bundle import build_bundle
from policy.vet import run_opa
from runtime.approvals.rules import Cast, tally
from runtime.model.approval import ApprovalStatus, Requirement, VoteVerdict
from tests.opa_server import SHIPPED, opa_program, question, vote

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


@pytest.fixture(scope="module")
def bundle() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bundle.tar.gz"
        file.write_bytes(build_bundle(SHIPPED).data)
        yield file


def leave(delegator: str = "") -> dict[str, Any]:
    """Return what a vote for somebody else has besides."""
    return {"delegation": {"delegator": delegator, "recorded_by": "omar"}} if delegator else {}


def runtime_says(case: Case) -> bool:
    requirement, votes = case
    counted = [Cast(VoteVerdict.APPROVE, who, groups, *whom) for (who, *whom), groups in votes]
    return tally(Requirement.of(requirement), counted) is ApprovalStatus.APPROVED


def verifier_says(case: Case) -> bool:
    requirement, votes = case
    counted = [
        VoteRecord(person=who, groups=groups, verdict="approve", **leave(*whom)) for (who, *whom), groups in votes
    ]
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
    kept = ("quorum", "groups", "all_groups", "expires_in", "escalate_to")
    return [question(cast or None).model_dump(mode="json"), {name: requirement[name] for name in kept}]


async def policy_says(bundle: Path, cases: list[Case]) -> list[bool]:
    asked = json.dumps([asked_of_policy(case) for case in cases])
    arguments = ("eval", "--bundle", str(bundle), "--stdin-input", "--strict-builtin-errors", "--format", "raw")
    return list(json.loads(await run_opa(opa_program(), *arguments, _EACH, stdin=asked)))


@given(cases=st.lists(st.tuples(REQUIREMENTS, VOTES), min_size=20, max_size=60))
@settings(max_examples=8, phases=[Phase.generate])  # a batch is not worth shrinking
async def test_runtime_policy_and_verifier_agree_on_what_is_enough(bundle: Path, cases: list[Case]) -> None:
    for case, said in zip(cases, await policy_says(bundle, cases), strict=True):
        assert (case, runtime_says(case), verifier_says(case)) == (case, said, said)
