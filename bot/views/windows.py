"""When what is asked for is carried out, where policy says so: its times, and the earliest moment of all."""

from datetime import datetime

import isodate

from bot.views.blocks import Block, context, date, mrkdwn_text, utc
from bot.views.text import Shown
from runtime.model.approval import ResultCode
from runtime.services.approval_view import ApprovalView


def times(view: ApprovalView) -> str:
    """Return the times of the week, and how long after the approval; "" where it is carried out at once."""
    when = view.execute
    if when is None:
        return ""
    windows = [f"{', '.join(one['days']).title()} {one['from']} to {one['until']}" for one in when.windows]
    parts = [
        f"{'; '.join(windows)} ({when.time_zone})" if windows else "",
        f"not before {utc(when.not_before)}" if when.not_before else "",
        f"within {_long(when.within)} of the approval",
    ]
    return ", ".join(filter(None, parts))


def earliest(view: ApprovalView) -> list[Block]:
    """Return the line that says from when on it is carried out, in the reader's own time, if not at once."""
    if view.execute is None or view.execute.earliest <= view.requested_at:
        return []
    return _line(view.execute.earliest)


def carried(view: ApprovalView) -> list[Block]:
    """Return that line once it is approved and waits."""
    if view.result is None or view.result.code is not ResultCode.WINDOW:
        return []
    return _line(datetime.fromisoformat(view.result.about[0]))


def _line(moment: datetime) -> list[Block]:
    return [context(mrkdwn_text(Shown(f"*Carried out {date(moment)} at the earliest*")))]


def _long(duration: str) -> str:
    seconds = int(isodate.parse_duration(duration).total_seconds())
    size, word = next(unit for unit in _UNITS if seconds % unit[0] == 0)
    return f"{seconds // size:,} {word}{'s' if seconds > size else ''}"


_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
