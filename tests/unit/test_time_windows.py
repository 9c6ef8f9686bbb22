"""Execution windows, quiet hours and durations: what the clock allows, also where it is changed.

When an allowed effect may begin, by the clock of a zone, also where that is changed.

Quiet hours end by the clock of whoever is told, also on the days on which that clock is changed.

ISO 8601 durations of fixed length.
"""

from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from countersign.directory import NoticesEntry
from policy.execution_windows import ExecuteWhen as Said
from runtime.approvals.windows import is_open, next_opening
from runtime.definitions.durations import LONGEST, format_duration, parse_duration
from runtime.model.action import Tier
from runtime.model.delivery import Notices, reminder_times
from runtime.model.requirement import ExecuteWhen

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
WORK = {"days": list(DAYS[:5]), "from": "09:00", "until": "17:00"}
NIGHT = {"days": ["fri"], "from": "22:00", "until": "04:00"}


def _when(*windows: dict[str, Any], zone: str = "Europe/Oslo", **said: Any) -> ExecuteWhen:
    return ExecuteWhen.of(Said.model_validate({"between": list(windows), "time_zone": zone, **said}).model_dump())


def _opens(when: ExecuteWhen, at: str) -> str:
    opening = next_opening(when, datetime.fromisoformat(at))
    assert opening is not None
    return opening.isoformat(timespec="minutes").removesuffix("+00:00")


@pytest.mark.parametrize(
    ("at", "opens"),
    [
        ("2026-11-20T12:00Z", "2026-11-20T12:00"),  # Friday noon
        ("2026-11-20T15:59Z", "2026-11-20T15:59"),
        ("2026-11-20T16:00Z", "2026-11-23T08:00"),  # 17:00 in Oslo: until Monday
        ("2026-11-22T23:00Z", "2026-11-23T08:00"),
        ("2026-11-23T07:59Z", "2026-11-23T08:00"),
    ],
)
def test_an_effect_waits_for_the_next_opening_by_the_clock_of_the_zone(at: str, opens: str) -> None:
    assert _opens(_when(WORK), at) == opens


def test_a_window_over_midnight_belongs_to_the_day_on_which_it_begins() -> None:
    when = _when(NIGHT, zone="UTC")
    assert _opens(when, "2026-11-21T03:59Z") == "2026-11-21T03:59"  # Saturday, in Friday's window
    assert _opens(when, "2026-11-21T04:00Z") == "2026-11-27T22:00"
    assert _opens(when, "2026-11-20T03:00Z") == "2026-11-20T22:00"  # Friday morning is in none


@pytest.mark.parametrize(
    ("window", "at", "opens"),
    [
        # the clock goes from 02:00 to 03:00 on 29 March: that Sunday has no 02:15, and the next one has
        (("02:15", "02:45"), "2026-03-28T12:00Z", "2026-04-05T00:15"),
        # what begins within the hour that is left out opens as the clock is put forward
        (("02:30", "05:00"), "2026-03-28T12:00Z", "2026-03-29T01:00"),
        (("09:00", "10:00"), "2026-03-28T12:00Z", "2026-03-29T07:00"),
    ],
)
def test_a_time_that_the_clock_leaves_out_is_in_no_window(window: tuple[str, str], at: str, opens: str) -> None:
    assert _opens(_when({"days": ["sun"], "from": window[0], "until": window[1]}), at) == opens


def test_a_time_that_the_clock_shows_twice_is_in_the_window_both_times() -> None:
    when = _when({"days": ["sun"], "from": "02:00", "until": "02:30"})
    assert _opens(when, "2026-10-24T12:00Z") == "2026-10-25T00:00"
    assert _opens(when, "2026-10-25T00:30Z") == "2026-10-25T01:00"  # put back from 03:00 to 02:00
    assert _opens(when, "2026-10-25T01:30Z") == "2026-11-01T01:00"


def test_nothing_begins_before_the_moment_that_is_named() -> None:
    alone = ExecuteWhen.of(Said.model_validate({"not_before": "2026-12-01T06:30:00Z"}).model_dump())
    assert _opens(alone, "2026-11-20T12:00Z") == "2026-12-01T06:30"
    assert _opens(_when(WORK, not_before="2026-12-01T06:30:00Z"), "2026-11-20T12:00Z") == "2026-12-01T08:00"
    assert _opens(alone, "2026-12-02T12:00Z") == "2026-12-02T12:00"


