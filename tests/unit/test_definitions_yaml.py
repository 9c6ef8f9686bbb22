"""Definition files: strict YAML, schema faults, and damaged files.

Strict YAML: what is read, what is refused, and where.

However a file is damaged, loading ends in problems and never in another exception.

JSON Schema's own schema in one document finds in any schema what the standard's own finds.

A schema with many faults has the first of them named, so a file full of them is read as fast as any other.
"""

import json
import string
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from receipts.canonical import dumps
from runtime.definitions.canonical import from_canonical
from runtime.definitions.loading.runbooks import load_runbook
from runtime.definitions.loading.schema_faults import (
    META_VALIDATOR,
    MOST_FAULTS,
    definition_faults,
    object_faults,
    one_document,
)
from runtime.definitions.loading.verbs import load_verbs
from runtime.definitions.loading.yaml_source import MAX_BYTES, Source, SourceError, parse_source, read_source
from runtime.handlers import Call, Handler, JsonObject, Reconciled, Untouched
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


GOOD = Path(__file__).parent / "definitions" / "good"


async def act(call: Call) -> JsonObject:
    return call.params


async def look_back(call: Call) -> Reconciled:
    return Untouched()


HANDLERS = {
    "register::look_up": Handler(act, reconcile=look_back, writes=False),
    **dict.fromkeys(["tasks::open", "tasks::close"], Handler(act, reconcile=look_back)),
}
VERBS = yaml.safe_load((GOOD / "verbs/desk.yaml").read_text(encoding="utf-8"))
RUNBOOK = yaml.safe_load((GOOD / "runbooks/onboard.yaml").read_text(encoding="utf-8"))
WORDS = [
    "",
    "x",
    "lei",
    "type",
    "object",
    "array",
    "string",
    "uuid",
    "#/definitions/Node",
    "look",
    "ask",
    "P1D",
    "${",
    "write",
]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 9)
    | st.floats(-1, 1)
    | st.sampled_from([*WORDS, "${trigger.lei}", "${1}"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from([*WORDS, "$ref", "properties", "items", "required", "anyOf"]), inner, max_size=2
        )
    ),
    max_leaves=5,
)


@st.composite
def damaged(draw: st.DrawFn, document: Any) -> Source:
    """Draw `document` with one or two of its values replaced by others."""
    copy = json.loads(json.dumps(document))
    for _ in range(draw(st.integers(1, 2))):
        parent = copy
        while True:
            places = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
            place = draw(st.sampled_from(places))
            inner = parent[place]
            if not isinstance(inner, (dict, list)) or not inner or draw(st.booleans()):
                break
            parent = inner
        parent[place] = draw(VALUES)
    return parse_source(json.dumps(copy).encode(), "damaged.yaml")


@settings(max_examples=200)
@given(damaged(VERBS))
def test_damaged_verbs_are_whole_or_have_problems(source: Source) -> None:
    loaded, problems = load_verbs(source, HANDLERS)
    for verb in loaded:
        assert verb.verb is not None or verb.problems or problems


@settings(max_examples=200)
@given(damaged(VERBS), damaged(RUNBOOK))
def test_damaged_runbook_is_canonical_or_has_problems(verbs: Source, runbook: Source) -> None:
    known = {verb.name: verb.verb for verb in load_verbs(verbs, HANDLERS)[0]}
    loaded = load_runbook(runbook, known)
    if loaded.definition is None:
        assert loaded.problems or None in known.values()
    else:
        assert from_canonical(loaded.definition.canonical) == loaded.definition


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


MORE = ((), f"more than {MOST_FAULTS} problems here: the first are named")


def _wrong(count: int) -> dict[str, int]:
    return {f"k{number:03}": 1 for number in range(count)}


def test_all_faults_of_a_schema_are_named_where_they_are_few() -> None:
    found = list(object_faults(_wrong(MOST_FAULTS), {}))
    assert [path for path, _ in found] == [(name,) for name in _wrong(MOST_FAULTS)]


def test_only_the_first_faults_of_a_schema_are_named_where_they_are_many() -> None:
    for count in (MOST_FAULTS + 1, 10 * MOST_FAULTS):
        found = list(object_faults(_wrong(count), {}))
        assert [path for path, _ in found] == [*((name,) for name in _wrong(MOST_FAULTS)), ()]
        assert found[-1] == MORE


def test_only_the_first_faults_of_many_definitions_are_named() -> None:
    found = list(definition_faults({name: {"requried": []} for name in _wrong(10 * MOST_FAULTS)}))
    assert (len(found), found[-1]) == (MOST_FAULTS + 1, MORE)
