"""Canonical JSON and costs: one spelling for each value, and exact sums.

Canonical JSON: one spelling for each value, none for what JSON readers would disagree about.

Costs: exact sums of what was told, in any order, and nothing where nobody told anything.
"""

import enum
import json
import uuid
from dataclasses import make_dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
import rfc8785
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from receipts import canonical
from receipts.canonical import MAX_DEPTH, CanonicalError
from receipts.usage import CallReport, ReadRecord, Usage, amount, rollup, usages_of
from tests.unit.evidence_variants import TOLD, USAGE, read

LARGEST = 2**53 - 1
numbers = st.integers(-LARGEST, LARGEST) | st.floats(-1e15, 1e15, allow_subnormal=True)
texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


@given(values)
@settings(deadline=None)
def test_what_is_read_back_has_the_same_bytes(value: Any) -> None:
    data = canonical.dumps(value)
    assert canonical.dumps(canonical.loads(data)) == data
    assert canonical.loads(data) == value


millionths = st.floats(5e-7, 2e-5).flatmap(lambda number: st.sampled_from([number, -number])) | st.sampled_from(
    [1e-6, 1.5e-6, 9.999999999999999e-6, 1e-5, 0.5]
)
texts_of_numbers = st.lists(st.sampled_from(['"', "\\", ",", "[", ":", "1.5e-6", "1e-6", "0.0000015", "]"])).map(
    "".join
)


# What two writers could disagree about: order of names, escapes, fractions, exponents, and texts that look like these.
edgy = st.text(st.sampled_from('ae.,:[]{}"\\/-019 \n\x00\x1f\x7f\x80ö€\u2028\ud7ff\ue000\uffff\U00010000\U0001f600'))
edges = st.recursive(
    st.none()
    | st.booleans()
    | numbers
    | edgy
    | st.sampled_from([0.0, -0.0, 1.0, 1e15, 1e-7, 1e-6, 1.5e-6, 5e-324, LARGEST, -LARGEST]),
    lambda inner: st.lists(inner) | st.dictionaries(edgy, inner) | st.lists(inner, max_size=3).map(tuple),
    max_leaves=30,
)


@given(edges)
@settings(deadline=None, max_examples=300)
def test_every_value_is_written_as_the_package_of_the_standard_writes_it(value: Any) -> None:
    data = rfc8785.dumps(value)
    assert canonical.dumps(value) == data
    assert canonical.dumps_again(canonical.loads(data)) == data


def test_what_is_almost_always_written_does_not_take_the_long_way(monkeypatch: pytest.MonkeyPatch) -> None:
    leaf: dict[str, Any] = {
        "at": "2026-01-05T10:00:00.123456Z",
        "data": {"seq": -7, "ok": True, "said": "1.5 for Jürgen: yes, e.g. 2.5", "latency_ms": 1.05},
        "digest": "3e4f1e5a",
    }
    expected = rfc8785.dumps(leaf)
    monkeypatch.delattr(rfc8785, "dumps")
    assert canonical.dumps(leaf) == expected
    assert canonical.loads(expected) == leaf


@given(
    st.lists(millionths | texts_of_numbers | st.integers(0, 9), min_size=1)
    | st.dictionaries(texts_of_numbers, millionths | st.lists(millionths | texts_of_numbers), min_size=1)
)
@settings(deadline=None, max_examples=500)
def test_millionths_are_written_and_read_as_the_package_of_the_standard_writes_them(value: Any) -> None:
    data = rfc8785.dumps(value)
    assert canonical.dumps(value) == data
    assert canonical.loads(data) == value
    assert canonical.dumps_again(value) == data


