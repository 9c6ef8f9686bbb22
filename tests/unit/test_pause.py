"""The clock stands still for the union of the times in which a question is open, and never longer than the bound."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from runtime.model.questions import Question, answer_of, pause_so_far, paused_until

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
LONGEST = timedelta(minutes=60)


def _question(asked: int, answered: int | None) -> Question:
    """Return a question that was asked and answered so many minutes after the start."""
    at = None if answered is None else START + timedelta(minutes=answered)
    answer = answer_of("rita", "person", "Rita", "the founders", at) if at else None
    return Question(f"qst_{asked}", "ann", "Ann", "who?", START + timedelta(minutes=asked), answer)


SPANS = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 50)).map(lambda span: (span[0], sum(span))), max_size=8)


def _minutes(spans: list[tuple[int, int]]) -> int:
    return len({minute for start, end in spans for minute in range(start, end)})


@given(SPANS)
def test_each_minute_counts_once_up_to_the_bound(spans: list[tuple[int, int]]) -> None:
    found = pause_so_far([_question(*span) for span in spans], LONGEST)
    assert found == min(timedelta(minutes=_minutes(spans)), LONGEST)


@given(SPANS, st.integers(0, 200))
def test_while_one_is_open_the_bound_is_granted_and_comes_when_it_is_used_up(
    spans: list[tuple[int, int]], since: int
) -> None:
    asked = [*(_question(*span) for span in spans if span[0] <= since), _question(since, None)]
    assert pause_so_far(asked, LONGEST) == LONGEST
    until = paused_until(asked, LONGEST)
    assert until is not None
    before = [span for span in spans if span[0] <= since]
    end = int((until - START) / timedelta(minutes=1))
    stood = _minutes([*before, (since, max(since, end))])
    assert stood == max(60, _minutes([*before, (since, since)]))


@given(SPANS)
def test_where_none_is_open_the_clock_goes_on(spans: list[tuple[int, int]]) -> None:
    assert paused_until([_question(*span) for span in spans], LONGEST) is None


def test_without_a_bound_the_clock_goes_on() -> None:
    assert pause_so_far([_question(0, None)], timedelta(0)) == timedelta(0)
