"""Strict YAML: what is read, what is refused, and where."""

import string
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from receipts.canonical import dumps
from runtime.definitions.loading.yaml_source import MAX_BYTES, SourceError, parse_source, read_source
from runtime.model.limits import MAX_INTEGER

TEXTS = st.text(alphabet=string.ascii_letters + string.digits + " _-:#{}[]&*!|>'\"%@`,?~.äöü漢🙂", max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-MAX_INTEGER, MAX_INTEGER) | st.floats(-1e9, 1e9) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)


def refusal(data: bytes) -> str:
    with pytest.raises(SourceError) as refused:
        parse_source(data, "f.yaml")
    return str(refused.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a: 1\nb: 2\na: 3\n", "f.yaml:3: a: the key 'a' stands twice"),
        (b"a:\n  b: {c: 1, c: 2}\n", "f.yaml:2: a.b.c: the key 'c' stands twice"),
        (b"a: &x 1\nb: *x\n", "f.yaml:1: a: anchors and aliases are not allowed"),
        (b"a: 1\nb: [*x]\n", "f.yaml:2: b: anchors and aliases are not allowed"),
        (b"a: !!str 1\n", "f.yaml:1: a: the tag tag:yaml.org,2002:str is not allowed"),
        (b"a: 1\n---\nb: 2\n", "f.yaml:2: $: more than one document in the file"),
        (b"1: a\n", "f.yaml:1: $: a key must be text; quote it"),
        (b"? [a]\n: b\n", "f.yaml:1: $: a key must be text; quote it"),
        (b"a: b: c\n", "f.yaml:1: $: not YAML: mapping values are not allowed in this context"),
        (b"a: \x00\n", "f.yaml:1: $: not YAML: a character that text may not hold"),
        (b"a: 1\nb: \xff\n", "f.yaml:2: $: not UTF-8"),
        (b"a: 9007199254740992\n", "f.yaml:1: a: the number 9007199254740992 is too large for JSON; quote it if it"),
        (b"a: 1e999\n", "f.yaml:1: a: the number 1e999 is too large for JSON"),
        (b"a: 1e20\n", "f.yaml:1: a: the number 1e20 is too large for JSON"),
        (b"a: " + b"[" * 40, "nested more than 32 levels deep"),
        (b"#" * (MAX_BYTES + 1), "f.yaml:1: $: larger than 1 MiB"),
    ],
)
def test_what_json_cannot_say_is_refused_with_its_place(data: bytes, message: str) -> None:
    assert message in refusal(data)


@pytest.mark.parametrize(
    "word", ["yes", "No", "ON", "off", "~", "True", "NULL", "012", "0x1F", "0o17", "+1", "1_000", ".5", "1.", ".inf"]
)
def test_value_that_yaml_versions_read_differently_has_to_be_quoted(word: str) -> None:
    reason = f"f.yaml:1: a: {word} is ambiguous: quote it if it is text, else write it as JSON does"
    assert refusal(f"a: {word}".encode()) == reason
    assert parse_source(f"a: '{word}'".encode(), "f.yaml").value == {"a": word}


def test_dates_times_and_versions_are_text() -> None:
    source = parse_source(b"[2026-01-01, 2026-01-01T10:00:00Z, 10:30, 1.2.3, Norway]", "f.yaml")
    assert source.value == ["2026-01-01", "2026-01-01T10:00:00Z", "10:30", "1.2.3", "Norway"]


@given(JSON)
def test_every_json_document_reads_as_itself(value: Any) -> None:
    assert parse_source(dumps(value), "f.yaml").value == value


@given(st.binary(max_size=60) | st.text(alphabet="ab:-[]{},&*!|>'\"%@#? \n\t", max_size=60).map(str.encode))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with suppress(SourceError):
        dumps(parse_source(data, "f.yaml").value)


def test_problem_is_placed_at_the_nearest_line_above() -> None:
    source = parse_source(b"a:\n  - b: 1\n  - c:\n      d: 2\n", "f.yaml")
    assert source.problem(("a", 1, "c", "d"), "code", "m").line == 4
    assert str(source.problem(("a", 1, "c", "e", 0), "code", "m")) == "f.yaml:3: a[1].c.e[0]: m"


def test_missing_file_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"cannot be read: No such file or directory"):
        read_source(tmp_path / "none.yaml", "none.yaml")
