"""Tables for spreadsheets, and periods of days."""

import csv
import io
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence.export.index import PeriodError, csv_of, period


def _read(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode(), newline=""), strict=True))


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "|calc", "%0"])
def test_no_text_is_a_formula_to_a_spreadsheet(text: str) -> None:
    assert _read(csv_of(["a"], [{"a": text}])) == [["a"], [f"'{text}"]]


def test_numbers_and_nothing_stay_as_they_are_and_moments_are_in_utc() -> None:
    row = {"a": -1, "b": None, "c": datetime(2026, 1, 31, 10, tzinfo=timezone(timedelta(hours=1)))}
    assert csv_of(["a", "b", "c"], [row]) == b"a,b,c\r\n-1,,2026-01-31T09:00:00.000000Z\r\n"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))))
def test_every_text_comes_back_in_one_line_of_the_table(texts: list[str]) -> None:
    _, *lines = _read(csv_of(["n", "a"], [{"n": 1, "a": text} for text in texts]))
    assert [line[1].removeprefix("'") for line in lines] == [text.removeprefix("'") for text in texts]


def test_a_period_has_both_its_days() -> None:
    found = period("2026-01-01", "2026-03-31")
    assert found.since == datetime(2026, 1, 1, tzinfo=UTC)
    assert found.until == datetime(2026, 4, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "day", ["20260101", "2026-W01-1", "2026-13-01", "2026-02-29", "", "2026-01-01T00:00:00", "\u0662026-01-01"]
)
def test_what_is_no_day_is_said(day: str) -> None:
    with pytest.raises(PeriodError):
        period(day, "2026-12-31")


def test_a_period_does_not_end_before_it_begins() -> None:
    with pytest.raises(PeriodError, match="2026-02-01 is after 2026-01-31"):
        period("2026-02-01", "2026-01-31")
