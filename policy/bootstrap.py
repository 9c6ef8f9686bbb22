"""Rego tests made of decisions on record: each question as a fixture, and what the policy answers to it now."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policy.contract import Answer

PACKAGE = "countersign.recorded_test"


@dataclass(frozen=True)
class RecordedCase:
    """A decision on record, the question of it, and the answer that a test expects."""

    decision_id: str
    question: Mapping[str, Any]
    recorded: str  # the outcome that is on record
    answer: Answer


def tests_of(cases: Sequence[RecordedCase]) -> str:
    """Return a file of tests, one for each decision, not yet formatted.

    A test holds outcome, tier, requirement and the codes of the reasons: their wording may change.
    """
    return "\n".join([f"package {PACKAGE}", "", "import data.countersign.effect", *map(_test, cases)])


def _test(case: RecordedCase) -> str:
    effect, answer = case.question["effect"], case.answer.model_dump(mode="json")
    about = json.dumps(f"{effect['connector']}::{effect['operation']}")
    expected = {name: answer[name] for name in ("outcome", "tier", "requirement")}
    codes = sorted({reason.code for reason in case.answer.reasons})
    return f"""
# {case.decision_id}, about {about}: on record it was {case.recorded}
test_{case.decision_id} if {{
	answer := effect.decision with input as {_rego(case.question)}
	object.filter(answer, {json.dumps(sorted(expected))}) == {_rego(expected)}
	[reason.code | some reason in answer.reasons] == {_rego(codes)}
}}
"""


def _rego(value: Any) -> str:
    """Return a JSON value as Rego has it: the same text."""
    return json.dumps(value, indent=1)
