"""Days and months of budgets: by the clock of a zone, also where that clock is changed; and what is said of them."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence.records import BudgetRecord
from evidence.verify import budgets as verifier
from policy.contract import BudgetUse
from runtime.model.budget import BudgetSpentError, Over, SpentUse, Total, Use, period_end, period_of, uses_of

ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Havana",  # its clock goes back to midnight
    "America/Santiago",  # and here it leaves out midnight
    "Africa/Cairo",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",  # by half an hour
    "Pacific/Apia",
    "Pacific/Kiritimati",
)
MOMENTS = st.integers(1_262_304_000_000, 2_082_758_400_000).map(lambda ms: datetime.fromtimestamp(ms / 1000, UTC))


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("zone", "moment", "day", "ends"),
    [
        ("Europe/Berlin", "2026-03-28T23:30:00+00:00", "2026-03-29", "2026-03-29T22:00:00+00:00"),  # 23 hours
        ("Europe/Berlin", "2026-10-24T22:00:00+00:00", "2026-10-25", "2026-10-25T23:00:00+00:00"),  # 25 hours
        ("Europe/Berlin", "2026-01-05T22:59:59.999999+00:00", "2026-01-05", "2026-01-05T23:00:00+00:00"),
        ("Europe/Berlin", "2026-01-05T23:00:00+00:00", "2026-01-06", "2026-01-06T23:00:00+00:00"),
        ("America/Santiago", "2026-09-05T20:00:00+00:00", "2026-09-05", "2026-09-06T04:00:00+00:00"),
        ("America/Santiago", "2026-09-06T04:00:00+00:00", "2026-09-06", "2026-09-07T03:00:00+00:00"),
        ("America/Havana", "2026-11-01T04:30:00+00:00", "2026-11-01", "2026-11-02T05:00:00+00:00"),
        ("Pacific/Apia", "2011-12-30T09:59:00+00:00", "2011-12-29", "2011-12-30T10:00:00+00:00"),  # a day is left out
        ("UTC", "2028-02-28T12:00:00+00:00", "2028-02-28", "2028-02-29T00:00:00+00:00"),
    ],
)
def test_a_day_lasts_as_long_as_the_clock_of_its_zone_shows_its_date(
    zone: str, moment: str, day: str, ends: str
) -> None:
    assert period_of(_at(moment), "day", ZoneInfo(zone)) == day
    assert period_end(_at(moment), "day", ZoneInfo(zone)) == _at(ends)


@pytest.mark.parametrize(
    ("moment", "month", "ends"),
    [
        ("2026-01-31T22:59:59+00:00", "2026-01", "2026-01-31T23:00:00+00:00"),
        ("2026-01-31T23:00:00+00:00", "2026-02", "2026-02-28T23:00:00+00:00"),
        ("2028-02-10T00:00:00+00:00", "2028-02", "2028-02-29T23:00:00+00:00"),
        ("2026-12-31T22:00:00+00:00", "2026-12", "2026-12-31T23:00:00+00:00"),
        ("2026-03-01T00:00:00+00:00", "2026-03", "2026-03-31T22:00:00+00:00"),
    ],
)
def test_a_month_lasts_until_the_first_of_the_next_in_its_zone(moment: str, month: str, ends: str) -> None:
    assert period_of(_at(moment), "month", ZoneInfo("Europe/Berlin")) == month
    assert period_end(_at(moment), "month", ZoneInfo("Europe/Berlin")) == _at(ends)


@given(MOMENTS, st.sampled_from(ZONES), st.sampled_from(["day", "month"]))
def test_a_period_ends_at_the_first_moment_that_has_another_name(moment: datetime, name: str, per: str) -> None:
    zone = ZoneInfo(name)
    ends = period_end(moment, per, zone)
    assert ends > moment
    assert period_of(ends - timedelta(microseconds=1), per, zone) == period_of(moment, per, zone)
    assert period_of(ends, per, zone) != period_of(moment, per, zone)


@given(MOMENTS, st.sampled_from(ZONES), st.sampled_from(["day", "month"]))
def test_the_verifier_finds_the_same_periods(moment: datetime, name: str, per: str) -> None:
    told = {"name": "b", "by": "agent", "key": "a", "per": per, "time_zone": name, "count": 1, "over": "wait"}
    budget = BudgetRecord.model_validate(told)
    assert verifier.period_of("d", budget, moment) == period_of(moment, per, ZoneInfo(name))
    assert verifier.period_end("d", budget, moment) == period_end(moment, per, ZoneInfo(name))


SAID = {"name": "refunds", "comment": "Few", "by": "agent", "key": "bot", "per": "day", "time_zone": "UTC"}


def _use(**more: object) -> Use:
    (use,) = uses_of([BudgetUse.model_validate({**SAID, "over": "deny", **more})], _at("2026-01-05T09:00:00+00:00"))
    return use


def test_what_is_left_is_said_exactly_with_the_name_and_the_comment() -> None:
    most = "100000000000000000000000000000.000000000000000000000000000001"
    use = _use(count=3, sum=most, currency="EUR", amount="2.50")
    spent = SpentUse(use, Total(3, Decimal("0.000000000000000000000000000001")))
    left = f"agent bot has 0 of 3 and 100000000000000000000000000000.{'0' * 30} of {most} EUR left"
    assert spent.sentence == (
        f"budget refunds (Few): {left} until 2026-01-06T00:00:00.000000Z, and this takes 2.50 EUR"
    )


def test_what_is_beyond_a_budget_leaves_nothing() -> None:
    assert SpentUse(_use(count=3), Total(5, Decimal(0))).left == "0 of 3"
    assert SpentUse(_use(sum="1.00", currency="EUR", amount="1"), Total(5, Decimal(7))).left == "0 of 1.00 EUR"


def test_of_several_spent_budgets_the_strictest_says_what_follows() -> None:
    uses = {over: _use(count=1, over=over, name=over) for over in ("approve", "wait", "deny")}
    spent = {over: SpentUse(use, Total(1, Decimal(0))) for over, use in uses.items()}
    assert BudgetSpentError(list(spent.values())).over is Over.DENY
    assert BudgetSpentError([spent["approve"], spent["wait"]]).over is Over.WAIT
    assert BudgetSpentError([spent["approve"]]).over is Over.APPROVE


def test_what_waits_for_several_budgets_waits_for_the_last_of_them() -> None:
    daily, monthly = _use(count=1, over="wait"), _use(count=1, over="wait", per="month", name="monthly")
    spent = BudgetSpentError([SpentUse(use, Total(1, Decimal(0))) for use in (monthly, daily)])
    assert (spent.waited_for.use.name, spent.opens_at) == ("monthly", _at("2026-02-01T00:00:00+00:00"))
    assert spent.names == ["monthly", "refunds"]


@pytest.mark.parametrize(("amount", "fits"), [("1.00", True), ("1", True), ("1.01", False)])
def test_what_is_larger_than_its_budget_never_fits(amount: str, fits: bool) -> None:  # noqa: FBT001 - a parameter
    use = _use(sum="1.00", currency="EUR", amount=amount, over="wait")
    assert BudgetSpentError([SpentUse(use, Total(0, Decimal(0)))]).fits_later is fits