def test_millionths_do_not_take_the_long_way(monkeypatch: pytest.MonkeyPatch) -> None:
    value: Any = {"rates": [0.000001, -0.0000015, 9.999e-6, 0.00001, 1e-7], "said": 'it was "[1.5e-6]", \\'}
    data = rfc8785.dumps(value)
    monkeypatch.delattr(rfc8785, "dumps")
    assert canonical.dumps(value) == data
    assert canonical.loads(data) == value
    for wrong in (b"1e-6", b"0.0000010", b"1.0e-6", b"10e-7", b"0.1e-5"):
        with pytest.raises(CanonicalError, match="not in canonical form"):
            canonical.loads(data.replace(b"0.000001,", wrong + b","))


@given(st.lists(st.floats(-LARGEST, LARGEST), min_size=1) | st.dictionaries(edgy, st.floats(-1e-4, 1e-4), min_size=1))
@settings(deadline=None, max_examples=1000)
def test_every_fraction_is_written_as_the_package_of_the_standard_writes_it(value: Any) -> None:
    assert canonical.dumps(value) == rfc8785.dumps(value)


@given(edges, st.integers(0, 2**16), st.sampled_from([*b' 0.16e-+",:[]{}\\\x00', None]))
@settings(deadline=None, max_examples=500)
def test_bytes_are_canonical_where_their_value_is_written_as_they_are(value: Any, at: int, byte: int | None) -> None:
    data = bytearray(rfc8785.dumps(value))
    data[at % len(data) : at % len(data) + 1] = b"" if byte is None else bytes([byte])
    try:
        expected = json.loads(bytes(data))
        is_canonical = rfc8785.dumps(expected) == bytes(data)
    except (ValueError, RecursionError):
        is_canonical = False
    if is_canonical:
        assert canonical.loads(bytes(data)) == expected
    else:
        with pytest.raises(CanonicalError):
            canonical.loads(bytes(data))


@given(st.dictionaries(texts, values, min_size=2, max_size=5))
@settings(deadline=None)
def test_order_of_members_does_not_change_the_digest(value: dict[str, Any]) -> None:
    assert canonical.digest(value) == canonical.digest(dict(reversed(value.items())))


@given(values, values)
@settings(deadline=None)
def test_different_values_have_different_bytes(one: Any, other: Any) -> None:
    assume(json.dumps(one, sort_keys=True) != json.dumps(other, sort_keys=True))
    assume(one != other)
    assert canonical.dumps(one) != canonical.dumps(other)


def test_example_of_the_standard_is_written_as_the_standard_says() -> None:
    value = {
        "numbers": [333333333.33333329, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": '€$\u000f\nA\'B"\\\\"/',
        "literals": [None, True, False],
    }
    assert (
        canonical.dumps(value)
        == (
            '{"literals":[null,true,false],"numbers":[333333333.3333333,4.5,0.002,1e-27],'
            '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
        ).encode()
    )


def test_members_are_ordered_by_utf16_as_the_standard_says() -> None:
    names = ["€", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "ö"]
    in_order = ["\r", "1", "\u0080", "ö", "€", "\U0001f600", "\ufb33"]
    assert list(json.loads(canonical.dumps(dict.fromkeys(names, 0)))) == in_order


def test_digest_is_lowercase_sha256_of_the_bytes() -> None:
    assert canonical.digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


class Colour(enum.Enum):
    """A value that `orjson` would write as a text."""

    RED = "red"


def deep(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [{1: 2}]}, "/a/0: member name 1 is not text"),
        ({"a": float("nan")}, "/a: nan is not a JSON number"),
        ([float("-inf")], "/0: -inf is not a JSON number"),
        ({"a/b": {"~": 2**53}}, "/a~1b/~0: whole number beyond 2**53 - 1; write it as text"),
        ({"a": 10**310}, "/a: whole number beyond 2**53 - 1; write it as text"),
        ({"a": -(10**310)}, "/a: whole number beyond 2**53 - 1; write it as text"),
        ({"a": 1e308}, "/a: whole number beyond 2**53 - 1; write it as text"),
        (-(2**53), "(root): whole number beyond 2**53 - 1; write it as text"),
        (1e20, "(root): whole number beyond 2**53 - 1; write it as text"),
        ({"a": "\ud800"}, "/a: text holds a lone surrogate at position 0"),
        ({"x\udfff": 1}, "(root): text holds a lone surrogate at position 1"),
        ({"a": Decimal(1)}, "/a: Decimal is not a JSON type"),
        ({"a": b"x"}, "/a: bytes is not a JSON type"),
        ({"a": {1, 2}}, "/a: set is not a JSON type"),
        ({"a": uuid.UUID(int=1)}, "/a: UUID is not a JSON type"),
        ([datetime(2026, 1, 5, tzinfo=UTC)], "/0: datetime is not a JSON type"),
        ([date(2026, 1, 5)], "/0: date is not a JSON type"),
        ({"a": Colour.RED}, "/a: Colour is not a JSON type"),
        ({"a": make_dataclass("point", ["x"])(1)}, "/a: point is not a JSON type"),
    ],
)
def test_value_without_canonical_form_is_refused_with_its_path(value: Any, message: str) -> None:
    with pytest.raises(CanonicalError) as caught:
        canonical.dumps(value)
    assert str(caught.value) == message


