"""When to try again: pure functions of the attempt, with jitter and a cap."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from runtime.definitions.model import Retry

POLICY_BACKOFF = Retry(1, "exponential", timedelta(milliseconds=500), timedelta(seconds=15))
"""How long a question to policy that got no answer waits; only the effect's deadline ends it."""

HELD_BACKOFF = Retry(1, "exponential", timedelta(seconds=2), timedelta(minutes=2))
"""How long what somebody has to mend is left alone; only the deadline ends it."""


def delay(retry: Retry, attempt: int, jitter: float) -> timedelta:
    """Return the pause after attempt number `attempt` (from 1); `jitter` in [0, 1) takes off up to half of it."""
    factor = 2 ** min(max(attempt - 1, 0), 30) if retry.backoff == "exponential" else 1
    whole = min(retry.base_delay * factor, retry.max_delay)
    return whole * (1 - jitter / 2)


def pause(retry: Retry, nth: int, jitter: float, retry_after: float | None) -> timedelta:
    """Return the pause before the next try: what the other side asks for, but never more than the longest."""
    return max(delay(retry, nth, jitter), min(timedelta(seconds=retry_after or 0), retry.max_delay))


def to_document(retry: Retry) -> dict[str, Any]:
    """Return a retry policy as stored with an effect; delays in seconds."""
    return {
        "max_attempts": retry.max_attempts,
        "backoff": retry.backoff,
        "base_delay": retry.base_delay.total_seconds(),
        "max_delay": retry.max_delay.total_seconds(),
    }


def of_document(document: Mapping[str, Any]) -> Retry:
    """Read a stored retry policy."""
    return Retry(
        document["max_attempts"],
        document["backoff"],
        timedelta(seconds=document["base_delay"]),
        timedelta(seconds=document["max_delay"]),
    )
