"""Rego tests from recorded decisions: the question is the fixture, the policy's current answer is expected."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policy.contract import Answer

PACKAGE = "countersign.recorded_test"


@dataclass(frozen=True)
class RecordedCase:
    """A recorded decision: its question, its recorded outcome, and the answer that the test expects."""

    decision_id: str
    question: Mapping[str, Any]
    recorded: str  # the outcome that is on record
    answer: Answer


def tests_of(cases: Sequence[RecordedCase]) -> str:
    """Return a Rego file with one test for each decision, not formatted.

    A test compares outcome, tier, requirement and reason codes; the wording and the order of reasons may change.
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
	{{reason.code | some reason in answer.reasons}} == {_rego_set(codes)}
}}
"""


def _rego_set(codes: Sequence[str]) -> str:
    """Return codes as a Rego set; that of none has a name of its own."""
    return "{" + ", ".join(map(json.dumps, codes)) + "}" if codes else "set()"


def _rego(value: Any) -> str:
    """Return a JSON value as a Rego literal, which is the same text."""
    return json.dumps(value, indent=1)
