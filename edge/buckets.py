"""How much a caller may ask for: a bucket of tokens for each, which fills steadily. Pure: the time is handed in."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rate:
    """Requests per second on end, and how many may come at once after a pause."""

    per_second: float
    burst: int


class Buckets:
    """The buckets of one process. Who was never heard of has a full one."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._levels: dict[str, tuple[float, float]] = {}

    def take(self, caller: str, now: float) -> float:
        """Take a token at `now`, in seconds of any steady clock; return 0, or in how many seconds there will be one."""
        level, at = self._levels.get(caller, (float(self._rate.burst), now))
        level = min(level + (now - at) * self._rate.per_second, float(self._rate.burst))
        missing = 1 - level
        self._levels[caller] = (level if missing > 0 else level - 1, now)
        return max(missing, 0.0) / self._rate.per_second
