"""Costs: exact sums of what was told, in any order, and nothing where nobody told anything."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from receipts import canonical
from receipts.usage import CallReport, ReadRecord, Usage, amount, rollup, usages_of
from tests.unit.evidence_reads import TOLD, USAGE, read

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
