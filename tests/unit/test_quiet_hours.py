"""Quiet hours end by the clock of whoever is told, also on the days on which that clock is changed."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from countersign.directory import NoticesEntry
from runtime.model.action import Tier
from runtime.model.delivery import Notices, reminder_times

NIGHT = {"days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "from": "20:00", "until": "07:30"}
WEEKEND = {"days": ["sat", "sun"]}
WEEK = {"timezone": "Europe/Zurich", "quiet_hours": [NIGHT, WEEKEND], "passes": ["high"]}


def _notices(said: dict[str, Any]) -> Notices:
    return Notices.of(NoticesEntry.model_validate(said).of_person(None, None))


def _told(said: dict[str, Any], at: str, tier: Tier | None = None) -> str:
    moment = datetime.fromisoformat(at).astimezone(UTC)
    return _notices(said).from_when(moment, tier).isoformat(timespec="minutes").removesuffix("+00:00")


@pytest.mark.parametrize(
    ("at", "told"),
    [
        ("2026-01-05T09:00Z", "2026-01-05T09:00"),  # Monday morning
        ("2026-01-05T19:00Z", "2026-01-06T06:30"),  # the minute that quiet hours begin
        ("2026-01-06T06:29Z", "2026-01-06T06:30"),
        ("2026-01-06T06:30Z", "2026-01-06T06:30"),  # the minute that they end
        ("2026-01-09T20:00Z", "2026-01-12T06:30"),  # Friday night, then the weekend, then Sunday night
        ("2026-01-11T12:00Z", "2026-01-12T06:30"),
    ],
)
def test_what_falls_into_quiet_hours_waits_until_they_end(at: str, told: str) -> None:
    assert _told(WEEK, at) == told


def test_the_clock_is_that_of_the_one_who_is_told() -> None:
    for zone, told in (("Asia/Tokyo", "2026-01-06T09:00"), ("Asia/Kathmandu", "2026-01-07T01:45")):
        assert _told(
            {**WEEK, "timezone": zone}, "2026-01-06T09:00Z" if zone == "Asia/Tokyo" else "2026-01-06T15:00Z"
        ) == (told)


@pytest.mark.parametrize(
    ("at", "told"),
    [
        ("2026-03-28T22:00Z", "2026-03-29T05:30"),  # the clock goes forward that night: 07:30 is an hour earlier
        ("2026-03-27T22:00Z", "2026-03-28T06:30"),
        ("2026-10-24T22:00Z", "2026-10-25T06:30"),  # and back that night: 07:30 is an hour later
        ("2026-10-23T22:00Z", "2026-10-24T05:30"),
    ],
)
def test_a_change_of_the_clock_moves_the_end_with_it(at: str, told: str) -> None:
    assert _told({"timezone": "Europe/Zurich", "quiet_hours": [NIGHT]}, at) == told


@pytest.mark.parametrize(
    ("at", "until", "told"),
    [
        ("2026-03-29T00:30Z", "02:30", "2026-03-29T01:30"),  # 02:30 is not on that clock: the next that can be meant
        ("2026-10-25T00:40Z", "02:30", "2026-10-25T01:30"),  # 02:30 is twice: the later of them
        ("2026-10-25T01:29Z", "02:30", "2026-10-25T01:30"),
    ],
)
def test_a_time_that_the_clock_shows_twice_or_never_makes_quiet_hours_no_shorter(
    at: str, until: str, told: str
) -> None:
    assert _told({"timezone": "Europe/Zurich", "quiet_hours": [{**NIGHT, "until": until}]}, at) == told


def test_a_tier_passes_where_the_tenant_says_so() -> None:
    assert _told(WEEK, "2026-01-05T22:00Z", Tier.HIGH) == "2026-01-05T22:00"
    assert _told(WEEK, "2026-01-05T22:00Z", Tier.MEDIUM) == "2026-01-06T06:30"


def test_who_says_it_themselves_has_other_hours_than_the_tenant() -> None:
    tenant = NoticesEntry.model_validate({**WEEK, "per_hour": 5})
    assert tenant.of_person(None, []) == {"per_hour": 5}, "none at all"
    assert tenant.of_person("Asia/Tokyo", None)["timezone"] == "Asia/Tokyo"
    assert NoticesEntry().of_person("Asia/Tokyo", None) == {}, "without quiet hours a zone says nothing"


@given(
    st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1)).map(lambda one: one.replace(tzinfo=UTC)),  # noqa: DTZ001
    st.sampled_from(["Europe/Zurich", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"]),
)
def test_it_is_never_earlier_never_quiet_and_at_most_the_quiet_hours_later(moment: datetime, zone: str) -> None:
    notices = _notices({**WEEK, "timezone": zone})
    told = notices.from_when(moment, None)
    local = told.astimezone(notices.hours.zone)
    assert moment <= told <= moment + timedelta(days=2, hours=13)
    assert local.weekday() < 5
    assert "07:30" <= local.strftime("%H:%M") < "20:00"
    assert notices.from_when(told, None) == told


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"timezone": "Zurich"}, "no time zone of the IANA database"),
        ({"quiet_hours": [{"days": ["monday"]}]}, "'mon', 'tue'"),
        ({"quiet_hours": [{"days": []}]}, "at least 1 item"),
        ({"quiet_hours": [{"days": ["mon"], "from": "25:00"}]}, "no time of the day"),
        ({"quiet_hours": [{"days": ["mon"], "from": "9:00"}]}, "no time of the day"),
        ({"quiet_hours": [{"days": ["mon"], "from": 1200}]}, "valid string"),
        ({"quiet_hours": [{**NIGHT, "from": "00:00", "until": "24:00"}]}, "no hour of the week left"),
        ({"quiet_hours": [{**NIGHT, "from": "08:00", "until": "08:00"}]}, "no hour of the week left"),
        ({"passes": ["urgent"]}, "'low', 'medium' or 'high'"),
        ({"per_hour": 0}, "greater than or equal to 1"),
        ({"remind": {"first": "PT1H"}}, "at_most"),
        ({"remind": {"first": "PT1S", "at_most": 3}}, "shorter than a minute"),
        ({"remind": {"first": "1h", "at_most": 3}}, "not a duration"),
        ({"quiet": []}, "Extra inputs are not permitted"),
    ],
)
def test_what_cannot_be_meant_is_refused(said: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        NoticesEntry.model_validate(said)


def test_reminders_come_with_growing_pauses_as_often_as_is_said_and_not_after_the_end() -> None:
    remind = NoticesEntry.model_validate({"remind": {"first": "PT4H", "factor": 2, "at_most": 3}}).reminders()
    hours = [after / timedelta(hours=1) for after in reminder_times(remind, timedelta(days=9))]
    assert hours == [4, 12, 28]
    assert list(reminder_times(remind, timedelta(hours=12))) == [timedelta(hours=4)]
    assert list(reminder_times({}, timedelta(days=9))) == []
