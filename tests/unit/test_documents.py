"""Columns of JSON: what is written is read back the same, whoever has to write it."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from runtime.store.database.write_buffer import json_text, read_json

_TEXTS = st.text(st.characters(codec=None, exclude_characters="\0"))  # halves of characters among them
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(_TEXTS, inner),
    max_leaves=20,
)


@given(_VALUES)
def test_a_document_is_read_back_as_it_was_written(value: Any) -> None:
    assert read_json(json_text(value)) == value


def test_half_a_character_is_kept() -> None:
    assert read_json(json_text({"name": "\ud800"})) == {"name": "\ud800"}


def test_a_number_beyond_64_bits_is_kept() -> None:
    assert read_json(json_text([2**70])) == [2**70]
