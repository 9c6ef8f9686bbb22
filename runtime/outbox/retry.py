"""When to try again: pure functions of the attempt, with jitter and a cap."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import isodate

from receipts.fields import timestamp
from runtime.definitions.model import Definition, Retry

POLICY_BACKOFF = Retry(1, "exponential", timedelta(milliseconds=500), timedelta(seconds=15))
"""How long a question to policy that got no answer waits; only the effect's deadline ends it."""

BLOCKED_BACKOFF = Retry(1, "exponential", timedelta(seconds=2), timedelta(minutes=2))
"""How long what somebody has to mend is left alone; only the deadline ends it."""

SLA_IS_OVER = "it is not tried again, since its run's SLA is over by then"
"""What a failure says that ended with the run's time."""

_FACTORS = {"exponential": 2.0, "fixed": 1.0}
_SHARE = 0.5
"""Of a pause, what chance takes off at most where it is not said."""


def delay(retry: Retry, attempt: int, jitter: float) -> timedelta:
    """Return the pause after attempt number `attempt` (from 1); `jitter` in [0, 1) takes off its share of it."""
    share = _SHARE if retry.jitter is None else retry.jitter
    return _whole(retry, max(attempt - 1, 0)) * (1 - jitter * share)


def _whole(retry: Retry, nth: int) -> timedelta:
    """Return the pause number `nth` (from 0), before chance takes anything off."""
    if retry.ladder:
        return retry.ladder[min(nth, len(retry.ladder) - 1)]
    factor = retry.factor or _FACTORS[retry.backoff]
    seconds = retry.base_delay.total_seconds() * factor ** min(nth, 100)
    return timedelta(seconds=min(seconds, retry.max_delay.total_seconds()))


def pause(retry: Retry, nth: int, jitter: float, retry_after: float | None) -> timedelta:
    """Return the pause before the next try: what the other side asks for, but never more than the longest."""
    return max(delay(retry, nth, jitter), min(timedelta(seconds=retry_after or 0), retry.max_delay))


def wait(retry: Retry, nth: int, jitter: float, retry_after: float | None) -> timedelta:
    """Return the pause after what was not even taken: what the other side asks for, at most the longest, or our own."""
    return min(timedelta(seconds=retry_after), retry.max_delay) if retry_after else delay(retry, nth, jitter)


def ends_at(definition: Definition, asked_at: datetime) -> datetime | None:
    """Return after when nothing of a run is tried again: its SLA counts from when it was asked for."""
    return None if definition.sla is None else asked_at + definition.sla


def to_document(retry: Retry, until: datetime | None = None, answer_by: str = "") -> dict[str, Any]:
    """Return a retry policy as stored with an effect, which is not tried again after `until`; delays in seconds.

    `answer_by` is the moment at which its wait ends, RFC 3339, and "" where the verb's timeout says when.
    """
    return {
        "max_attempts": retry.max_attempts,
        "backoff": retry.backoff,
        "base_delay": retry.base_delay.total_seconds(),
        "max_delay": retry.max_delay.total_seconds(),
        **({"factor": retry.factor} if retry.factor else {}),
        **({"ladder": [pause.total_seconds() for pause in retry.ladder]} if retry.ladder else {}),
        **({"jitter": retry.jitter} if retry.jitter is not None else {}),
        **({"until": timestamp(until)} if until else {}),
        **({"answer_by": timestamp(isodate.parse_datetime(answer_by))} if answer_by else {}),
    }


def until(document: Mapping[str, Any]) -> datetime | None:
    """Return after when what has this stored policy is not tried again."""
    return datetime.fromisoformat(document["until"]) if "until" in document else None


def answer_by(document: Mapping[str, Any]) -> datetime | None:
    """Return when the wait ends that what has this stored policy opens, None where its verb says how long it lasts."""
    return datetime.fromisoformat(document["answer_by"]) if "answer_by" in document else None


def of_document(document: Mapping[str, Any]) -> Retry:
    """Read a stored retry policy."""
    return Retry(
        document["max_attempts"],
        document["backoff"],
        timedelta(seconds=document["base_delay"]),
        timedelta(seconds=document["max_delay"]),
        document.get("factor"),
        tuple(timedelta(seconds=pause) for pause in document.get("ladder", ())),
        document.get("jitter"),
    )
