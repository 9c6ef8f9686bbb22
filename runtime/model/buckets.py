"""How much a caller may ask for: a bucket of tokens for each, which fills steadily. Pure: the time is handed in."""

from dataclasses import dataclass

_MOST = 10_000
"""Buckets from which on full ones are looked for."""


@dataclass(frozen=True)
class Rate:
    """Requests per second on end, and how many may come at once after a pause."""

    per_second: float
    burst: int


class Buckets:
    """The buckets of one process. A caller that was never heard of has a full one, and full ones are forgotten."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._levels: dict[str, tuple[float, float]] = {}

    @property
    def known(self) -> int:
        """Return how many callers are remembered."""
        return len(self._levels)

    def take(self, caller: str, now: float) -> float:
        """Take a token at `now`, in seconds of any steady clock; return 0, or in how many seconds there will be one."""
        level, at = self._levels.get(caller, (float(self._rate.burst), now))
        if len(self._levels) >= _MOST:
            self._forget(now)
        level = min(level + (now - at) * self._rate.per_second, float(self._rate.burst))
        missing = 1 - level
        self._levels[caller] = (level if missing > 0 else level - 1, now)
        return max(missing, 0.0) / self._rate.per_second

    def _forget(self, now: float) -> None:
        """Drop the buckets that are full by now."""
        full_after = self._rate.burst / self._rate.per_second
        self._levels = {caller: one for caller, one in self._levels.items() if now - one[1] < full_after}
