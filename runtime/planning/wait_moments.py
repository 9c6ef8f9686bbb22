"""What happens to a wait before it ends, in the order of its time. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any

from runtime.definitions.model import Verb
from runtime.model.notices import reminders
from runtime.model.requirement import Requirement
from runtime.model.wait import Moment


def moments_of(verb: Verb, opened_at: datetime, remind: Mapping[str, Any]) -> list[Moment]:
    """Return what its verb wants to happen while a wait is open: escalations, and reminders as long as it may last.

    Where the verb says nothing of reminders, they come as the tenant's `remind` says, {} for never.
    """
    entries = [
        Moment(opened_at + entry.after, place, entry.to, entry.extend, entry.start)
        for place, entry in enumerate(verb.escalation)
    ]
    longest = verb.timeout + sum((entry.extend or timedelta(0) for entry in verb.escalation), timedelta(0))
    pauses = [after for after in accumulate(verb.remind) if after < longest]
    return _in_order(entries, opened_at, pauses if verb.remind else reminders(remind, longest))


def moments_of_request(requirement: Requirement, opened_at: datetime, remind: Mapping[str, Any]) -> list[Moment]:
    """Return what policy wants to happen while a request is open, and the reminders that the tenant wants."""
    entries = [Moment(opened_at + entry.waits, place, entry.to) for place, entry in enumerate(requirement.escalate_to)]
    return _in_order(entries, opened_at, reminders(remind, requirement.lasts))


def _in_order(entries: Sequence[Moment], opened_at: datetime, pauses: Sequence[timedelta]) -> list[Moment]:
    return sorted([*entries, *(Moment(opened_at + after, None) for after in pauses)], key=lambda moment: moment.at)
