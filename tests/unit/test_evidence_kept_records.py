"""Records that are kept in little memory are those that were read."""

from typing import Any

import pytest

from evidence.records import Extensible
from evidence.verify.forms import ApprovalForm, DecisionForm
from evidence.verify.kept_records import Shared
from evidence.verify.vote_forms import AccountForm, VoteForm
from receipts import canonical
from tests.unit.evidence_sample import story


@pytest.mark.parametrize(("form", "record"), [(DecisionForm, "decisions"), (ApprovalForm, "approvals")])
def test_a_record_is_kept_as_it_was_read(form: Any, record: str) -> None:
    shared = Shared()
    for said in getattr(story(), record).values():
        for more in ({}, {"more": {"a": [1, "x"]}}):
            read, kept = (form.model_validate({**said, **more}) for _ in range(2))
            shared.keep(kept)
            assert kept == read
            assert kept.model_dump() == read.model_dump()
            assert kept.model_fields_set == read.model_fields_set


def test_records_have_in_common_what_is_alike() -> None:
    shared, [said, *_] = Shared(), story().decisions.values()
    one, other, third = (shared.keep(DecisionForm.model_validate_json(canonical.dumps(said))) for _ in range(3))
    assert one.input.effect.digest is other.input.effect.digest
    assert one.answer.model_fields_set is other.answer.model_fields_set
    assert (other.answer.requirement is not None, other.answer.requirement) == (True, third.answer.requirement)
    assert other.answer.requirement is third.answer.requirement


@pytest.mark.parametrize("other", [{"team": "T2"}, {"more": 1}, {"more": True}])
def test_what_differs_in_anything_is_kept_apart(other: dict[str, object]) -> None:
    shared, said = Shared(), dict[str, object](team="T1", user="U1")
    read = [said, {**said, **other}, {**said, "more": 1.0}]
    kept = [shared.keep(AccountForm.model_validate(one)) for one in read]
    assert [repr(one) for one in kept] == [repr(AccountForm.model_validate(one)) for one in read]


@pytest.mark.parametrize("other", [{"team": "T2"}, {"more": 1}, {"more": True}, {"more": "T1"}])
@pytest.mark.parametrize("others_first", [True, False])
def test_parts_of_records_that_differ_in_anything_are_kept_apart(
    other: dict[str, object], *, others_first: bool
) -> None:
    [[vote, *_], *_] = (approval["votes"] for approval in story().approvals.values())
    votes = [{**vote, "slack": dict[str, object](team="T1", user="U1", **more)} for more in ({}, {"more": 1.0})]
    votes = [{**vote, "slack": {"team": "T1", "user": "U1"} | other}, *votes][:: 1 if others_first else -1] * 3
    shared = Shared()
    kept = [shared.keep(VoteForm.model_validate(one)) for one in votes]
    assert [repr(one) for one in kept] == [repr(VoteForm.model_validate(one)) for one in votes]


def test_parts_of_records_that_name_other_members_are_kept_apart() -> None:
    shared, [said, *_] = Shared(), story().decisions.values()
    named = [said, {**said, "answer": {**said["answer"], "budgets": []}}] * 3
    kept = [shared.keep(DecisionForm.model_validate(one)) for one in named]
    assert ["budgets" in one.answer.model_fields_set for one in kept] == [False, True] * 3


class One(Extensible):
    """A part of a record."""

    name: str


class Other(Extensible):
    """Another part, of the same members."""

    name: str


class Pair(Extensible):
    """A record with both."""

    one: One
    other: Other


def test_parts_of_records_that_are_of_different_kinds_are_kept_apart() -> None:
    shared = Shared()
    kept = [shared.keep(Pair.model_validate({"one": {"name": "x"}, "other": {"name": "x"}})) for _ in range(3)]
    assert [(type(pair.one), type(pair.other)) for pair in kept] == [(One, Other)] * 3
