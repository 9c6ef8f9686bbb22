"""Refused requests are counted by caller, route and rule, and are due at most once a minute."""

import math

from edge.callers import EVERY, RETRY, Tallies
from receipts.acts import MOST_TRIED, RequestRefused, Tried


def request(number: int = 0, rule: str = "caller.triggers") -> RequestRefused:
    at = f"2026-01-05T09:00:{number:02}.000000Z"
    tried = [Tried(subject="kyc", path=f"/v1/{number}")]
    return RequestRefused(route="GET /v1", rule=rule, count=1, first_at=at, last_at=at, tried=tried)


def test_the_first_is_due_at_once_and_those_that_follow_together_after_a_minute() -> None:
    tallies = Tallies()
    assert tallies.next_due() is None
    tallies.add("portal", request(0))
    assert tallies.take(100.0) == [("portal", request(0))]
    for number in range(1, 4):
        tallies.add("portal", request(number))
    assert tallies.take(100.0 + EVERY - 1) == []
    assert (tallies.next_due(), tallies.count) == (100.0 + EVERY, 3)
    ((caller, refused),) = tallies.take(100.0 + EVERY)
    assert (caller, refused.count, tallies.count) == ("portal", 3, 0)
    assert (refused.first_at, refused.last_at) == (request(1).first_at, request(3).last_at)
    assert [one.path for one in refused.tried] == ["/v1/1", "/v1/2", "/v1/3"]


def test_callers_and_rules_do_not_wait_for_each_other() -> None:
    tallies = Tallies()
    tallies.add("portal", request())
    assert len(tallies.take(100.0)) == 1
    for caller, rule in (("portal", "caller.unknown"), ("servicenow", "caller.triggers")):
        tallies.add(caller, request(rule=rule))
    assert [caller for caller, _ in tallies.take(100.0)] == ["portal", "servicenow"]


def test_what_could_not_be_written_is_counted_with_what_came_meanwhile_and_due_in_a_moment() -> None:
    tallies = Tallies()
    tallies.add("portal", request(0))
    batch = tallies.take(100.0)
    tallies.add("portal", request(1))
    tallies.put_back(batch, 101.0)
    assert (tallies.count, tallies.take(101.0), tallies.next_due()) == (2, [], 101.0 + RETRY)
    ((_, refused),) = tallies.take(101.0 + RETRY)
    assert (refused.count, refused.first_at, refused.last_at) == (2, request(0).first_at, request(1).last_at)


def test_at_the_end_everything_is_due() -> None:
    tallies = Tallies()
    tallies.add("portal", request(0))
    tallies.take(100.0)
    tallies.add("portal", request(1))
    assert len(tallies.take(math.inf)) == 1


def test_a_record_names_the_first_different_requests_and_counts_the_others() -> None:
    whole = request(0)
    for number in (0, 0, *range(1, 30)):
        whole = whole.with_later(request(number))
    assert whole.count == 32
    assert [one.path for one in whole.tried] == [f"/v1/{number}" for number in range(MOST_TRIED)]
