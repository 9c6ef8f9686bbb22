"""Large JSON is checked in pieces as strictly as small JSON at once, and little of it is built."""

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from receipts import canonical, pieces, piecewise, redaction
from receipts.canonical import MAX_DEPTH, Apart, CanonicalError
from receipts.fields import Texts, in_parts
from receipts.piecewise import Outline, Part
from receipts.redaction import MARKER, redact

MIB = 2**20
OUTLINES: list[Outline] = [
    Part.BUILT,
    Part.UNNAMED,
    Part.APART,
    {"*": Part.APART},
    {"a": Part.BUILT, "*": {"*": Part.APART}},
]
texts = st.text(st.sampled_from('ae,:[]{}"\\/-0 \n\x00ö€😀\ue000'))
values: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([None, True, 0, -1, 1.5, 1e-7, 1e-6, 1.5e-6, 12, {}, []]) | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts | st.just("a"), inner),
    max_leaves=20,
)
unharried = settings(
    deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.fixture(params=[16, 64])
def short(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let even short documents be long ones: of many pieces, and with much that stands apart."""
    size: int = request.param
    for name, value in {"AT_ONCE": 0, "LARGE": 4, "LONG": 4}.items():
        monkeypatch.setattr(piecewise, name, value)
    for name, value in {"PIECE": size, "_FIRST": 8, "_NEAR": 3}.items():
        monkeypatch.setattr(pieces, name, value)
    monkeypatch.setattr(redaction, "_PIECE", size)


def whole(value: Any) -> Any:
    """Return a value with nothing apart."""
    if isinstance(value, Apart):
        return value.value()
    if isinstance(value, dict):
        return {name: whole(item) for name, item in value.items()}
    return [whole(item) for item in value] if isinstance(value, list) else value


def refusal(read: Any, *args: Any) -> str:
    """Return what is said of bytes that are not canonical; "" of others."""
    try:
        read(*args)
    except CanonicalError as error:
        return str(error)
    return ""


@given(value=values, outline=st.sampled_from(OUTLINES))
@unharried
def test_what_is_read_in_pieces_is_what_is_read_at_once(short: None, value: Any, outline: Outline) -> None:
    data = canonical.dumps(value)
    found = piecewise.loads(data, outline)
    assert whole(found) == value
    assert found == value
    assert canonical.dumps(found) == data


@given(value=values, outline=st.sampled_from(OUTLINES), data=st.data())
@unharried
def test_what_is_bent_is_refused_with_the_same_words(
    short: None, value: Any, outline: Outline, data: st.DataObject
) -> None:
    bent = bytearray(canonical.dumps(value))
    at = data.draw(st.integers(0, len(bent) - 1))
    more = data.draw(st.sampled_from([b"", *(bytes([byte]) for byte in b'ae,:[]{}"\\/-0 \n\x00.1')]))
    bent[at : at + data.draw(st.integers(0, 1))] = more
    assert refusal(piecewise.loads, bytes(bent), outline) == refusal(canonical.loads, bytes(bent))


ROWS = b"[" + b",".join([b'{"a":1,"b":"x"}'] * 5_000) + b"]"
"""More than is read at once, and than a piece."""
FEW = b"[" + b",".join([b'{"a":1,"b":"x"}'] * 20) + b"]"
"""The same where even short documents are long ones."""
WRONG = {
    "name twice": b'{"b":%s,"b":1}',
    "names out of order": b'{"b":%s,"a":1}',
    "names in order of UTF-8": '{"\ue000":%s,"😀":1}'.encode(),
    "comma at the end": b'{"b":%s,}',
    "two commas": b'{"b":%s,,"c":1}',
    "other bracket": b'{"b":%s]',
    "space": b'{"b":%s ,"c":1}',
    "other spelling of a number": b'{"b":%s,"c":1.0}',
    "other spelling of a text": b'{"b":%s,"c":"\\u0041"}',
    "lone surrogate": b'{"b":%s,"c":"\\ud800"}',
    "not closed": b'{"b":%s',
    "more after the end": b'{"b":%s}[]',
    "too deep": b'{"b":%s,"c":' + b"[" * MAX_DEPTH + b"0" + b"]" * MAX_DEPTH + b"}",
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("wrap", [b"%s", b'{"x":[%s]}'], ids=["outside", "inside"])
def test_what_is_wrong_beside_or_within_large_json_is_found(short: None, name: str, wrap: bytes) -> None:
    data = wrap % (WRONG[name] % FEW)
    said = refusal(canonical.loads, data)
    assert said
    for outline in OUTLINES:
        assert refusal(piecewise.loads, data, outline) == said


def test_nesting_has_the_same_limit_in_large_json() -> None:
    value: Any = 0
    for _ in range(MAX_DEPTH - 2):
        value = [value]
    data = canonical.dumps({"a": json.loads(ROWS), "b": [value]})
    assert isinstance(piecewise.loads(data, {"*": Part.APART})["b"], list)
    deeper = data.replace(b"[0]", b"[[[0]]]")
    assert "nested deeper" in refusal(piecewise.loads, deeper, {"*": Part.APART})


@pytest.mark.parametrize(
    "value",
    [
        b"[" + b"[]," * (MIB // 3) + b"[]]",
        b"[" + b'"",' * (MIB // 3) + b'""]',
        b"[" + b"1.5e-7," * (MIB // 7) + b"0]",
        b"[" + b"0.0000015," * (MIB // 10) + b"0]",
        b"[" + b'{"a":{"b":[1,true]}},' * (MIB // 21) + b"0]",
        b'"' + b'\\n\\u0001\\"' * (MIB // 10) + b'"',
        b'["' + "😀".encode() * (MIB // 4) + b'"]',
    ],
    ids=["lists", "texts", "numbers", "millionths", "objects", "escapes", "emoji"],
)
def test_large_json_is_checked_in_little_memory(value: bytes) -> None:
    data = b'{"a":1,"b":' + value + b"}"
    tracemalloc.start()
    try:
        found = piecewise.loads(data, {"b": Part.APART})
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(found["b"], Apart)
    assert bytes(found["b"].data) == value
    assert most < 7 * MIB  # built, it is 12 to 86


def test_what_stands_apart_is_written_and_told_as_what_it_is() -> None:
    data = b'{"a":[1,2],"b":"' + b"x" * 5000 + b'"}'
    apart = Apart(data, 5, 10)
    value: Any = apart
    assert value == [1, 2]
    assert (repr(apart), apart.is_text) == ("[1, 2]", False)
    assert value not in ([1, 3], {1, 2}, [True, 2])
    assert canonical.dumps({"z": apart, "\ue000": 1, "😀": 2}) == '{"z":[1,2],"😀":2,"\ue000":1}'.encode()
    assert canonical.digest([apart]) == canonical.digest([[1, 2]])


@given(value=values, name=texts)
@unharried
def test_a_member_is_the_same_whether_its_object_stands_apart_or_not(short: None, value: Any, name: str) -> None:
    data = canonical.dumps([value])
    apart = Apart(data, 1, len(data) - 1) if isinstance(value, dict | list | str) else value
    for one in (name, *(value if isinstance(value, dict) else ())):
        expected = value.get(one) if isinstance(value, dict) else None
        for held in (value, apart):
            found = piecewise.member(held, one)
            assert whole(found) == expected
            assert type(found) in {type(expected), Apart}
            assert not (isinstance(found, Apart) and found.is_text)


@pytest.mark.parametrize("name", ["a", "commitment", "rows", "z"])
def test_a_member_of_a_large_object_is_found_in_little_memory(name: str) -> None:
    rows = b"[" + b"[]," * (MIB // 12) + b"[]]"
    data = b'{"a":' + rows + b',"commitment":"c0ffee","rows":' + rows + b"}"
    tracemalloc.start()
    try:
        found = piecewise.member(Apart(data, 0, len(data)), name)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    expected = {"a": rows, "commitment": "c0ffee", "rows": rows, "z": None}[name]
    assert (bytes(found.data) if isinstance(found, Apart) else found) == expected
    assert most < 7 * MIB  # built, it is 17


LEFT = {"rows": [{"id": number, "note": "checked, all well"} for number in range(50)]}
HIDDEN: dict[str, Any] = {
    "by its name": [{**LEFT, "apiKey": "s3cret"}],
    "by a name in other letters": [{**LEFT, "\uff50assword": "s3cret"}],
    "by a name with an escape": [{**LEFT, "api\nkey": "s3cret"}],
    "by an address with a query": [{**LEFT, "token_url": "https://example.test?a=b"}],
    "beside a number whose name is longer than a piece": [{**LEFT, "k" * 70_000: 12, "password": "s3cret"}],
    "by a place": {**LEFT, "share": 36},
}


@pytest.mark.parametrize("name", HIDDEN)
def test_what_has_to_be_hidden_within_what_stands_apart_is_hidden(name: str) -> None:
    value = {"param": HIDDEN[name], "rows": [LEFT]}
    pointers = ["/param/share"] if name == "by a place" else []
    read = piecewise.loads(canonical.dumps(value), {"*": Part.APART})
    assert isinstance(read["param"], Apart)
    hidden = redact(read, pointers).value
    assert canonical.dumps(hidden) == canonical.dumps(redact(value, pointers).value)
    assert MARKER.encode() in canonical.dumps(hidden)
    assert isinstance(hidden["rows"], Apart)


named: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([None, 1.5e-6, 12, "", "https://example.test", "https://example.test?a=b"]) | texts,
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*"abc", "token", "token_url", "0"]), inner),
    max_leaves=20,
)
pointers = st.lists(
    st.lists(st.sampled_from([*"abc*012", "token", "token_url"])).map(lambda all_: "/".join(["", *all_]))
)


@pytest.mark.parametrize("number", [12, 0.5, -1.5, 1.5e-7, -0.0000015])
def test_a_number_is_redacted_whole_wherever_a_piece_ends(short: None, number: float) -> None:
    for before in range(64):
        value = {"a": ["x" * before, number, {"token": 1}]}
        read = piecewise.loads(canonical.dumps(value), {"*": Part.APART})
        assert redact(read).value == {"a": ["x" * before, number, {"token": MARKER}]}


def plainly(value: Any, declared: list[list[str]], path: str, hidden: list[str]) -> Any:
    """Redact as simply as it can be said: each pointer is followed by itself."""
    if [] in declared:
        hidden.append(path)
        return MARKER
    if isinstance(value, list):
        inside = [[rest[1:] for rest in declared if rest[0] in (str(i), "*")] for i in range(len(value))]
        return [plainly(item, inside[i], f"{path}/{i}", hidden) for i, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    found = {}
    for name, item in value.items():
        is_secret = name == "token" or (name == "token_url" and not (isinstance(item, str) and "?" not in item))
        rest = [[]] if is_secret else [rest[1:] for rest in declared if rest[0] == name]
        found[name] = plainly(item, rest, f"{path}/{name}", hidden)
    return found


@given(value=st.dictionaries(st.sampled_from("abc"), named), declared=pointers)
@unharried
def test_large_json_is_redacted_in_parts_as_small_json_at_once(short: None, value: Any, declared: list[str]) -> None:
    read = piecewise.loads(canonical.dumps(value), {"*": Part.APART})
    assert canonical.dumps_again(read) == canonical.dumps(value)
    paths: list[str] = []
    expected = plainly(value, [pointer.split("/")[1:] for pointer in declared], "", paths)
    for given_ in (value, read):
        redacted = redact(given_, declared)
        assert canonical.dumps(redacted.value) == canonical.dumps(expected)
        assert redacted.paths == tuple(sorted(paths))


@given(value=st.lists(texts) | st.lists(texts | values) | values)
@unharried
def test_a_list_of_texts_that_stands_apart_is_taken_and_refused_as_one_that_does_not(short: None, value: Any) -> None:
    data = canonical.dumps(value)
    found, taken = taken_as_texts(value), taken_as_texts(Apart(data, 0, len(data)))
    assert found == taken
    if value == found:
        assert [text for part in in_parts(Apart(data, 0, len(data))) for text in part] == value  # type: ignore[arg-type]


def taken_as_texts(value: Any) -> Any:
    """Return a list of texts as records take it, or what is said of another value."""
    try:
        return TypeAdapter(Texts).validate_python(value, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        return first["loc"], first["msg"]
