"""When to try again."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from receipts.canonical import dumps, loads
from runtime.definitions.canonical import retry_document, retry_of
from runtime.definitions.loading.node_shapes import RetryShape
from runtime.definitions.loading.timing import declared_retry, retry_rules
from runtime.definitions.model import Retry
from runtime.outbox import messages
from runtime.outbox.retry import delay, of_document, pause, to_document, wait

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


def _pauses(retry: Retry, count: int) -> list[float]:
    return [delay(retry, attempt, 0).total_seconds() for attempt in range(1, count + 1)]


def _said(**retry: object) -> Retry:
    shape = RetryShape.model_validate(retry)
    assert list(retry_rules(shape)) == []
    return declared_retry(shape)


def test_a_ladder_is_climbed_pause_by_pause_and_its_last_one_repeats() -> None:
    ladder = _said(max_attempts=6, ladder=["PT5S", "PT30S", "PT2M"])
    assert _pauses(ladder, 5) == [5, 30, 120, 120, 120]


def test_a_ladder_has_one_attempt_more_than_pauses_unless_more_are_wanted() -> None:
    assert _said(ladder=["PT5S", "PT30S"]).max_attempts == 3


def test_pauses_grow_by_a_factor_up_to_the_longest() -> None:
    growing = _said(max_attempts=9, factor=3, base_delay="PT2S", max_delay="PT1M")
    assert _pauses(growing, 5) == [2, 6, 18, 54, 60]
    assert _pauses(growing, 100_000)[-1] == 60


@given(st.integers(1, 100), JITTER, st.floats(0, 1))
def test_chance_takes_off_the_share_that_the_author_gives_it(attempt: int, chance: float, share: float) -> None:
    whole = timedelta(seconds=30)
    paused = delay(
        _said(max_attempts=9, backoff="fixed", base_delay="PT30S", max_delay="PT30S", jitter=share), attempt, chance
    )
    assert whole * (1 - share) <= paused <= whole


def test_without_a_share_for_chance_a_ladder_is_kept_to_the_second_half() -> None:
    assert delay(_said(ladder=["PT10S"]), 1, 0.999) >= timedelta(seconds=5)
    assert delay(_said(ladder=["PT10S"], jitter=0), 1, 0.999) == timedelta(seconds=10)


def test_what_was_not_taken_waits_as_the_other_side_says_and_not_longer_for_having_waited_before() -> None:
    assert [wait(EXPONENTIAL, nth, 0, 3).total_seconds() for nth in range(1, 9)] == [3] * 8
    assert wait(EXPONENTIAL, 1, 0, 60) == EXPONENTIAL.max_delay, "no target may ask for more than the longest pause"
    assert [wait(EXPONENTIAL, nth, 0, None).total_seconds() for nth in range(1, 5)] == [2, 4, 8, 16]


@given(st.floats(1, 600))
def test_a_message_is_tried_again_soon_after_an_outage_ends(outage: float) -> None:
    policy, now, nth = of_document(messages._RETRY), 0.0, 0
    while now < outage:
        nth += 1
        now += delay(policy, nth, 0).total_seconds()
    assert now - outage <= max(1.0, outage / 2 + 1)


def test_the_other_side_is_waited_for_no_longer_than_the_longest_pause() -> None:
    assert pause(_said(ladder=["PT5S", "PT30S"]), 1, 0, 600) == timedelta(seconds=30)


@pytest.mark.parametrize(
    "said",
    [
        {"ladder": ["PT5S", "PT2M"], "jitter": 0},
        {"max_attempts": 7, "factor": 1.5, "base_delay": "PT2S", "max_delay": "PT1M", "jitter": 0.25},
        {"max_attempts": 7, "factor": 2, "base_delay": "PT2S", "max_delay": "PT1M"},
        {"max_attempts": 7, "backoff": "fixed", "base_delay": "PT2S", "max_delay": "PT1M"},
    ],
)
def test_every_way_to_say_it_reads_back_as_it_was_from_an_effect_and_from_a_definition(said: dict[str, object]) -> None:
    retry = _said(**said)
    assert of_document(loads(dumps(to_document(retry)))) == retry
    assert retry_of(loads(dumps(retry_document(retry)))) == retry


def test_what_was_stored_before_there_were_ladders_is_read() -> None:
    old = {"max_attempts": 9, "backoff": "exponential", "base_delay": 2.0, "max_delay": 30.0}
    assert of_document(old) == EXPONENTIAL
    assert to_document(EXPONENTIAL) == old


@pytest.mark.parametrize(
    "document",
    [
        {"max_attempts": 3, "backoff": "ladder"},
        {"max_attempts": 3, "backoff": "fixed", "ladder": ["PT5S"]},
        {"max_attempts": 3, "backoff": "factor", "base_delay": "PT1S", "max_delay": "PT1S"},
    ],
)
def test_a_retry_that_does_not_say_its_pauses_is_not_read(document: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="does not say its pauses"):
        retry_of(document)
