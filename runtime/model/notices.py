"""What the directory says of how people are told, as it is stored with each of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from runtime.model.action import Tier
from runtime.model.hours import Hours, Quiet


@dataclass(frozen=True)
class Notices:
    """How one person is told: in no quiet hours but for requests of the tiers that pass, and so often in an hour.

    `per_hour` None is without bound.
    """

    hours: Hours
    passes: frozenset[Tier]
    per_hour: int | None

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Notices":
        """Read what is stored; {} is somebody without quiet hours who is told everything."""
        return cls(
            Hours(
                ZoneInfo(document.get("timezone", "UTC")), [Quiet.of(one) for one in document.get("quiet_hours", ())]
            ),
            frozenset(Tier(tier) for tier in document.get("passes", ())),
            document.get("per_hour"),
        )

    @property
    def is_ever_quiet(self) -> bool:
        """Return whether there are times in which the person is left alone."""
        return bool(self.hours.quiet)

    def from_when(self, now: datetime, tier: Tier | None) -> datetime:
        """Return from when the person may be told something about a request of a tier; None for what is about none."""
        return now if tier in self.passes else self.hours.open_at(now)


NOTHING_SAID = Notices.of({})
"""Of whom the directory says nothing, or whom it does not know."""


def reminders(document: Mapping[str, Any], lasts: timedelta) -> Sequence[timedelta]:
    """Return how long after it was opened a request is to be remembered, as the tenant's `remind` says, {} for never.

    The pause before each is `factor` times the one before; what would come after the request's end is left out.
    """
    pause, after = timedelta(seconds=document.get("first", 0)), timedelta()
    moments = []
    for _ in range(document.get("at_most", 0)):
        after += pause
        if after >= lasts:
            break
        moments.append(after)
        pause *= document["factor"]
    return moments
