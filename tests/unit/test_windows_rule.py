"""When an allowed effect may begin, by the clock of a zone, also where that is changed."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from policy.execution_windows import ExecuteWhen as Said
from runtime.approvals.windows import is_open, next_opening
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
