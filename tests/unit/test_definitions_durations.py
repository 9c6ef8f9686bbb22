"""ISO 8601 durations of fixed length."""

from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.definitions.durations import LONGEST, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("P14D", timedelta(days=14)),
        ("P2W", timedelta(weeks=2)),
        ("PT30S", timedelta(seconds=30)),
        ("PT0.25S", timedelta(milliseconds=250)),
        ("P1DT2H3M4S", timedelta(days=1, hours=2, minutes=3, seconds=4)),
    ],
)
def test_fixed_lengths_are_read(text: str, duration: timedelta) -> None:
    assert parse_duration(text) == duration


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("P1M", "years and months have no fixed length"),
        ("P1Y2D", "years and months have no fixed length"),
        ("P", "write it like P14D or PT30S"),
        ("PT", "write it like P14D or PT30S"),
        ("P1DT", "write it like P14D or PT30S"),
        ("30s", "write it like P14D or PT30S"),
        ("-P1D", "write it like P14D or PT30S"),
        ("PT0S", "it must be longer than nothing and at most a century"),
        ("P36526D", "it must be longer than nothing and at most a century"),
    ],
)
def test_other_durations_are_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match="is not a duration") as refused:
        parse_duration(text)
    assert str(refused.value) == f"'{text}' is not a duration: {reason}"


@given(st.integers(1, LONGEST // timedelta(milliseconds=1)))
def test_written_duration_reads_as_itself(milliseconds: int) -> None:
    duration = timedelta(milliseconds=milliseconds)
    assert parse_duration(format_duration(duration)) == duration


@given(st.text(alphabet="P0123456789YMWDTHS.-", max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(ValueError):
        assert timedelta(0) < parse_duration(text) <= LONGEST
