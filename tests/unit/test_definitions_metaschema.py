"""JSON Schema's own schema in one document finds in any schema what the standard's own finds."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from runtime.definitions.loading.schema_faults import META_VALIDATOR, one_document

STANDARD = Draft202012Validator(Draft202012Validator.META_SCHEMA)
KEYWORDS = sorted(one_document()["properties"])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 1) | st.sampled_from(["", "a", "string", "#/definitions/a", "(", "#"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*KEYWORDS, "a"]), inner, max_size=4),
    max_leaves=12,
)


def faults(validator: Any, schema: Any) -> set[tuple[Any, ...]]:
    return {(tuple(error.absolute_path), error.message) for error in validator.iter_errors(schema)}


def test_it_knows_every_keyword() -> None:
    assert {"$ref", "allOf", "const", "contains", "definitions", "format", "maxLength", "type"} <= set(KEYWORDS)


@pytest.mark.parametrize("value", [None, True, -1, "(", [], ["a", "a"], {}, {"a": 1}, [{"type": 1}]], ids=repr)
def test_each_keyword_is_held_to_the_standard(value: Any) -> None:
    for keyword in KEYWORDS:
        assert faults(META_VALIDATOR, {keyword: value}) == faults(STANDARD, {keyword: value})


@given(values)
def test_any_schema_is_held_to_the_standard(schema: Any) -> None:
    assert faults(META_VALIDATOR, schema) == faults(STANDARD, schema)