def test_an_effect_may_begin_within_a_day_where_nobody_says_how_long() -> None:
    assert _when(WORK).lasts == timedelta(days=1)


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ({"between": [{**WORK, "until": "09:00"}], "time_zone": "UTC"}, "empty"),
        ({"between": [{**WORK, "days": []}], "time_zone": "UTC"}, "days"),
        ({"between": [{**WORK, "from": "24:00"}], "time_zone": "UTC"}, "from"),
        ({"between": [WORK], "time_zone": "Europe/Nowhere"}, "time zone"),
        ({"between": [WORK]}, "together"),
        ({"time_zone": "UTC"}, "together"),
        ({"between": [WORK], "time_zone": "UTC", "after": "P1D"}, "after"),
        ({"not_before": "2026-13-01T00:00:00Z"}, "not_before"),
        ({"not_before": "2026-12-01T00:00:00+01:00"}, "not_before"),
    ],
)
def test_a_window_that_never_opens_or_is_half_said_is_refused(said: dict[str, Any], names: str) -> None:
    with pytest.raises(ValidationError, match=names):
        Said.model_validate(said)


CLOCK = st.builds(lambda quarter: f"{quarter // 4:02}:{quarter % 4 * 15:02}", st.integers(0, 95))
WINDOW = st.builds(
    lambda days, since, until: {"days": sorted(days), "from": since, "until": until},
    st.sets(st.sampled_from(DAYS), min_size=1, max_size=3),
    CLOCK,
    CLOCK,
).filter(lambda window: window["from"] != window["until"])
ZONES = ("UTC", "Europe/Oslo", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "Asia/Kathmandu")
# around changes of the clock, and at any time
CHANGES = ("2026-03-08", "2026-03-29", "2026-04-05", "2026-04-24", "2026-10-04", "2026-10-25", "2026-10-29")
MOMENT = st.builds(
    lambda day, minutes: datetime.combine(date.fromisoformat(day), time(), UTC) + timedelta(minutes=minutes),
    st.sampled_from(CHANGES),
    st.integers(-8 * 24 * 60, 3 * 24 * 60),
)


def _shown(windows: list[dict[str, Any]], zone: ZoneInfo, moment: datetime) -> bool:
    """The rule by brute force: whether the clock on the wall shows a minute of a window."""
    shown = moment.astimezone(zone)
    clock, today, eve = f"{shown:%H:%M}", DAYS[shown.weekday()], DAYS[shown.weekday() - 1]
    for one in windows:
        is_of_night = one["until"] < one["from"]
        if today in one["days"] and one["from"] <= clock and (is_of_night or clock < one["until"]):
            return True
        if is_of_night and eve in one["days"] and clock < one["until"]:
            return True
    return False


@given(windows=st.lists(WINDOW, min_size=1, max_size=2), name=st.sampled_from(ZONES), moment=MOMENT)
def test_the_next_opening_is_the_first_minute_that_a_scan_finds(
    windows: list[dict[str, Any]], name: str, moment: datetime
) -> None:
    when, zone = _when(*windows, zone=name), ZoneInfo(name)
    opening = next_opening(when, moment)
    scanned = (moment + timedelta(minutes=nth) for nth in range(15 * 24 * 60))
    assert opening == next(one for one in scanned if _shown(windows, zone, one))
    assert opening is not None
    assert is_open(when, opening)


EVERY_NIGHT = {"days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "from": "20:00", "until": "07:30"}
WEEKEND = {"days": ["sat", "sun"]}
WEEK = {"timezone": "Europe/Zurich", "quiet_hours": [EVERY_NIGHT, WEEKEND], "passes": ["high"]}


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
    assert _told({"timezone": "Europe/Zurich", "quiet_hours": [EVERY_NIGHT]}, at) == told


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
    assert _told({"timezone": "Europe/Zurich", "quiet_hours": [{**EVERY_NIGHT, "until": until}]}, at) == told


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
        ({"quiet_hours": [{**EVERY_NIGHT, "from": "00:00", "until": "24:00"}]}, "no hour of the week left"),
        ({"quiet_hours": [{**EVERY_NIGHT, "from": "08:00", "until": "08:00"}]}, "no hour of the week left"),
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