def test_largest_whole_numbers_are_written() -> None:
    assert canonical.dumps([LARGEST, -LARGEST]) == b"[9007199254740991,-9007199254740991]"


def test_nesting_has_a_limit() -> None:
    assert canonical.loads(canonical.dumps(deep(MAX_DEPTH))) == deep(MAX_DEPTH)
    with pytest.raises(CanonicalError, match="nested deeper"):
        canonical.dumps(deep(MAX_DEPTH + 1))


def test_text_enumeration_is_written_as_its_text() -> None:
    colour = enum.StrEnum("colour", {"RED": "red"})
    assert canonical.dumps({colour.RED: [colour.RED]}) == b'{"red":["red"]}'


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":1,"a":1}',
        b'{"a":1,"a":2}',
        b'{"b":1,"a":2}',
        b'{"a": 1}',
        b'{"a":1}\n',
        b"1.0",
        b"1e2",
        b"-0",
        b"NaN",
        b"1e999",
        b"9007199254740993",
        b"9" * 310,
        b"-" + b"9" * 310,
        b'"\\u0061"',
        b'"\\ud800"',
        b'"\xff"',
        b'"a',
        b"",
        b"[" * 100_000,
        b"9" * 5_000,
        b'\xef\xbb\xbf"a"',
        '"a"'.encode("utf-16"),
    ],
)
def test_bytes_that_are_not_canonical_are_refused(data: bytes) -> None:
    with pytest.raises(CanonicalError):
        canonical.loads(data)


@pytest.mark.parametrize("digits", [310, 5_000])
def test_whole_number_of_any_length_is_refused_with_a_sentence_of_its_own(digits: int) -> None:
    with pytest.raises(CanonicalError, match=r"whole number beyond 2\*\*53 - 1; write it as text$"):
        canonical.loads(b'{"a":' + b"9" * digits + b"}")


exact = st.decimals(0, 10**14, places=12, allow_nan=False, allow_infinity=False)
usages = st.builds(
    lambda provider, model, units, cost: Usage(
        provider=provider,
        model=model,
        units={name: amount(number) for name, number in units.items()},
        cost=None if cost is None else amount(cost[0]),
        currency=None if cost is None else cost[1],
    ),
    st.sampled_from(["a", "b"]),
    st.sampled_from([None, "m", "n"]),
    st.dictionaries(st.sampled_from(["requests", "input_tokens"]), exact),
    st.none() | st.tuples(exact, st.sampled_from(["USD", "EUR"])),
)


@given(st.lists(usages, max_size=20), st.randoms())
def test_costs_are_exact_sums_whatever_the_order(told: list[Usage], random: Any) -> None:
    shuffled = list(told)
    random.shuffle(shuffled)
    assert rollup(told) == rollup(shuffled)
    for currency in ("USD", "EUR"):
        wanted = sum(Fraction(Decimal(one.cost)) for one in told if one.cost is not None and one.currency == currency)
        assert sum(Fraction(Decimal(one.amounts.get(currency, "0"))) for one in rollup(told)) == wanted
    assert sum(one.calls for one in rollup(told)) == len(told)
    assert sum(one.calls_without_cost for one in rollup(told)) == sum(one.cost is None for one in told)


