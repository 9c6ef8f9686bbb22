"""People whom an effect's fields name: which names a field has, and whom the directory knows by them."""

from typing import Any

import pytest

from runtime.named_people import names_in, told_who

FIELDS: dict[str, Any] = {
    "one": "UOLGA",
    "some": ["olga", "rita"],
    "nobody": None,
    "none": [],
    "number": 7,
    "mixed": ["olga", 7],
    "ticket": {"owners": ["sam"], "closed_by": None},
}


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("one", ["UOLGA"]),
        ("some", ["olga", "rita"]),
        ("nobody", []),
        ("none", []),
        ("ticket.owners", ["sam"]),
        ("ticket.closed_by", []),
    ],
)
def test_a_field_names_people_as_a_text_or_a_list_of_texts(path: str, names: list[str]) -> None:
    assert names_in(FIELDS, path) == names


@pytest.mark.parametrize("path", ["missing", "number", "mixed", "ticket", "ticket.missing", "one.deeper"])
def test_a_field_that_is_missing_or_of_another_kind_names_nobody_knows_whom(path: str) -> None:
    assert names_in(FIELDS, path) is None


def test_of_a_field_everybody_is_known_or_none_is_told() -> None:
    known = {"olga": ["olga"], "UX": ["zoe", "ann"]}
    names = {"a": ["olga", "UX"], "b": ["olga", "somebody"], "c": None, "d": []}
    assert told_who(names, known) == {"a": ["ann", "olga", "zoe"], "b": None, "c": None, "d": []}
