"""A caller may ask for its burst at once and its rate on end, never for more; and is told truly when to come back."""

from hypothesis import given
from hypothesis import strategies as st

from runtime.model.limits import Rate, TokenBuckets

RATE = Rate(per_second=2.0, burst=5)


def test_a_burst_passes_and_then_one_at_a_time() -> None:
    buckets = TokenBuckets(RATE)
    assert [buckets.take("a", 0.0) for _ in range(6)] == [0.0] * 5 + [0.5]
    assert buckets.take("a", 0.25) == 0.25
    assert buckets.take("a", 0.5) == 0.0
    assert buckets.take("a", 0.5) == 0.5


def test_each_caller_has_a_bucket_of_its_own() -> None:
    buckets = TokenBuckets(Rate(per_second=1.0, burst=1))
    assert (buckets.take("a", 0.0), buckets.take("a", 0.0), buckets.take("b", 0.0)) == (0.0, 1.0, 0.0)


def test_a_pause_fills_the_bucket_and_no_more() -> None:
    buckets = TokenBuckets(RATE)
    assert buckets.take("a", 0.0) == 0.0
    assert [buckets.take("a", 1e6) for _ in range(6)] == [0.0] * 5 + [0.5]


@given(st.lists(st.integers(0, 100), max_size=200))
def test_in_no_stretch_of_time_does_more_pass_than_the_burst_and_the_rate(pauses: list[int]) -> None:
    buckets, now, passed = TokenBuckets(RATE), 0.0, []
    for pause in pauses:
        now += pause / 64
        wait = buckets.take("a", now)
        if not wait:
            passed.append(now)
        assert 0 <= wait <= 1 / RATE.per_second
    for first, since in enumerate(passed):
        for last, until in enumerate(passed[first:], start=first):
            assert last - first + 1 <= RATE.burst + (until - since) * RATE.per_second + 1e-6


def test_callers_that_may_ask_for_their_burst_again_are_forgotten() -> None:
    buckets = TokenBuckets(Rate(per_second=1.0, burst=2))
    for number in range(20_000):
        assert buckets.take(f"caller-{number}", float(number)) == 0.0
    assert buckets.known < 10_000
    assert [buckets.take("caller-19999", 19_999.0) for _ in range(2)] == [0.0, 1.0]