def test_the_largest_amounts_add_up_to_the_last_place() -> None:
    largest = Usage.model_validate(USAGE | {"cost": "999999999999999.999999999999"})
    (costs,) = rollup([largest] * 1000)
    assert costs.amounts == {"USD": "999999999999999999.999999999"}


@given(exact | st.integers(0, 10**15 - 1))
def test_an_amount_has_one_spelling_and_keeps_its_value(number: Decimal | int) -> None:
    text = amount(number)
    assert Decimal(text) == number
    assert Usage.model_validate(USAGE | {"cost": text}).cost == text
    assert canonical.loads(canonical.dumps(text)) == text


PLAIN: list[tuple[Decimal | int, str]] = [
    *((0, "0"), (Decimal("0.00"), "0"), (Decimal("-0"), "0"), (812, "812"), (10**15 - 1, "9" * 15)),
    *((Decimal("1.50"), "1.5"), (Decimal("1E+3"), "1000"), (Decimal("1E-12"), "0.000000000001")),
]


@pytest.mark.parametrize(("number", "text"), PLAIN)
def test_an_amount_is_written_plainly(number: Decimal | int, text: str) -> None:
    assert amount(number) == text


@pytest.mark.parametrize(
    "number",
    [
        *(-1, 10**15, 10**4000, Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Decimal("1E-13")),
        *(Decimal("1E+999999999"), Decimal("1E-999999999"), 0.1, True, "1", None),
    ],
)
def test_what_is_no_exact_amount_has_none(number: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        amount(number)


@pytest.mark.parametrize("text", ["1.0", "01", ".5", "1.", "-1", "1e3", "", "1" * 16, "0." + "1" * 13, "1\n", "NaN"])
def test_another_spelling_of_an_amount_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        Usage.model_validate(USAGE | {"cost": text})


def test_what_was_not_told_is_no_zero() -> None:
    quiet = Usage(provider="gleif", model=None, units={}, cost=None, currency=None)
    (costs,) = rollup([quiet, quiet])
    assert (costs.calls, costs.calls_without_cost, costs.units, costs.amounts) == (2, 2, {}, {})
    assert rollup([]) == []


def test_units_and_costs_are_kept_apart_by_provider_model_and_currency() -> None:
    euros, other = USAGE | {"currency": "EUR"}, USAGE | {"model": None, "units": {"requests": "1"}}
    found = rollup([Usage.model_validate(one) for one in (USAGE, euros, other)])
    assert [(one.provider, one.model, one.units, one.amounts) for one in found] == [
        ("openai", None, {"requests": "1"}, {"USD": "0.00123"}),
        ("openai", "gpt-5", {"input_tokens": "1624"}, {"EUR": "0.00123", "USD": "0.00123"}),
    ]


def test_records_that_tell_nothing_or_nonsense_count_for_nothing() -> None:
    assert usages_of([{}, {"told": None}, {"told": "much"}, {"told": {"usage": []}}]) == []
    assert usages_of([{"told": TOLD}]) == CallReport.model_validate(TOLD).usage


@pytest.mark.parametrize(
    "change", [{"status": 99}, {"status": "200"}, {"request_id": "a\nb"}, {"request_id": ""}, {"requests": 0}, {"x": 1}]
)
def test_metadata_is_closed_and_small(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        CallReport.model_validate(TOLD | {"metadata": TOLD["metadata"] | change})


def test_a_record_has_the_canonical_form_of_what_it_was_made_of() -> None:
    assert canonical.loads(ReadRecord.model_validate(read(1, 1, 1)).document()) == read(1, 1, 1)
