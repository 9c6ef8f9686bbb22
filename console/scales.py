"""Scales of pictures: how far apart ticks stand, so that they are few and their words are short."""

from collections.abc import Sequence

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
DURATIONS = (
    *(1, 2, 5, 10, 30),
    *(_MINUTE * count for count in (1, 2, 5, 10, 30)),
    *(_HOUR * count for count in (1, 2, 4, 6, 12)),
    *(_DAY * count for count in (1, 2, 7, 30, 90, 365)),
)
"""Paces of durations, in seconds."""
COUNTS = tuple(base * 10**power for power in range(9) for base in (1, 2, 5))
"""Paces of what is counted."""


def pace_of(most: float, ticks: int, paces: Sequence[int]) -> int:
    """Return the smallest pace with which so many ticks reach up to the most; the largest where none does."""
    return next((pace for pace in paces if most / pace <= ticks), paces[-1])
