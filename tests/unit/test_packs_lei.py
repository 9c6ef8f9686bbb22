"""The check digits of Legal Entity Identifiers."""

import pytest
from countersign_kyc.lei import is_lei, with_check_digits
from countersign_kyc.seed_data import COMPANIES
from hypothesis import given
from hypothesis import strategies as st

STEMS = st.text("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=18, max_size=18)


@pytest.mark.parametrize("lei", ["5493001KJTIIGC8Y1R12", "HWUPKR0MPOU8FGXBT394", "529900T8BM49AURSDO55"])
def test_published_identifiers_are_valid(lei: str) -> None:
    assert is_lei(lei)


@given(STEMS)
def test_computed_check_digits_are_valid(stem: str) -> None:
    assert is_lei(with_check_digits(stem))


@given(st.text("0123456789", min_size=18, max_size=18), st.integers(0, 19), st.sampled_from("0123456789"))
def test_one_changed_digit_is_found(stem: str, place: int, digit: str) -> None:
    lei = with_check_digits(stem)
    changed = lei[:place] + digit + lei[place + 1 :]
    assert is_lei(changed) == (changed == lei)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5493001KJTIIGC8Y1R13",
        "5493001kjtiigc8y1r12",
        "5493001KJTIIGC8Y1R1",
        "5493001KJTIIGC8Y1R12\n",
        "\u0665" * 20,
    ],
)
def test_anything_else_is_not_an_identifier(text: str) -> None:
    assert not is_lei(text)


def test_seeded_companies_have_valid_identifiers() -> None:
    assert all(is_lei(lei) for lei in COMPANIES)
