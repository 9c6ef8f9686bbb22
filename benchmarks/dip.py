"""What a rate does when something happens: how it was, how low it falls, and when it is back. Pure."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

STEP = 0.1
"""Seconds from one second that is looked at to the next one."""


@dataclass(frozen=True)
class Dip:
    """Rates are events a second; `back` is in seconds from what happened, None where the rate did not come back."""

    before: float
    lowest: float
    back: float | None


def dip_of(events: Sequence[float], *, before: float, within: float, share: float) -> Dip:
    """Return what the rate did when something happened at 0; `events` are in seconds from then, ascending.

    The rate before is that of the last `before` seconds. The lowest is that of a second which began `within` so many
    seconds. It is back at the end of the first second from there on that has a `share` of the rate before.
    """
    normal = _between(events, -before, 0.0) / before
    starts = [STEP * number for number in range(int(max(events[-1], within) / STEP))]
    rates = [_between(events, start, start + 1) for start in starts]
    lowest = min(range(int(within / STEP)), key=rates.__getitem__)
    back = next((starts[number] + 1 for number in range(lowest, len(rates)) if rates[number] >= share * normal), None)
    return Dip(normal, rates[lowest], back)


def _between(events: Sequence[float], start: float, end: float) -> int:
    return bisect_left(events, end) - bisect_left(events, start)
