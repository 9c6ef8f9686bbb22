"""What happens to a wait before it ends, in the order of its time. Pure."""

from datetime import datetime, timedelta
from itertools import accumulate

from runtime.definitions.model import Verb
from runtime.model.wait import Moment


def moments_of(verb: Verb, opened_at: datetime) -> list[Moment]:
    """Return what its verb wants to happen while a wait is open: escalations, and reminders as long as it may last."""
    entries = [
        Moment(opened_at + entry.after, place, entry.to, entry.extend, entry.start)
        for place, entry in enumerate(verb.escalation)
    ]
    longest = verb.timeout + sum((entry.extend or timedelta(0) for entry in verb.escalation), timedelta(0))
    reminders = [Moment(opened_at + after, None) for after in accumulate(verb.remind) if after < longest]
    return sorted([*entries, *reminders], key=lambda moment: moment.at)
