"""When an allowed effect may begin: not before a moment, between times of the week, within a time of its approval."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import isodate

from runtime.model.hours import Quiet


@dataclass(frozen=True)
class ExecuteWhen:
    """What policy says; `said` is how it is stored and put on record.

    `between` are times of the week by the clock of `zone`, both none where it may begin at any time. `lasts` counts
    from the approval or, for what needs none, from when it was proposed.
    """

    not_before: datetime | None
    between: tuple[Quiet, ...]
    zone: ZoneInfo | None
    lasts: timedelta
    said: Mapping[str, Any]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "ExecuteWhen":
        """Read what policy's contract lets through."""
        return cls(
            not_before=datetime.fromisoformat(document["not_before"]) if "not_before" in document else None,
            between=tuple(Quiet.of(window) for window in document.get("between", ())),
            zone=ZoneInfo(document["time_zone"]) if "time_zone" in document else None,
            lasts=isodate.parse_duration(document["within"]),
            said=document,
        )
