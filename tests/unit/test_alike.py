"""What several requests have in common, and what not: nothing that differs is shown as the same."""

import json
from dataclasses import replace
from typing import Any

import pytest

from bot.home.bulk_votes import sort
from bot.home.comparison import compare
from runtime.model.approval import AskKind
from runtime.model.votes import VoteVerdict
from runtime.services.approval_view import FieldView
from runtime.services.home import Entry, HomeStanding
from tests.unit.bot_samples import KYC


def both(*values: Any) -> tuple[str, str]:
    """Return in what requests with these values are alike, and in what they differ."""
    views = [replace(KYC, fields=(FieldView("limit", None, value),)) for value in values]
    same, other, _ = compare(views)
    return json.dumps(same, ensure_ascii=False), json.dumps(other, ensure_ascii=False)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, "1"),
        ("x" * 500 + "a", "x" * 500 + "b"),
        (["a", "b"], ["a · b"]),
        ([{"name": "Ann", "part": 1}], [{"name": "Ann", "part": 2}]),
        ({"deep": {"er": None}}, {"deep": {"er": False}}),
        ("", None),
    ],
)
def test_values_that_differ_are_never_shown_as_the_same(one: Any, other: Any) -> None:
    same, differs = both(one, other)
    assert "Limit" in differs
    assert "Limit" not in same


def test_values_that_are_the_same_stand_once() -> None:
    same, differs = both(7, 7, 7)
    assert "Limit" in same
    assert differs == "[]"


def test_a_field_that_one_request_does_not_have_is_a_difference() -> None:
    _, other, _ = compare([KYC, replace(KYC, fields=())])
    assert "—" in json.dumps(other, ensure_ascii=False)


def test_what_has_no_room_is_counted() -> None:
    view = replace(KYC, fields=tuple(FieldView(f"f{number}", None, number) for number in range(40)))
    assert "more fields — Show all" in json.dumps(compare([view, view]).same, ensure_ascii=False)


def test_what_has_to_be_signed_what_is_in_doubt_and_reviews_are_left_out_and_why() -> None:
    views = [
        KYC,
        replace(KYC, sign_with="passkey"),
        replace(KYC, kind=AskKind.IN_DOUBT),
        replace(KYC, kind=AskKind.TASK),
    ]
    standings = [HomeStanding(view.approval_id, Entry(view, None), None) for view in views]
    found = sort(standings, VoteVerdict.APPROVE)
    assert list(found.together) == [KYC]
    passkey, doubt, review = (why for _, why in found.apart)
    assert "passkey" in passkey
    assert "decided one by one" in doubt
    assert "cannot be decided together" in review
    assert len(sort(standings, VoteVerdict.REJECT).together) == 2  # a rejection needs no passkey


def test_what_tells_a_request_apart_stands_beside_it_and_ids_are_only_counted() -> None:
    places = ("Network", "Database")
    views = [
        replace(KYC, target=f"incident:{place:032x}", fields=(FieldView("group", None, name),))
        for place, name in enumerate(places)
    ]
    found = compare(views)
    assert found.lines == [f"Group: {name}" for name in places]
    assert "2 different" in json.dumps(found.other)
    assert "0" * 31 not in json.dumps(found.other)
