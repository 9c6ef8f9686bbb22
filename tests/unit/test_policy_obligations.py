"""Obligations of an answer: the gate fulfils notifications of what is allowed, and no other."""

from typing import Any

import pytest

from policy.answer import parse_answer
from policy.contract import PolicyUnavailableError

ALLOW: dict[str, Any] = {"outcome": "allow", "tier": "low", "requirement": None, "reasons": [], "obligations": []}


@pytest.mark.parametrize(
    ("outcome", "obligation", "unknown"),
    [
        ("allow", {"type": "notification", "id": "n", "to": ["a"], "body": "b"}, None),
        ("deny", {"type": "notification", "id": "n", "to": ["a"], "body": "b"}, "notification 'n' with deny"),
        ("allow", {"type": "step-up", "id": "s", "acr_value": "high"}, "step-up 's'"),
        ("allow", {"type": "custom", "id": "c", "name": "log", "parameters": {"to": 1}}, "custom 'c'"),
    ],
)
def test_the_gate_fulfils_notifications_of_what_is_allowed_and_no_other_obligation(
    outcome: str, obligation: dict[str, Any], unknown: str | None
) -> None:
    answer = parse_answer({**ALLOW, "outcome": outcome, "obligations": [obligation]}, "answer")
    assert answer.model_dump(mode="json")["obligations"] == [obligation]
    if unknown is None:
        assert [one.to for one in answer.notifications()] == [["a"]]
        return
    with pytest.raises(PolicyUnavailableError, match=f"unknown obligations: {unknown}"):
        answer.notifications()
