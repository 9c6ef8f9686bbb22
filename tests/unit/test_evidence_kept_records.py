"""Records that are kept in little memory are those that were read."""

from typing import Any

import pytest

from evidence.verify.forms import ApprovalForm, DecisionForm
from evidence.verify.kept_records import Shared
from evidence.verify.vote_forms import AccountForm
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
    one, other = (shared.keep(DecisionForm.model_validate_json(canonical.dumps(said))) for _ in range(2))
    assert one.input.effect.digest is other.input.effect.digest
    assert one.answer.model_fields_set is other.answer.model_fields_set


@pytest.mark.parametrize("other", [{"team": "T2"}, {"more": 1}, {"more": True}])
def test_what_differs_in_anything_is_kept_apart(other: dict[str, object]) -> None:
    shared, said = Shared(), dict[str, object](team="T1", user="U1")
    read = [said, {**said, **other}, {**said, "more": 1.0}]
    kept = [shared.keep(AccountForm.model_validate(one)) for one in read]
    assert [repr(one) for one in kept] == [repr(AccountForm.model_validate(one)) for one in read]
