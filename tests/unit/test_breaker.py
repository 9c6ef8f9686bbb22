"""The circuit breaker's rules."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from runtime.gate.gate_passage import speaks_for_failure
from runtime.handlers import BlockedError, OutcomeUnknownError, RefusedError, TransientError
from runtime.model.circuit_breaker import FAILURES, FORGOTTEN, LONGEST_PAUSE, Breaker, BreakerState, after_failure

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def _failed(times: int, pause: timedelta = timedelta(seconds=1)) -> tuple[Breaker, datetime]:
    breaker, now = None, NOW
    for _ in range(times):
        now += pause
        breaker = after_failure(breaker, now)
    assert breaker is not None
    return breaker, now


@given(st.integers(1, 40))
def test_it_opens_after_so_many_failures_in_a_row(times: int) -> None:
    breaker, now = _failed(times)
    assert breaker.state(now) is (BreakerState.OPEN if times >= FAILURES else BreakerState.CLOSED)


@given(st.integers(FAILURES, 40))
def test_it_is_half_open_after_a_bounded_pause(times: int) -> None:
    breaker, now = _failed(times)
    assert breaker.state(now + LONGEST_PAUSE) is BreakerState.HALF_OPEN


def test_failures_long_apart_are_not_in_a_row() -> None:
    breaker, now = _failed(3 * FAILURES, FORGOTTEN)
    assert breaker.state(now) is BreakerState.CLOSED


def test_no_answer_speaks_for_failure_and_a_refusal_or_a_word_to_come_back_does_not() -> None:
    assert speaks_for_failure(TransientError("connection refused"))
    assert speaks_for_failure(OutcomeUnknownError("reset"))
    assert speaks_for_failure(TimeoutError())
    assert not speaks_for_failure(TransientError("429", retry_after=3))
    assert not speaks_for_failure(RefusedError("422"))
    assert not speaks_for_failure(BlockedError("401"))
    assert not speaks_for_failure({"ok": True})
