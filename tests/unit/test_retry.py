"""When to try again."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from runtime.definitions.model import Retry
from runtime.outbox.retry import delay, of_document, to_document

EXPONENTIAL = Retry(9, "exponential", timedelta(seconds=2), timedelta(seconds=30))
JITTER = st.floats(0, 1, exclude_max=True)


def test_delays_double_up_to_the_cap() -> None:
    assert [delay(EXPONENTIAL, attempt, 0).total_seconds() for attempt in range(1, 7)] == [2, 4, 8, 16, 30, 30]


@given(st.integers(-5, 10_000), JITTER)
def test_jitter_takes_off_half_at_most_and_the_cap_holds_for_any_attempt(attempt: int, jitter: float) -> None:
    whole = delay(EXPONENTIAL, attempt, 0)
    assert whole / 2 <= delay(EXPONENTIAL, attempt, jitter) <= whole <= EXPONENTIAL.max_delay


def test_a_fixed_backoff_stays_the_same() -> None:
    fixed = Retry(9, "fixed", timedelta(seconds=2), timedelta(seconds=30))
    assert delay(fixed, 7, 0) == timedelta(seconds=2)


def test_a_stored_policy_reads_back_as_it_was() -> None:
    assert of_document(to_document(EXPONENTIAL)) == EXPONENTIAL
