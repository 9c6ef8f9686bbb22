"""The verifier's own rule of windows, minute by minute: what the clock on the wall of a zone shows."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from evidence.records import ExecuteRecord, WindowRecord
from evidence.verify.comparing import moment
from evidence.verify.contents import BrokenError

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MINUTES_AHEAD = 15 * 24 * 60


def is_open(member: str, execute: ExecuteRecord, at: datetime) -> bool:
    """Return whether something may begin at a moment, however long ago it was approved."""
    if execute.not_before is not None and at < moment(execute.not_before):
        return False
    return not execute.between or _is_shown(execute.between, at.astimezone(_zone(member, execute)))


def opening(member: str, execute: ExecuteRecord, at: datetime) -> datetime | None:
    """Return the first moment, not before this one, at which something may begin; None where there is none."""
    first = max(at, moment(execute.not_before)) if execute.not_before else at
    if is_open(member, execute, first):
        return first
    minute = first.replace(second=0, microsecond=0)
    ahead = (minute + timedelta(minutes=nth) for nth in range(1, _MINUTES_AHEAD))
    return next((one for one in ahead if is_open(member, execute, one)), None)


def _zone(member: str, execute: ExecuteRecord) -> ZoneInfo:
    try:
        return ZoneInfo(execute.time_zone or "")
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise BrokenError(member, f"{execute.time_zone!r} is no time zone that is known here") from error


def _is_shown(windows: Sequence[WindowRecord], shown: datetime) -> bool:
    clock, day = f"{shown:%H:%M}", shown.weekday()
    for window in windows:
        is_over_midnight = window.until < window.since
        if DAYS[day] in window.days and window.since <= clock and (is_over_midnight or clock < window.until):
            return True
        if is_over_midnight and DAYS[day - 1] in window.days and clock < window.until:
            return True
    return False
