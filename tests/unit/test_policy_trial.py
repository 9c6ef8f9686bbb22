"""Questions that somebody makes up: parsed as the gate makes them, and changed member by member."""

from typing import Any

import pytest

from policy.errors import PolicyError
from policy.trial import parse_question, with_changes
from policy.vetting import sample_question

QUESTION = sample_question("acme", "register", "file_report", "register:1", "high", "2026-01-05T10:00:00Z")
DOCUMENT = QUESTION.model_dump(mode="json")


def test_a_question_that_is_whole_is_what_the_gate_would_ask() -> None:
    assert parse_question(DOCUMENT) == QUESTION


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({**DOCUMENT, "tennant": "acme"}, "tennant: Extra inputs are not permitted"),
        ({name: value for name, value in DOCUMENT.items() if name != "votes"}, "votes: Field required"),
        ({**DOCUMENT, "counters": {"writes": "3"}}, "counters.writes: Input should be a valid integer"),
        ([], "it: "),
        (None, "it: "),
    ],
    ids=["a member too many", "one too few", "of another type", "a list", "nothing"],
)
def test_a_question_that_is_none_is_refused_with_where_and_why(document: Any, said: str) -> None:
    with pytest.raises(PolicyError, match=f"^the question is none: {said}"):
        parse_question(document)


def test_members_are_changed_by_their_paths_and_the_first_document_stays() -> None:
    changes = ["effect.fields.amount=900", "step=file", 'actor.groups=["ops"]', "effect.fields.note=a=b", "step=12x"]
    changed = with_changes(DOCUMENT, changes)
    assert changed["effect"]["fields"] == {"amount": 900, "note": "a=b"}
    assert (changed["step"], changed["actor"]["groups"]) == ("12x", ["ops"])
    assert (DOCUMENT["step"], DOCUMENT["effect"]["fields"]) == ("", {})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("effect.fields", "write PATH=VALUE"),
        ("=1", "write PATH=VALUE"),
        ("effect.=1", "write PATH=VALUE"),
        ("efect.fields.amount=1", "the question has no efect.fields"),
        ("step.name=1", "the question has no step"),
    ],
)
def test_a_change_of_what_is_not_there_is_refused(change: str, said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        with_changes(DOCUMENT, [change])
